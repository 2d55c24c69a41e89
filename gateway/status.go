package gateway

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/storage"
)

// outcome is one row of the status table: what a failure is called on each
// transport, and whether the client is told to come back.
type outcome struct {
	http int
	grpc codes.Code
	// retry adds Retry-After and RetryInfo. OTLP clients retry 429, 502, 503 and
	// 504, and UNAVAILABLE; they retry RESOURCE_EXHAUSTED only with RetryInfo.
	retry bool
}

// The status table. OTLP specification, "OTLP/gRPC Response", "OTLP/HTTP
// Response" and "Request Body Size Limits": bad data must not be retried,
// temporary trouble must be one of the retryable codes, and 500 and INTERNAL
// are for our own bugs alone.
var (
	outcomeBadData       = outcome{http.StatusBadRequest, codes.InvalidArgument, false}
	outcomeTooLarge      = outcome{http.StatusRequestEntityTooLarge, codes.ResourceExhausted, false}
	outcomeBusy          = outcome{http.StatusServiceUnavailable, codes.Unavailable, true}
	outcomeThrottled     = outcome{http.StatusTooManyRequests, codes.ResourceExhausted, true}
	outcomeNoPath        = outcome{http.StatusNotFound, codes.Unimplemented, false}
	outcomeNoMethod      = outcome{http.StatusMethodNotAllowed, codes.Unimplemented, false}
	outcomeNoEncoding    = outcome{http.StatusUnsupportedMediaType, codes.Unimplemented, false}
	outcomeNoOrigin      = outcome{http.StatusForbidden, codes.PermissionDenied, false}
	outcomeForbidden     = outcome{http.StatusForbidden, codes.PermissionDenied, false}
	outcomeNoCredentials = outcome{http.StatusUnauthorized, codes.Unauthenticated, false}
	outcomeBug           = outcome{http.StatusInternalServerError, codes.Internal, false}
)

// failure is an error of this room: the row it belongs to and the sentence for
// the client.
type failure struct {
	outcome outcome
	msg     string
}

// Error returns the sentence for the client.
func (f *failure) Error() string { return f.msg }

// answer is an outcome with everything that the reply carries.
type answer struct {
	outcome
	msg        string
	retryAfter time.Duration
	// field and why are the BadRequest detail, for bad data only.
	field, why string
}

// answerTo puts err into the status table, and logs what is our bug.
func (g *Gateway) answerTo(transport string, err error) answer {
	a := answerFor(err)
	var caught *panicError
	if a.http == http.StatusInternalServerError && !errors.As(err, &caught) {
		g.logger.Error("a request was answered as an internal error", "transport", transport, "err", err)
	}
	return a
}

func answerFor(err error) answer {
	var (
		own    *failure
		decode *converter.DecodeError
		stored *storage.Error
		caught *panicError
	)
	switch {
	case errors.As(err, &caught):
		return answer{outcome: outcomeBug, msg: "internal error; the data was not stored and the log of the gateway has more"}
	case errors.As(err, &own):
		a := answer{outcome: own.outcome, msg: own.msg}
		if own.outcome == outcomeBadData {
			a.field, a.why = "body", own.msg
		}
		if own.outcome.retry {
			a.retryAfter = jitter()
		}
		return a
	case errors.As(err, &decode):
		return answer{outcome: outcomeBadData, msg: decode.Error(), field: decode.Path, why: decode.Error()}
	case errors.As(err, &stored) && stored.Kind == storage.KindUnavailable:
		return answer{outcome: outcomeBusy, msg: stored.Error(), retryAfter: orJitter(stored.RetryAfter)}
	case errors.As(err, &stored) && stored.Kind == storage.KindThrottled:
		return answer{outcome: outcomeThrottled, msg: stored.Error(), retryAfter: orJitter(stored.RetryAfter)}
	case errors.Is(err, context.DeadlineExceeded):
		return answer{outcome: outcomeBusy, msg: "the request was not answered in time", retryAfter: jitter()}
	case errors.Is(err, context.Canceled):
		return answer{outcome: outcomeBusy, msg: "the request was cancelled", retryAfter: jitter()}
	}
	return answer{outcome: outcomeBug, msg: "internal error: " + err.Error()}
}

// status returns the google.rpc.Status of the answer. Over HTTP the codes are
// the ones of gRPC, too, except that a wrong path is NOT_FOUND there.
// Each text has at most that many bytes.
func (a *answer) status(most int) *statuspb.Status {
	st := &statuspb.Status{Code: int32(a.grpc), Message: shortenTo(a.msg, most)}
	if a.field != "" || a.why != "" {
		st.Details = appendDetail(st.Details, &errdetails.BadRequest{
			FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: shortenTo(a.field, most), Description: shortenTo(a.why, most)}},
		})
	}
	if a.retry {
		st.Details = appendDetail(st.Details, &errdetails.RetryInfo{RetryDelay: durationpb.New(a.retryAfter)})
	}
	return st
}

func appendDetail(details []*anypb.Any, m proto.Message) []*anypb.Any {
	d, err := anypb.New(m)
	if err != nil {
		// Only for a message with invalid UTF-8, and shorten has seen to that.
		return details
	}
	return append(details, d)
}

// retryMin and retryMax are between which a client that is told to come back
// does so, when nothing better is known. The spread keeps a fleet of exporters
// from coming back at once; the end is well below their minute of patience.
const (
	retryMin = time.Second
	retryMax = 5 * time.Second
)

func jitter() time.Duration { return retryMin + rand.N(retryMax-retryMin) }

func orJitter(d time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return jitter()
}

// retrySeconds returns d in the whole seconds that Retry-After knows, rounded
// up, at least 1.
func retrySeconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}

// shorten cuts s to what a log line holds: a response must stay far below
// 4 MiB, and protobuf strings are UTF-8.
func shorten(s string) string { return shortenTo(s, converter.MaxMessage) }

// shortenTo cuts s to most bytes of valid UTF-8.
func shortenTo(s string, most int) string {
	if len(s) > most {
		const dots = "..."
		n := most - len(dots)
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + dots
	}
	return strings.ToValidUTF8(s, "?")
}
