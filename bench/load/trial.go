package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// plan is what is sent to each process.
type plan struct {
	targets, senders, requests int
	// rate is how many requests are sent in a second, and 0 if each sender sends
	// its next once the one before is answered.
	rate int
	// profile is a file for a CPU profile of otlpgw's first trial, if not empty.
	profile string
}

// result is what one process did with it.
type result struct {
	// sent and delivered are samples; info are those of info metrics.
	sent, delivered, info int
	cpu                   time.Duration
	peakRSS               int64
	// wire and raw are bytes of remote-write bodies, as sent and inflated.
	wire, raw, writes int
	// retried is how many requests were turned away for a moment, and p50 and
	// p99 are those of requests as the sender saw them, retries included.
	retried  int
	p50, p99 time.Duration
	took     time.Duration
}

// perSample is processor time per delivered sample, in microseconds.
func (r result) perSample() float64 {
	return float64(r.cpu) / float64(time.Microsecond) / float64(r.delivered)
}

const (
	// minWarm and maxWarm bound the rounds of all targets before the measured
	// ones: a tail of a WAL passes over what it finds when it begins.
	minWarm, maxWarm = 3, 10
	// settle is how long nothing may come from a process before it is taken
	// for done: the agent of Prometheus holds a part of a batch for 5 s.
	settle = 8 * time.Second
	// startPatience is how long a process may take to listen.
	startPatience = time.Minute
	// ahead is how far in the future the first samples are: a tail of a WAL
	// passes over what is older than its beginning.
	ahead = 30 * time.Second
)

// bed is a process between a sink and senders.
type bed struct {
	*process
	sink   *sink
	admin  string
	url    string
	client *http.Client
	dir    string
}

// lay starts a process and its sink; the caller takes them away with close.
func lay(ctx context.Context, p party, program string) (*bed, error) {
	b := &bed{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	if err := b.start(ctx, p, program); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bed) start(ctx context.Context, p party, program string) (err error) {
	if b.dir, err = os.MkdirTemp("", "otlpgw-load-"); err != nil {
		return err
	}
	if b.sink, err = newSink(); err != nil {
		return err
	}
	listen, err := freeAddress()
	if err != nil {
		return err
	}
	if b.admin, err = freeAddress(); err != nil {
		return err
	}
	s := setting{listen: listen, admin: b.admin, url: b.sink.url, dir: b.dir}
	args, err := p.args(s)
	if err != nil {
		return err
	}
	if b.process, err = startProcess(ctx, b.dir+"/log", program, args...); err != nil {
		return err
	}
	b.url = "http://" + listen + p.path
	starting, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	return b.listening(starting, listen)
}

func (b *bed) close() {
	if b.process != nil {
		b.kill()
	}
	b.client.CloseIdleConnections()
	if b.sink != nil {
		b.sink.close()
	}
	_ = os.RemoveAll(b.dir) // It is in the system's folder for such.
}

// measure sends the plan's requests after a warm-up, and returns what it took
// until all samples had arrived.
func (b *bed) measure(ctx context.Context, p plan) (r result, err error) {
	targets := make([]*target, p.targets)
	for i := range targets {
		if targets[i], err = largeTarget(i, time.Now().Add(ahead).UnixMilli()); err != nil {
			return r, err
		}
	}
	if err := b.warm(ctx, p, targets); err != nil {
		return r, err
	}
	before, cpu, start := b.sink.got(), time.Duration(0), time.Now()
	if cpu, err = b.cpu(); err != nil {
		return r, err
	}
	profiled := b.profiled(ctx, p.profile)
	times, retried, err := b.send(ctx, p, targets, p.requests, p.rate)
	if err != nil {
		return r, b.failed(err)
	}
	r.sent = p.requests * samplesPerRequest
	if err := b.sink.await(ctx, before.samples+r.sent, settle); err != nil {
		return r, err
	}
	r.took = time.Since(start)
	end, err := b.cpu()
	if err != nil {
		return r, err
	}
	got := b.sink.got()
	if got.refused > 0 {
		return r, b.failed(fmt.Errorf("the far end could not read %d requests: %w", got.refused, got.reason))
	}
	if r.peakRSS, err = b.peakRSS(); err != nil {
		return r, err
	}
	r.cpu, r.retried = end-cpu, retried
	r.delivered, r.info = got.samples-before.samples, got.info-before.info
	r.wire, r.raw, r.writes = got.wire-before.wire, got.raw-before.raw, got.requests-before.requests
	slices.Sort(times)
	r.p50, r.p99 = quantile(times, 0.5), quantile(times, 0.99)
	return r, <-profiled
}

// warm sends rounds of all targets until one arrives whole.
func (b *bed) warm(ctx context.Context, p plan, targets []*target) error {
	for round := 1; round <= maxWarm; round++ {
		want := b.sink.got().samples + len(targets)*samplesPerRequest
		if _, _, err := b.send(ctx, p, targets, len(targets), 0); err != nil {
			return b.failed(err)
		}
		if err := b.sink.await(ctx, want, settle); err != nil {
			return err
		}
		if round >= minWarm && b.sink.got().samples >= want {
			return nil
		}
	}
	return b.failed(fmt.Errorf("no round of %d arrived whole: %+v", maxWarm, b.sink.got()))
}

// send sends n requests, of each target in turn, and returns how long each took.
// A target has one sender, so that its requests keep their order.
func (b *bed) send(ctx context.Context, p plan, targets []*target, n, rate int) (times []time.Duration, retried int, err error) {
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	for s := range min(p.senders, len(targets)) {
		wg.Go(func() {
			var own []time.Duration
			again := 0
			var err error
			begin := time.Now()
			// The nth request is that of target n modulo their number.
			for i := 0; i < n && err == nil; i++ {
				if at := i % len(targets); at%p.senders == s {
					if rate > 0 {
						time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(rate))))
					}
					start, more := time.Now(), 0
					more, err = b.push(ctx, targets[at].next())
					own, again = append(own, time.Since(start)), again+more
				}
			}
			mu.Lock()
			defer mu.Unlock()
			times, retried = append(times, own...), retried+again
			if failed == nil {
				failed = err
			}
		})
	}
	wg.Wait()
	return times, retried, failed
}

// push sends a request until it is taken, and returns how often it was not.
func (b *bed) push(ctx context.Context, body []byte) (retried int, err error) {
	for {
		code, text, err := b.post(ctx, b.url, nil, body)
		if err != nil {
			return retried, err
		}
		switch code {
		case http.StatusOK:
			return retried, nil
		case http.StatusNoContent: // Prometheus says so.
			return retried, nil
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			retried++
		default:
			return retried, fmt.Errorf("answered %d %q", code, text)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return retried, ctx.Err()
		}
	}
}

// post posts a body with the given header, or as OTLP.
func (b *bed) post(ctx context.Context, url string, h http.Header, body []byte) (code int, text []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if h == nil {
		h = http.Header{"Content-Type": {"application/x-protobuf"}}
	}
	r.Header = h
	w, err := b.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer w.Body.Close()
	text, err = io.ReadAll(w.Body)
	return w.StatusCode, text, err
}

// profiled takes a CPU profile of otlpgw in the background, if file is not
// empty: of the first five seconds.
func (b *bed) profiled(ctx context.Context, file string) <-chan error {
	done := make(chan error, 1)
	if file == "" {
		done <- nil
		return done
	}
	go func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.admin+"/debug/pprof/profile?seconds=5", nil)
		if err != nil {
			done <- err
			return
		}
		w, err := b.client.Do(r)
		if err != nil {
			done <- err
			return
		}
		defer w.Body.Close()
		text, err := io.ReadAll(w.Body)
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		done <- err
	}()
	return done
}
