package converter

// Verdict is what happened to something in a request, for tools that explain.
// Its strings may be views into the request: they are valid until
// Options.OnVerdict returns.
type Verdict struct {
	// Rejected says that a data point was rejected; otherwise it is a warning.
	Rejected bool
	// Reason is a value of the reason or kind label of the room's metrics.
	Reason string
	// Metric is the OTLP name of the metric, if one is concerned; for what a
	// backend refused it is the Prometheus name of the family.
	Metric string
	// Detail says more, in English.
	Detail string
}
