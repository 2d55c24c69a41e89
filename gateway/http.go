package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/otlpgw/otlpgw/converter"
)

// metricsPaths are where OTLP metrics may be posted: the specification's path
// and those of Prometheus, Mimir and VictoriaMetrics.
var metricsPaths = []string{
	"/v1/metrics",
	"/api/v1/otlp/v1/metrics",
	"/otlp/v1/metrics",
	"/opentelemetry/v1/metrics",
}

// Media types of OTLP/HTTP.
const (
	protobufType = "application/x-protobuf"
	jsonType     = "application/json"
)

// Header values that every answer shares. Nobody changes them.
var (
	protobufHeader = []string{protobufType}
	jsonHeader     = []string{jsonType}
	zeroLength     = []string{"0"}
	twoLength      = []string{"2"}
	emptyJSON      = []byte("{}")
)

// unknownLength is the first buffer of a body that does not say its length, in
// bytes.
const unknownLength = 16 << 10

// Handler returns the handler of OTLP/HTTP, for servers that are not this
// room's. [Gateway.RunHTTP] serves the same.
func (g *Gateway) Handler() http.Handler { return http.HandlerFunc(g.serveOTLP) }

func (g *Gateway) serveOTLP(w http.ResponseWriter, r *http.Request) {
	if g.draining.Load() {
		// So that the client's next request finds another server.
		w.Header().Set("Connection", "close")
	}
	rules := g.rules.Load()
	preflight := false
	if rules.cors != nil {
		if origin := r.Header.Get("Origin"); origin != "" {
			allowed := rules.cors.annotate(w.Header(), origin)
			preflight = r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
			if preflight && !allowed {
				g.refuseHTTP(w, r, noFormat, &failure{outcomeNoOrigin, fmt.Sprintf("origin %q is not in http.cors-allowed-origins", shortenTo(origin, 256))})
				return
			}
		}
	}
	path, inPath, source := rules.tenancy.cutPath(r.URL.Path)
	switch path {
	case metricsPaths[0], metricsPaths[1], metricsPaths[2], metricsPaths[3]:
	default:
		g.refuseHTTP(w, r, noFormat, &failure{outcomeNoPath, g.hintForPath(r)})
		return
	}
	if preflight {
		rules.cors.preflight(w, r)
		return
	}
	enc, c, err := negotiate(w.Header(), r)
	if err != nil {
		g.refuseHTTP(w, r, noFormat, err)
		return
	}
	owner, err := g.ownerOfHTTP(rules.tenancy, r, inPath, source)
	if err != nil {
		g.refuseHTTP(w, r, enc, err)
		return
	}
	g.exportHTTP(w, r, rules, owner, enc, c)
}

// negotiate says how the body of r is written, or why it cannot be one.
func negotiate(answer http.Header, r *http.Request) (format, compression, error) {
	if r.Method != http.MethodPost {
		answer.Set("Allow", http.MethodPost)
		return noFormat, identity, &failure{outcomeNoMethod, fmt.Sprintf("method is %q, want POST", shortenTo(r.Method, 32))}
	}
	var contentType string
	if v := r.Header["Content-Type"]; len(v) > 0 {
		contentType = v[0]
	}
	coding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	if isRemoteWrite(r.Header, contentType, coding) {
		return noFormat, identity, &failure{outcomeNoEncoding, remoteWriteHint}
	}
	enc := mediaType(contentType)
	if enc == noFormat {
		return noFormat, identity, &failure{outcomeNoEncoding, fmt.Sprintf("content-type is %q, want %s or %s", shortenTo(contentType, 256), protobufType, jsonType)}
	}
	c, ok := compressionOf(coding)
	if !ok || len(r.Header["Content-Encoding"]) > 1 {
		return noFormat, identity, &failure{outcomeNoEncoding, fmt.Sprintf("content-encoding is %q, want one of %s", shortenTo(strings.Join(r.Header["Content-Encoding"], ", "), 256), acceptedCompressions)}
	}
	return enc, c, nil
}

// mediaType returns the encoding that a Content-Type names. Parameters such as
// charset do not matter.
func mediaType(contentType string) format {
	switch contentType {
	case protobufType:
		return protobufFormat
	case jsonType:
		return jsonFormat
	}
	mt, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return noFormat
	}
	switch mt {
	case protobufType:
		return protobufFormat
	case jsonType:
		return jsonFormat
	}
	return noFormat
}

// exportHTTP serves one export request whose encoding is known.
func (g *Gateway) exportHTTP(w http.ResponseWriter, r *http.Request, rules *rules, owner owner, enc format, c compression) {
	start := time.Now()
	if err := g.enter(); err != nil {
		w.Header().Set("Connection", "close")
		g.refuseHTTP(w, r, enc, err)
		return
	}
	defer g.leave()
	m := &g.metrics.overHTTP
	m.inFlight.Inc()
	defer m.inFlight.Dec()

	x := g.exchanges.Get()
	x.owner = owner
	if rules.PassPeer {
		x.peer = r.RemoteAddr
	}
	settled := false
	defer func() {
		if v := recover(); v != nil {
			if settled {
				// While answering: net/http ends the connection and logs.
				panic(v)
			}
			x.abandon()
			g.refuseHTTP(w, r, enc, g.caught("http", v))
		}
	}()
	report, err := x.exportBody(w, r, rules, enc, c)
	size := x.size
	settled = true
	if err != nil {
		x.done()
		g.refuseHTTP(w, r, enc, err)
		return
	}
	m.finished(start, size)
	g.metrics.answeredHTTP(enc, http.StatusOK)
	x.acceptHTTP(w, enc, &report)
	x.done()
}

// exportBody receives the body of r and pushes it.
func (x *exchange) exportBody(w http.ResponseWriter, r *http.Request, rules *rules, enc format, c compression) (report converter.Report, err error) {
	wire := limit{rules.HTTPMaxRequestSize, "http.max-request-size"}
	inflated := wire
	if enc == jsonFormat {
		inflated = limit{rules.MaxJSONSize, "http.max-json-size"}
		if c == identity {
			wire = inflated
		}
	}
	if r.ContentLength > wire.bytes {
		return report, wire.exceeded(r.ContentLength, "")
	}
	if r.ContentLength != 0 {
		first := int64(unknownLength)
		if r.ContentLength > 0 {
			first = r.ContentLength + 1
		}
		x.from.arrive(x.g, w, r)
		end := x.from.end
		tooLong, err := x.fill(&x.wire, &x.from, min(first, firstBuffer, wire.bytes+1), first, wire.bytes)
		x.from.done(err == nil)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				// Waited for long enough; discard must not begin again.
				r.Body = http.NoBody
			}
			return report, bodyError(err, &x.g.o, end)
		}
		if tooLong {
			return report, wire.exceeded(0, "")
		}
	}
	return x.push(r.Context(), c, enc == jsonFormat, inflated)
}

// bodyError turns what reading a body returns into an answer.
func bodyError(err error, o *Options, end time.Time) error {
	var own *failure
	switch {
	case errors.As(err, &own), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		if time.Now().Before(end) {
			return &failure{outcomeBusy, "the body stopped arriving"}
		}
		return &failure{outcomeBusy, fmt.Sprintf("the body did not arrive within %s", o.RequestTimeout)}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &failure{outcomeBadData, "body is shorter than announced"}
	}
	return &failure{outcomeBadData, "reading the body: " + err.Error()}
}

// acceptHTTP answers 200 with r.
func (x *exchange) acceptHTTP(w http.ResponseWriter, enc format, r *converter.Report) {
	h := w.Header()
	plain := full(r)
	switch {
	case enc == jsonFormat && plain:
		h["Content-Type"], h["Content-Length"] = jsonHeader, twoLength
		_, _ = w.Write(emptyJSON) // The client went away, and nobody is left to tell.
	case enc == jsonFormat:
		h["Content-Type"] = jsonHeader
		x.out = appendResponseJSON(x.out[:0], r)
		_, _ = w.Write(x.out)
	case plain:
		h["Content-Type"], h["Content-Length"] = protobufHeader, zeroLength
		w.WriteHeader(http.StatusOK)
	default:
		h["Content-Type"] = protobufHeader
		x.out = appendResponse(x.out[:0], r)
		_, _ = w.Write(x.out)
	}
}

// refuseHTTP answers with err's row of the status table, in the request's
// encoding or, when that is not known, in JSON.
func (g *Gateway) refuseHTTP(w http.ResponseWriter, r *http.Request, enc format, err error) {
	a := g.answerTo("http", err)
	g.metrics.answeredHTTP(enc, a.http)
	h := w.Header()
	asJSON := enc != protobufFormat
	if asJSON {
		h["Content-Type"] = jsonHeader
	} else {
		h["Content-Type"] = protobufHeader
	}
	if a.retry {
		h.Set("Retry-After", strconv.FormatInt(retrySeconds(a.retryAfter), 10))
	}
	body := statusBody(a.status(converter.MaxMessage), asJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	discard(w, r)
	w.WriteHeader(a.http)
	_, _ = w.Write(body) // The client went away, and nobody is left to tell.
}

// What is read of a body that nobody wants, so that its sender comes to read
// the answer: many clients send everything before they look, and a connection
// closed under them is a reset and no answer.
const (
	maxDiscard  = 8 << 20 // bytes
	discardTime = time.Second
)

func discard(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.Header.Get("Expect") != "" {
		return
	}
	// Fails for writers without deadlines; the bytes are bounded anyway.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(discardTime))
	// However it ends, the answer is next.
	_, _ = io.CopyN(io.Discard, r.Body, maxDiscard)
}
