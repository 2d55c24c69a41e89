package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/gateway"
	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/direct"
	"github.com/otlpgw/otlpgw/storage/remotewrite"
)

// serveVariable tells this test binary to be a server for another process of
// it: of which kind, and after a blank the URL of its far end.
const serveVariable = "OTLPGW_BENCH_SERVE"

func TestMain(m *testing.M) {
	if what := os.Getenv(serveVariable); what != "" {
		if err := serve(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// usage is what a server process has used since it began.
type usage struct {
	// CPU is user and system time together.
	CPU time.Duration
	// PeakRSS is the most resident memory it ever had, in bytes.
	PeakRSS int64
	// Hits and Misses are those of its cache; Prometheus's handler has none.
	Hits, Misses float64
}

// serve listens on two ports of the loopback interface, one for OTLP and one
// that tells the process's usage, prints their addresses, and ends with its
// standard input.
func serve(what string) error {
	kind, url, _ := strings.Cut(what, " ")
	var listeners [2]net.Listener
	for i := range listeners {
		var err error
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
	}
	reg := prometheus.NewRegistry()
	failed := make(chan error, 3)
	if kind == "prometheus" {
		go func() { failed <- (&http.Server{Handler: newPeer()}).Serve(listeners[0]) }()
	} else {
		backend, err := backendOf(kind, url)
		if err != nil {
			return err
		}
		pipeline, err := converter.New(converter.Options{Backend: backend, Registerer: reg, Logger: quiet})
		if err != nil {
			return err
		}
		g, err := gateway.New(gateway.Options{Pusher: pipeline, Registerer: reg, Logger: quiet})
		if err != nil {
			return err
		}
		go func() { failed <- g.RunHTTP(listeners[0]) }()
	}
	go func() {
		failed <- http.Serve(listeners[1], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			u, err := ownUsage(reg)
			if err == nil {
				err = json.NewEncoder(w).Encode(u)
			}
			if err != nil {
				failed <- err
			}
		}))
	}()
	if _, err := fmt.Println(listeners[0].Addr(), listeners[1].Addr()); err != nil {
		return err
	}
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		failed <- err // Nil when whoever started this is done.
	}()
	return <-failed
}

func backendOf(kind, url string) (storage.Backend, error) {
	if kind == "discard" {
		return &void{}, nil
	}
	o := remotewrite.DefaultDestinationOptions(url)
	o.ProtobufMessage = map[string]remotewrite.Message{"direct-v1": remotewrite.MessageV1, "direct-v2": remotewrite.MessageV2}[kind]
	return direct.New(direct.Options{Destinations: []remotewrite.DestinationOptions{o}, Logger: quiet})
}

// ownUsage returns what this process has used.
func ownUsage(reg prometheus.Gatherer) (usage, error) {
	u := usage{CPU: processTime()}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return u, err
	}
	// Not ru_maxrss, which begins with that of the process that started this one.
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kib), " kB"), 10, 64)
			if err != nil {
				return u, err
			}
			u.PeakRSS = n << 10
		}
	}
	families, err := reg.Gather()
	for _, f := range families {
		switch f.GetName() {
		case "otlpgw_series_cache_hits_total":
			u.Hits = f.GetMetric()[0].GetCounter().GetValue()
		case "otlpgw_series_cache_misses_total":
			u.Misses = f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return u, err
}

// process is a server in a process of its own, so that its memory and time are
// told from the load's and the far end's.
type process struct{ otlp, control string }

// start starts one, which ends with b.
func start(b *testing.B, what string) *process {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"="+what)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	f := strings.Fields(line)
	return &process{otlp: "http://" + f[0] + "/v1/metrics", control: "http://" + f[1]}
}

// usage asks the process.
func (p *process) usage(tb testing.TB) (u usage) {
	tb.Helper()
	r, err := http.Get(p.control)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&u); err != nil {
		tb.Fatal(err)
	}
	return u
}
