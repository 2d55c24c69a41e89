package remotewrite

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"
)

// The headers that make a message what it is, byte for byte: there are
// receivers that compare strings.
const (
	contentTypeV1 = "application/x-protobuf"
	contentTypeV2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
	versionV1     = "0.1.0"
	versionV2     = "2.0.0"

	retryAttemptHeader = "Retry-Attempt"
)

// maxDrain is how much of an answer is read so that its connection can be used
// again; beyond it a new connection is cheaper.
const maxDrain = 256 << 10

// post sends one message once.
func (d *Destination) post(ctx context.Context, timeout time.Duration, body *payload, v2 bool, attempt int, tenant string) *answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url.String(), body.reader())
	if err != nil {
		return &answer{err: err}
	}
	req.ContentLength = int64(len(body.bytes))
	req.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
	for name, v := range d.o.Headers {
		req.Header.Set(name, v)
	}
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("User-Agent", d.agent)
	if v2 {
		req.Header.Set("Content-Type", contentTypeV2)
		req.Header.Set(headerPrefix+"Version", versionV2)
	} else {
		req.Header.Set("Content-Type", contentTypeV1)
		req.Header.Set(headerPrefix+"Version", versionV1)
	}
	if tenant != "" {
		req.Header.Set(d.o.TenantHeader, tenant)
	}
	if attempt > 0 {
		req.Header.Set(retryAttemptHeader, strconv.Itoa(attempt))
	}

	d.metrics.requests.Inc()
	d.metrics.bytes.Add(float64(len(body.bytes)))
	start := d.clock.Now()
	resp, err := d.client.Do(req)
	d.metrics.duration.Observe(d.clock.Now().Sub(start).Seconds())
	if err != nil {
		// The outer error repeats the URL, query and all.
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
		return &answer{err: err}
	}
	defer resp.Body.Close()

	a := &answer{status: resp.StatusCode, written: parseWritten(resp.Header)}
	if v := resp.Header.Get("Retry-After"); v != "" {
		a.retryAfter = parseRetryAfter(v, d.clock.Now())
	}
	// The status stands whatever becomes of the body.
	if a.status < 200 || a.status >= 300 {
		start, _ := io.ReadAll(io.LimitReader(resp.Body, maxExcerpt))
		a.body = excerpt(start)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
	return a
}

// payload is the bytes of a message while readers of them may be about:
// net/http may go on reading a body after the answer is there.
type payload struct {
	bytes []byte
	open  atomic.Int32
}

func (p *payload) reader() io.ReadCloser {
	p.open.Add(1)
	return &payloadReader{Reader: bytes.NewReader(p.bytes), of: p}
}

// idle reports whether the bytes may be overwritten.
func (p *payload) idle() bool { return p.open.Load() == 0 }

type payloadReader struct {
	*bytes.Reader
	of     *payload
	closed atomic.Bool
}

// Close ends the reading; it may be called more than once.
func (r *payloadReader) Close() error {
	if !r.closed.Swap(true) {
		r.of.open.Add(-1)
	}
	return nil
}
