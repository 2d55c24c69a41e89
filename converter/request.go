package converter

import "fmt"

// Request is one OTLP ExportMetricsServiceRequest.
type Request struct {
	// Tenant is whom the series belong to; empty without tenancy.
	Tenant string
	// ResourceTenants, if not nil, says whom the series of each resource belong
	// to. Tenant is not looked at then.
	ResourceTenants *ResourceTenants
	// Body holds the message. It belongs to the caller and must not change
	// until Push returns; nothing points into it afterwards.
	Body []byte
	// Peer is the sender's network address as host:port or host, for
	// Options.InstanceFrom; it may be empty.
	Peer string
	// JSON says that Body is OTLP/JSON and not protobuf.
	JSON bool
	// Converted, if not nil, is called once, when conversion is over and
	// before Commit, so that waiting for a far end holds no conversion slot.
	// It is called on every path, errors and panics included.
	Converted func()
}

// Report counts the data points of one request. A histogram point is one point,
// however many series it becomes.
type Report struct {
	// Points is how many data points the request held.
	Points int
	// Rejected is how many of them were refused for good.
	Rejected int
	// Message says why, in at most MaxMessage bytes of English; empty when all
	// is well. With Rejected 0 it is a warning.
	Message string
}

// MaxMessage bounds Report.Message in bytes: what a log line can hold, and far
// below the 4 MiB that OTLP allows a response.
const MaxMessage = 4 << 10

// DecodeError says that a body is no OTLP request. Nothing of it was stored.
// The client must not retry (400, INVALID_ARGUMENT).
type DecodeError struct {
	// Offset is where in the (inflated) body reading failed, in bytes.
	Offset int
	// Path says what was being read: the protobuf message ("NumberDataPoint"),
	// or the way through a JSON document
	// ("resourceMetrics[0].scopeMetrics[2].metrics[0].name").
	Path string
	// Msg says what is wrong.
	Msg string
}

// Error returns what is wrong and where.
func (e *DecodeError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s at byte %d", e.Msg, e.Offset)
	}
	return fmt.Sprintf("%s at byte %d in %s", e.Msg, e.Offset, e.Path)
}
