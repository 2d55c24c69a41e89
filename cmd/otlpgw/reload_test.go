package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/cmd/otlpgw/config"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// running is the gateway in this process.
type running struct {
	*app
	t           *testing.T
	file        string
	hangup      chan os.Signal
	http, admin string
	log         *lockedBuffer
	end         func()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serving runs the gateway with a configuration until the test ends.
func serving(t *testing.T, file string) *running {
	t.Helper()
	const free = "127.0.0.1:0"
	r := &running{t: t, file: filepath.Join(t.TempDir(), "otlpgw.yaml"), hangup: make(chan os.Signal, 1), log: &lockedBuffer{}}
	r.write(file)
	flags, err := config.ParseFlags([]string{
		"--http.listen-address=" + free, "--grpc.listen-address=" + free, "--admin.listen-address=" + free,
		"--storage.path=" + t.TempDir(),
	}, io.Discard)
	require.NoError(t, err)
	load := func() (*config.Loaded, error) { return config.Load(r.file, flags, os.Getenv) }
	c, err := load()
	require.NoError(t, err)
	logger, level := newLogger(r.log, c.Log)
	r.app, err = newApp(starting{config: c, load: load, hangup: r.hangup, logger: logger, level: level})
	require.NoError(t, err)
	l, err := listen(c)
	require.NoError(t, err)
	r.http, r.admin = "http://"+l.http.Addr().String(), "http://"+l.admin.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.run(ctx, l) }()
	var once sync.Once
	r.end = func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-done, r.log)
		})
	}
	t.Cleanup(r.end)
	require.Eventually(t, func() bool { return r.behind.ready() == nil }, time.Minute, time.Millisecond)
	return r
}

func (r *running) write(file string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(r.file, []byte(file), 0o600))
}

// reload asks for a reload over HTTP.
func (r *running) reload() (int, string) {
	r.t.Helper()
	resp, err := http.Post(r.admin+"/-/reload", "", nil)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return resp.StatusCode, string(body)
}

// reloaded is reload with success.
func (r *running) reloaded(file string) {
	r.t.Helper()
	r.write(file)
	code, body := r.reload()
	require.Equal(r.t, http.StatusOK, code, body)
	require.Equal(r.t, "reloaded\n", body)
}

// push sends one point of a gauge at ms and returns the status and the answer.
func (r *running) push(name, instance string, ms int64, header ...string) (int, string) {
	return r.post(fmt.Sprintf(
		`{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.instance.id","value":{"stringValue":%q}}]},
"scopeMetrics":[{"metrics":[{"name":%q,"gauge":{"dataPoints":[{"timeUnixNano":"%d","asInt":"1"}]}}]}]}]}`, instance, name, ms*1e6), header...)
}

// post sends a request as JSON.
func (r *running) post(text string, header ...string) (int, string) {
	req, err := http.NewRequest(http.MethodPost, r.http+"/v1/metrics", strings.NewReader(text))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// metric returns the value of a metric of the page, or 0.
func (r *running) metric(name string) float64 {
	r.t.Helper()
	resp, err := http.Get(r.admin + "/metrics")
	require.NoError(r.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	var v float64
	for line := range strings.Lines(string(body)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			_, err := fmt.Sscan(rest, &v)
			require.NoError(r.t, err)
		}
	}
	return v
}

func to(ends ...*storagetest.FarEnd) string {
	var b strings.Builder
	b.WriteString("remote_write:\n")
	for i, e := range ends {
		fmt.Fprintf(&b, "  - {name: end%d, url: %q}\n", i, e.URL())
	}
	return b.String()
}

// While senders send without a pause the destination changes, again and again,
// and so do names. Every request is answered with 200, and what it held is at
// the one end or the other, once, and each series in order.
func TestReloadUnderLoadLosesNothing(t *testing.T) {
	one, two := storagetest.NewFarEnd(t), storagetest.NewFarEnd(t)
	r := serving(t, to(one))
	const senders = 6
	begin := time.Now().Add(-time.Minute).UnixMilli()
	var sent [senders]int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			for !stop.Load() {
				code, body := r.push("load", fmt.Sprint(i), begin+sent[i])
				if code != http.StatusOK || body != "{}" {
					t.Errorf("sender %d: %d %s", i, code, body)
					return
				}
				sent[i]++
			}
		})
	}
	var points float64
	for i := range 12 {
		switch i % 4 {
		case 0:
			r.reloaded(to(two))
		case 1:
			r.reloaded(to(two) + "limits: {max_sample_age: 1d}\n")
		case 2:
			r.reloaded(to(one, two) + "otlp: {namespace: ns}\n")
		default:
			r.reloaded(to(one))
		}
		// Counters go on.
		now := r.metric("otlpgw_converter_points_total")
		require.GreaterOrEqual(t, now, points)
		points = now
	}
	stop.Store(true)
	wg.Wait()
	var all int64
	for i := range senders {
		all += sent[i]
		seen := map[int64]bool{}
		for _, far := range []*storagetest.FarEnd{one, two} {
			last := int64(-1)
			for _, s := range far.Stored() {
				if s.Labels.Get("instance") != fmt.Sprint(i) || !strings.HasSuffix(s.Labels.Get("__name__"), "load") {
					continue
				}
				require.Greater(t, s.T, last, "in order")
				last = s.T
				seen[s.T-begin] = true
			}
		}
		for at := range sent[i] {
			require.True(t, seen[at], "sample %d of sender %d is acknowledged and absent", at, i)
		}
		require.Len(t, seen, int(sent[i]))
	}
	require.InDelta(t, all, r.metric("otlpgw_converter_points_total"), 0)
}

// A request that waits for its far end is answered by that, after a reload to
// another end too; one that comes meanwhile goes to the new end after that.
func TestReloadWaitsForRequestsInFlight(t *testing.T) {
	one, two := storagetest.NewFarEnd(t), storagetest.NewFarEnd(t)
	r := serving(t, to(one))
	hold := make(chan struct{})
	one.Next(storagetest.Answer{Hold: hold})
	now := time.Now().UnixMilli()
	codes := make(chan int, 2)
	send := func(ms int64) {
		code, _ := r.push("held", "a", ms)
		codes <- code
	}
	go send(now)
	<-one.Arrived
	r.write(to(two))
	r.hangup <- os.Interrupt // any signal
	old := r.behind.now.Load()
	require.Eventually(t, func() bool { return r.behind.now.Load() != old }, time.Minute, time.Millisecond)
	go send(now + 1)
	require.Eventually(t, func() bool { return r.behind.now.Load().requests.Load() == 1 }, time.Minute, time.Millisecond)
	require.Empty(t, two.Requests())
	close(hold)
	require.Equal(t, http.StatusOK, <-codes)
	require.Equal(t, http.StatusOK, <-codes)
	ls := labels.FromStrings("__name__", "held", "instance", "a")
	require.Len(t, one.Read(ls), 1)
	require.Len(t, two.Read(ls), 1)
}

// A file with faults changes nothing, and both the answer and the log say why.
func TestReloadOfABadFile(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	r := serving(t, to(far))
	loaded := r.metric("otlpgw_config_last_reload_success_timestamp_seconds")
	require.NotZero(t, loaded)
	require.InDelta(t, 1, r.metric("otlpgw_config_last_reload_successful"), 0)
	for file, want := range map[string]string{
		to(far) + "limits: {max_feature: 1h}\n":                       "line 3: limits.max_feature: unknown key; did you mean max_future?",
		to(far) + "http: {cors_allowed_origins: [shop.example]}\n":    `"shop.example" is no origin`,
		to(far) + "storage: {mode: local}\n":                          "storage.mode cannot be changed by a reload",
		to(far) + "log: {format: json}\n":                             "log.format cannot be changed by a reload",
		to(far) + "storage: {tsdb: {retention: {time: 1d}}}\n":        "storage.tsdb cannot be changed by a reload",
		"remote_write: [{url: \"http://a:secret@h/\", oauth2: {}}]\n": "oauth2",
	} {
		r.write(file)
		code, body := r.reload()
		require.Equal(t, http.StatusBadRequest, code, body)
		require.Contains(t, body, want)
		require.NotContains(t, body, "secret@")
		require.Zero(t, r.metric("otlpgw_config_last_reload_successful"))
		code, body = r.push("m", "a", time.Now().UnixMilli())
		require.Equal(t, http.StatusOK, code, body)
	}
	require.Contains(t, r.log.String(), "did you mean max_future?")
	require.InDelta(t, loaded, r.metric("otlpgw_config_last_reload_success_timestamp_seconds"), 0)

	r.reloaded(to(far))
	require.InDelta(t, 1, r.metric("otlpgw_config_last_reload_successful"), 0)
	require.GreaterOrEqual(t, r.metric("otlpgw_config_last_reload_success_timestamp_seconds"), loaded)
}

// What does not concern the way to the store leaves it, and what is remembered
// about senders, alone.
func TestReloadKeepsTheCache(t *testing.T) {
	far := storagetest.NewFarEnd(t)
	r := serving(t, to(far))
	now := time.Now().UnixMilli()
	r.push("m", "a", now)
	before := r.behind.now.Load()
	r.reloaded(to(far) + "http: {max_json_size: 1KiB, cors_allowed_origins: [\"*\"]}\nlog: {level: error}\n")
	require.Same(t, before, r.behind.now.Load())
	require.Equal(t, slog.LevelError, r.level.Level())
	code, body := r.push("m", strings.Repeat("a", 2000), now)
	require.Equal(t, http.StatusRequestEntityTooLarge, code, body)
	r.push("m", "a", now+1)
	require.InDelta(t, 1, r.metric("otlpgw_series_cache_hits_total"), 0)
	require.Contains(t, r.get("/-/config"), "max_json_size: 1KiB")
}

func (r *running) get(path string) string {
	r.t.Helper()
	resp, err := http.Get(r.admin + path)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return string(body)
}

// The database stays open, and what is in it can be asked for, whatever changes.
func TestReloadOfALocalStore(t *testing.T) {
	r := serving(t, "")
	now := time.Now().UnixMilli()
	r.push("m", "a", now)
	backend := r.behind.now.Load().backend
	r.reloaded("otlp: {namespace: ns}\n")
	require.Same(t, backend, r.behind.now.Load().backend)
	r.push("m", "a", now)
	require.Contains(t, r.get("/api/v1/query?query=count({__name__=~\"m|ns_m\"})"), `"2"]`)
	problems, err := testutil.GatherAndLint(r.stats)
	require.NoError(t, err)
	for _, p := range problems {
		require.False(t, strings.HasPrefix(p.Metric, "otlpgw_"), "%s: %s", p.Metric, p.Text)
	}
	require.InDelta(t, 2, r.metric("otlpgw_converter_points_total"), 0)
}

// Before the store is open and after the end there is nothing to reload.
func TestReloadAtTheWrongTime(t *testing.T) {
	r := serving(t, "")
	g := r.behind.now.Swap(nil)
	code, body := r.reload()
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "not reloaded: the store is still opening\n", body)
	r.behind.now.Store(g)
	r.end()
	require.ErrorIs(t, r.app.reload(), errStopping)
}
