package converter

// Reason is why a data point was rejected. The set is closed: each is a value
// of the label of otlpgw_converter_rejected_points_total.
type Reason uint8

// The reasons, in the order in which a report lists them.
const (
	accepted Reason = iota
	ReasonNoValue
	ReasonNoTime
	ReasonTemporality
	ReasonBuckets
	ReasonScale
	ReasonNoSum
	ReasonName
	ReasonLabel
	ReasonConflict
	ReasonOutOfOrder
	ReasonTooOld
	ReasonTooNew
	ReasonLimit
	ReasonFarEnd
	ReasonTenant
	reasons
)

// reasonText is the label value and what a client is told.
var reasonText = [reasons]struct{ label, text string }{
	ReasonNoValue:     {"no_value", "the point has no value"},
	ReasonNoTime:      {"no_time", "time_unix_nano is 0"},
	ReasonTemporality: {"temporality", "the aggregation temporality is not cumulative; SDKs choose it by OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"},
	ReasonBuckets:     {"buckets", "count, buckets and bounds contradict each other"},
	ReasonScale:       {"scale", "the scale or offset is beyond what native histograms can hold"},
	ReasonNoSum:       {"no_sum", "the histogram has no sum"},
	ReasonName:        {"name", "the metric's name is not valid, or nothing of it is left after translation"},
	ReasonLabel:       {"label", "an attribute is no valid label"},
	ReasonConflict:    {"conflict", "the series has another value at that time"},
	ReasonOutOfOrder:  {"out_of_order", "older than what is stored"},
	ReasonTooOld:      {"too_old", "older than the storage accepts"},
	ReasonTooNew:      {"too_new", "further in the future than limits.max_future"},
	ReasonLimit:       {"limit", "over a limit"},
	ReasonFarEnd:      {"far_end", "refused by the remote end"},
	ReasonTenant:      {"tenant", "the tenant that the resource belongs to is not served"},
}

// String returns the label value.
func (r Reason) String() string { return reasonText[r].label }

// storeReason maps what [storage.RefusalReason] says to a Reason.
func storeReason(label string) Reason {
	for r := range reasonText {
		if reasonText[r].label == label {
			return Reason(r)
		}
	}
	return ReasonFarEnd
}
