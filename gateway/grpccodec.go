package gateway

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/otlpgw/otlpgw/converter"
)

// rawReply is an ExportMetricsServiceResponse in protobuf.
type rawReply struct{ b mem.BufferSlice }

// fullReply says that all is well: the empty message.
var fullReply = &rawReply{}

func newRawReply(r *converter.Report) *rawReply {
	if full(r) {
		return fullReply
	}
	// Not pooled: gRPC writes it after the handler has returned.
	return &rawReply{mem.BufferSlice{mem.SliceBuffer(appendResponse(nil, r))}}
}

// rawCodec writes replies of MetricsService/Export as the bytes they are and
// leaves every other message of the server to the protobuf codec. Requests of
// Export never come here, see receiveGRPC.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

var protoCodec = encoding.GetCodecV2(proto.Name)

// Name returns "proto": that is what both kinds are on the wire.
func (rawCodec) Name() string { return proto.Name }

// Marshal returns the bytes of v.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if r, ok := v.(*rawReply); ok {
		return r.b, nil
	}
	return protoCodec.Marshal(v)
}

// Unmarshal reads data into v, a protobuf message.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error { return protoCodec.Unmarshal(data, v) }
