package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	colpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/storage"
)

// TestAnswers goes through the table of answers on both transports and in both
// encodings.
func TestAnswers(t *testing.T) {
	long := strings.Repeat("ä", converter.MaxMessage)
	tests := map[string]struct {
		report converter.Report
		err    error
		panics any

		http  int
		grpc  codes.Code
		retry time.Duration // exact; -1 for any; 0 for none
		says  string
		field string
	}{
		"full success":    {report: converter.Report{Points: 5}, http: 200, grpc: codes.OK},
		"partial success": {report: converter.Report{Points: 5, Rejected: 3, Message: `too "old"`}, http: 200, grpc: codes.OK, says: `too "old"`},
		"nothing stored":  {report: converter.Report{Points: 5, Rejected: 5, Message: "no value"}, http: 200, grpc: codes.OK, says: "no value"},
		"warning":         {report: converter.Report{Points: 5, Message: "lossy"}, http: 200, grpc: codes.OK, says: "lossy"},
		"rejected without words": {
			report: converter.Report{Points: 5, Rejected: 1}, http: 200, grpc: codes.OK},
		"long message": {report: converter.Report{Points: 5, Rejected: 1, Message: long}, http: 200, grpc: codes.OK, says: long[:1000]},
		"message that is no UTF-8": {
			report: converter.Report{Points: 5, Rejected: 1, Message: "name \xff\xfe"}, http: 200, grpc: codes.OK, says: "name ?"},

		"undecodable": {
			err:  &converter.DecodeError{Offset: 7, Path: "resource_metrics.scope_metrics", Msg: "torn"},
			http: 400, grpc: codes.InvalidArgument, says: "torn at byte 7", field: "resource_metrics.scope_metrics"},
		"undecodable, wrapped": {
			err:  fmt.Errorf("reading: %w", &converter.DecodeError{Msg: "torn", Path: "x"}),
			http: 400, grpc: codes.InvalidArgument, says: "torn", field: "x"},
		"undecodable, no UTF-8": {
			err:  &converter.DecodeError{Msg: "bad name \xff", Path: "a\xff"},
			http: 400, grpc: codes.InvalidArgument, says: "bad name ?", field: "a?"},
		"unavailable": {
			err:  storage.Unavailable(errors.New("disk is full"), 0),
			http: 503, grpc: codes.Unavailable, retry: -1, says: "disk is full"},
		"unavailable for a time": {
			err:  fmt.Errorf("commit: %w", storage.Unavailable(errors.New("far end is away"), 2500*time.Millisecond)),
			http: 503, grpc: codes.Unavailable, retry: 2500 * time.Millisecond, says: "far end is away"},
		"throttled": {
			err:  &storage.Error{Kind: storage.KindThrottled, RetryAfter: 7 * time.Second, Err: errors.New("429")},
			http: 429, grpc: codes.ResourceExhausted, retry: 7 * time.Second, says: "429"},
		"throttled, no time given": {
			err:  &storage.Error{Kind: storage.KindThrottled},
			http: 429, grpc: codes.ResourceExhausted, retry: -1, says: "throttled"},
		"deadline": {err: fmt.Errorf("commit: %w", context.DeadlineExceeded), http: 503, grpc: codes.Unavailable, retry: -1, says: "in time"},
		"canceled": {err: context.Canceled, http: 503, grpc: codes.Unavailable, retry: -1, says: "cancelled"},
		"bug":      {err: errors.New("index out of range"), http: 500, grpc: codes.Internal, says: "index out of range"},
		"refused is for the pipeline": {
			err: &storage.Error{Kind: storage.KindRefused}, http: 500, grpc: codes.Internal, says: "internal"},
		"panic":      {panics: "boom", http: 500, grpc: codes.Internal, says: "internal"},
		"long error": {err: storage.Unavailable(errors.New(long), 0), http: 503, grpc: codes.Unavailable, retry: -1, says: "ääää"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := start(t, Options{ConversionSlots: 1, Pusher: &recorder{answer: func(_ context.Context, r converter.Request) (converter.Report, error) {
				if tt.panics != nil {
					// With the slot: it has to come back all the same.
					panic(tt.panics)
				}
				r.Converted()
				return tt.report, tt.err
			}}})
			partial := func(r *colpb.ExportMetricsServiceResponse) {
				if tt.report.Rejected == 0 && tt.report.Message == "" {
					require.Nil(t, r.PartialSuccess)
					return
				}
				require.EqualValues(t, tt.report.Rejected, r.PartialSuccess.RejectedDataPoints)
				require.Contains(t, r.PartialSuccess.ErrorMessage, tt.says)
				require.LessOrEqual(t, len(r.PartialSuccess.ErrorMessage), converter.MaxMessage)
				require.True(t, utf8.ValidString(r.PartialSuccess.ErrorMessage))
			}
			for _, contentType := range []string{protobufType, jsonType} {
				a := g.post("/v1/metrics", []byte("otlp"), "Content-Type", contentType)
				require.Equal(t, tt.http, a.code, "%s", a.body)
				require.Equal(t, contentType, a.header.Get("Content-Type"))
				after := a.header.Get("Retry-After")
				if tt.http == 200 {
					partial(a.response(t))
					require.Empty(t, after)
					continue
				}
				st := status.FromProto(a.status(t))
				require.Equal(t, tt.grpc, st.Code())
				require.Contains(t, st.Message(), tt.says)
				require.LessOrEqual(t, len(st.Message()), converter.MaxMessage)
				wantDetails(t, st, tt.field, tt.retry)
				switch {
				case tt.retry == 0:
					require.Empty(t, after)
				case tt.retry < 0:
					n, err := strconv.Atoi(after)
					require.NoError(t, err)
					require.True(t, n >= 1 && n <= 5, after)
				default:
					require.Equal(t, strconv.Itoa(int((tt.retry+time.Second-1)/time.Second)), after)
				}
			}

			r := &colpb.ExportMetricsServiceResponse{}
			err := g.conn.Invoke(context.Background(), exportFullName, &colpb.ExportMetricsServiceRequest{}, r)
			require.Equal(t, tt.grpc, status.Code(err), "%v", err)
			if tt.grpc == codes.OK {
				partial(r)
			} else {
				st := status.Convert(err)
				require.Contains(t, st.Message(), tt.says)
				require.LessOrEqual(t, len(st.Message()), maxGRPCMessage)
				wantDetails(t, st, tt.field, tt.retry)
			}

			require.Zero(t, g.gate.used.Load())
			require.Zero(t, g.value("otlpgw_gateway_in_flight_requests"))
			if tt.panics != nil {
				require.Equal(t, 3.0, g.value("otlpgw_gateway_panics_total"))
				require.Equal(t, 3, strings.Count(g.log.String(), "boom"))
				require.Contains(t, g.log.String(), "status_test.go", "the stack")
			}
			if tt.http == 500 {
				require.Equal(t, 3, strings.Count(g.log.String(), "level=ERROR"))
			} else {
				require.NotContains(t, g.log.String(), "level=ERROR")
			}
		})
	}
}

// wantDetails checks the details of a status: BadRequest with the field, or
// RetryInfo, or none.
func wantDetails(t *testing.T, st *status.Status, field string, retry time.Duration) {
	t.Helper()
	var gotField string
	var gotRetry time.Duration
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.BadRequest:
			gotField = d.FieldViolations[0].Field
			require.NotEmpty(t, d.FieldViolations[0].Description)
		case *errdetails.RetryInfo:
			gotRetry = d.RetryDelay.AsDuration()
		default:
			t.Errorf("unexpected detail %T", d)
		}
	}
	require.Equal(t, field, gotField)
	if retry < 0 {
		require.True(t, gotRetry >= retryMin && gotRetry <= retryMax, gotRetry)
		return
	}
	require.Equal(t, retry, gotRetry)
}

// TestReplyIsCompressedAsTheRequest sees to the compressors of the replies.
func TestReplyIsCompressedAsTheRequest(t *testing.T) {
	g := start(t, Options{Pusher: answering(converter.Report{Points: 2, Rejected: 1, Message: "late"}, nil)})
	for _, name := range []string{"gzip", "zstd"} {
		for range 2 { // The second time with what the first gave back.
			r, err := colpb.NewMetricsServiceClient(g.conn).Export(context.Background(), &colpb.ExportMetricsServiceRequest{}, grpc.UseCompressor(name))
			require.NoError(t, err)
			require.EqualValues(t, 1, r.PartialSuccess.RejectedDataPoints)
			require.Equal(t, "late", r.PartialSuccess.ErrorMessage)
		}
	}
}
