package config

// later names the keys that the documentation pins for versions to come. They
// are told apart from misspelt keys, since the remedy differs: wait, or read
// again. A path stands for everything below it; list indices are left out.
var later = map[string]bool{
	"staleness": true,
	"delta":     true,

	"limits.max_delta_streams": true,

	// Without them the far end would refuse what is sent.
	"remote_write.azuread":    true,
	"remote_write.google_iam": true,
}

const notYet = "not supported in this version"

// ignored names Prometheus's keys that load so that a pasted block does, and
// that nothing here honours. They end up in one warning at start.
var ignored = map[string]bool{
	"remote_write.round_robin_dns":                  true,
	"remote_write.failed_request_logging":           true,
	"remote_write.metadata_config":                  true,
	"remote_write.queue_config.capacity":            true,
	"remote_write.queue_config.max_shards":          true,
	"remote_write.queue_config.min_shards":          true,
	"remote_write.queue_config.batch_send_deadline": true,
	"remote_write.queue_config.retry_on_http_429":   true,
	"remote_write.queue_config.sample_age_limit":    true,

	"storage.tsdb.stale_series_compaction_threshold": true,
	"storage.tsdb.chunk_encoding":                    true,
	"storage.tsdb.retention.percentage":              true,
}

// foreign names the other blocks of a Prometheus file, whose work nobody would
// do if they were passed over.
var foreign = map[string]bool{
	"runtime": true, "alerting": true, "rule_files": true,
	"scrape_config_files": true, "scrape_configs": true,
	"tracing": true, "remote_read": true,
}
