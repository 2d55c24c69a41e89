package gateway

import (
	"encoding/json"
	"strconv"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter"
)

// Field numbers of opentelemetry/proto/collector/metrics/v1/metrics_service.proto:
//
//	message ExportMetricsServiceResponse { ExportMetricsPartialSuccess partial_success = 1; }
//	message ExportMetricsPartialSuccess  { int64 rejected_data_points = 1; string error_message = 2; }
const (
	fieldPartialSuccess = 1
	fieldRejected       = 1
	fieldMessage        = 2
)

// full reports whether the answer to r is plain success, for which
// partial_success must be unset.
func full(r *converter.Report) bool { return r.Rejected == 0 && r.Message == "" }

// appendResponse appends r as an ExportMetricsServiceResponse in protobuf,
// which is nothing at all on full success.
func appendResponse(dst []byte, r *converter.Report) []byte {
	if full(r) {
		return dst
	}
	msg := shorten(r.Message)
	size := 0
	if r.Rejected != 0 {
		size += protowire.SizeTag(fieldRejected) + protowire.SizeVarint(uint64(r.Rejected))
	}
	if msg != "" {
		size += protowire.SizeTag(fieldMessage) + protowire.SizeBytes(len(msg))
	}
	dst = protowire.AppendTag(dst, fieldPartialSuccess, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(size))
	if r.Rejected != 0 {
		dst = protowire.AppendTag(dst, fieldRejected, protowire.VarintType)
		dst = protowire.AppendVarint(dst, uint64(r.Rejected))
	}
	if msg != "" {
		dst = protowire.AppendTag(dst, fieldMessage, protowire.BytesType)
		dst = protowire.AppendString(dst, msg)
	}
	return dst
}

// appendResponseJSON is appendResponse in OTLP/JSON, which is {} on full
// success. 64-bit integers are strings there.
func appendResponseJSON(dst []byte, r *converter.Report) []byte {
	if full(r) {
		return append(dst, "{}"...)
	}
	dst = append(dst, `{"partialSuccess":{`...)
	if r.Rejected != 0 {
		dst = append(dst, `"rejectedDataPoints":"`...)
		dst = strconv.AppendInt(dst, int64(r.Rejected), 10)
		dst = append(dst, '"')
	}
	if r.Message != "" {
		if r.Rejected != 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `"errorMessage":`...)
		// A string always has a JSON form.
		quoted, _ := json.Marshal(shorten(r.Message))
		dst = append(dst, quoted...)
	}
	return append(dst, "}}"...)
}

// statusBody returns st in the encoding of the request.
func statusBody(st *statuspb.Status, asJSON bool) []byte {
	var body []byte
	var err error
	if asJSON {
		body, err = protojson.Marshal(st)
	} else {
		body, err = proto.Marshal(st)
	}
	if err != nil {
		// Only for invalid UTF-8, and shorten has seen to that. The code in the
		// header speaks for itself.
		return nil
	}
	return body
}
