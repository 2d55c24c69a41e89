package storagetest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// FarEnd is a remote-write receiver, 1.0 and 2.0, that answers as a test tells
// it and keeps what it accepted. It reads every message to the letter of the
// specification and fails the test, when that ends, for each rule that a sender
// broke; among them that no two requests carry one series at the same time.
//
// It is safe for concurrent use.
type FarEnd struct {
	// Arrived delivers every request when it has been read and before it is
	// answered. Tests may leave it alone.
	Arrived <-chan *FarEndRequest

	server  *httptest.Server
	arrived chan *FarEndRequest

	mu         sync.Mutex
	next       []Answer
	v2, always *Answer
	script     func(*FarEndRequest) Answer
	requests   []*FarEndRequest
	stored     []Sample
	inFlight   map[string]*FarEndRequest // by series
	violations []string
}

// Answer is what a [FarEnd] says to one request. The zero value accepts.
type Answer struct {
	// Status is 204 if zero. Only 2xx stores, unless Refuse is set.
	Status int
	Header map[string]string
	Body   string
	// Refuse picks the samples that are not stored; the others are, whatever
	// the status, and the Written headers say how many.
	Refuse func(Sample) bool
	// Whole stores nothing of a request that has a sample that Refuse picks.
	Whole bool
	// NoWritten leaves the Written headers out of the answer to a 2.0 message.
	// If the status is 2xx then nothing is stored: such a receiver has read the
	// message as an empty one of 1.0.
	NoWritten bool
	// HangUp closes the connection instead of an answer.
	HangUp bool
	// Lose stores what is accepted, and closes the connection instead of an
	// answer.
	Lose bool
	// Raw is sent instead of an answer, which is then cut off. It stores what
	// Status says.
	Raw string
	// Hold, if not nil, delays the answer until it is closed or the sender goes.
	Hold <-chan struct{}
}

// FarEndRequest is one request as a [FarEnd] saw it.
type FarEndRequest struct {
	Method, Path string
	Header       http.Header
	// V2 says which message it is.
	V2 bool
	// Body is what came, compressed.
	Body []byte
	// Samples is what it carries; Metadata of a 1.0 message is by family.
	Samples  []Sample
	Metadata map[string]metadata.Metadata

	// Left says that the sender had gone before it was answered. It may be read
	// once the far end has no more requests to answer.
	Left bool

	overlap string // a series that came again before this was answered
}

// NewFarEnd starts a far end that accepts everything until told otherwise. It
// ends with the test.
func NewFarEnd(t testing.TB) *FarEnd {
	// More than a test sends; what nobody takes is dropped.
	arrived := make(chan *FarEndRequest, 4096)
	f := &FarEnd{Arrived: arrived, arrived: arrived, inFlight: map[string]*FarEndRequest{}}
	f.server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(func() {
		f.server.Close()
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, v := range f.violations {
			t.Errorf("remote write: %s", v)
		}
	})
	return f
}

// URL returns where to send to.
func (f *FarEnd) URL() string { return f.server.URL + "/api/v1/write" }

// Next queues answers for the next requests, one each.
func (f *FarEnd) Next(answers ...Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, answers...)
}

// Always sets the answer to requests that no queued one is for.
func (f *FarEnd) Always(a Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.always = &a
}

// ToV2 sets the answer to messages of 2.0 that no queued one is for; nil goes
// back to that of Always. It makes the far end a receiver of 1.0.
func (f *FarEnd) ToV2(a *Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.v2 = a
}

// Script sets what chooses the answer to requests that no queued one is for,
// before those of ToV2 and Always. It runs for several requests at a time.
func (f *FarEnd) Script(choose func(*FarEndRequest) Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = choose
}

// Requests returns what came in, in the order of arrival.
func (f *FarEnd) Requests() []*FarEndRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// Stored returns the accepted samples in the order of their acceptance.
func (f *FarEnd) Stored() []Sample {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.stored)
}

// Read returns the accepted samples of one series, ascending by time.
func (f *FarEnd) Read(ls labels.Labels) []Sample {
	var out []Sample
	for _, s := range f.Stored() {
		if labels.Equal(s.Labels, ls) {
			out = append(out, s)
		}
	}
	Sort(out)
	return out
}

func (f *FarEnd) serve(w http.ResponseWriter, r *http.Request) {
	req, faults := readFarEndRequest(r)
	series := map[string]bool{}
	for _, s := range req.Samples {
		series[s.Labels.String()] = true
	}
	a, script := f.arrive(req, faults, series)
	if script != nil {
		a = script(req)
	}
	select {
	case f.arrived <- req:
	default:
	}
	if a.Hold != nil {
		select {
		case <-a.Hold:
		case <-r.Context().Done():
			a.HangUp = true
		}
	}
	samples, histograms, exemplars := f.settle(req, a, series, r.Context().Err() != nil)
	if a.Raw != "" {
		cutOff(w, a.Raw)
		return
	}
	if a.HangUp || a.Lose {
		// The one way to end a handler without an answer.
		panic(http.ErrAbortHandler)
	}
	if req.V2 && !a.NoWritten {
		const prefix = "X-Prometheus-Remote-Write-"
		w.Header().Set(prefix+"Samples-Written", strconv.Itoa(samples))
		w.Header().Set(prefix+"Histograms-Written", strconv.Itoa(histograms))
		w.Header().Set(prefix+"Exemplars-Written", strconv.Itoa(exemplars))
	}
	for name, v := range a.Header {
		w.Header().Set(name, v)
	}
	w.WriteHeader(a.status())
	_, _ = w.Write([]byte(a.Body))
}

// cutOff sends the beginning of an answer and closes the connection.
func cutOff(w http.ResponseWriter, text string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err) // a server of HTTP/1 can
	}
	_, _ = conn.Write([]byte(text))
	_ = conn.Close()
}

func (a *Answer) status() int {
	if a.Status == 0 {
		return http.StatusNoContent
	}
	return a.Status
}

// arrive notes a request and picks its answer, or what chooses it.
func (f *FarEnd) arrive(req *FarEndRequest, faults []string, series map[string]bool) (Answer, func(*FarEndRequest) Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, req)
	f.violations = append(f.violations, faults...)
	for s := range series {
		if other := f.inFlight[s]; other != nil {
			other.overlap = s // a fault, unless its sender has gone
		}
		f.inFlight[s] = req
	}
	switch {
	case len(f.next) > 0:
		a := f.next[0]
		f.next = f.next[1:]
		return a, nil
	case f.script != nil:
		return Answer{}, f.script
	case req.V2 && f.v2 != nil:
		return *f.v2, nil
	case f.always != nil:
		return *f.always, nil
	}
	return Answer{}, nil
}

// settle stores what the answer accepts and counts it.
func (f *FarEnd) settle(req *FarEndRequest, a Answer, series map[string]bool, gone bool) (samples, histograms, exemplars int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range series {
		if f.inFlight[s] == req {
			delete(f.inFlight, s)
		}
	}
	req.Left = gone
	if req.overlap != "" && !gone {
		f.violations = append(f.violations, fmt.Sprintf("series %s is in two requests at once", req.overlap))
	}
	ok := a.status() >= 200 && a.status() < 300
	if a.HangUp || !ok && a.Refuse == nil || ok && req.V2 && a.NoWritten {
		return 0, 0, 0
	}
	if a.Whole && a.Refuse != nil && slices.ContainsFunc(req.Samples, a.Refuse) {
		return 0, 0, 0
	}
	for _, s := range req.Samples {
		if a.Refuse != nil && a.Refuse(s) {
			continue
		}
		f.stored = append(f.stored, s)
		exemplars += len(s.Exemplars)
		if s.H != nil || s.FH != nil {
			histograms++
		} else {
			samples++
		}
	}
	return samples, histograms, exemplars
}
