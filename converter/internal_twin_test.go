package converter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/stretchr/testify/require"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/otlpgw/otlpgw/converter/convertertest"
	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// twinRules returns relabellings under which series of two targets, or of one
// point, become one or are dropped.
func twinRules(t *testing.T, which uint64) []*relabel.Config {
	t.Helper()
	c := relabel.DefaultRelabelConfig
	switch which % 4 {
	case 0:
		return nil
	case 1:
		c.Regex, c.Action = relabel.MustNewRegexp("instance|job"), relabel.LabelDrop
	case 2:
		c.SourceLabels, c.Regex, c.Action = model.LabelNames{"le"}, relabel.MustNewRegexp("2"), relabel.Drop
	case 3:
		c.Regex, c.Action = relabel.MustNewRegexp("k"), relabel.LabelDrop
	}
	require.NoError(t, c.Validate(model.UTF8Validation))
	return []*relabel.Config{&c}
}

// twinRequest invents a request out of few times, values and attributes, so that
// repetitions, conflicts and latecomers are frequent.
func twinRequest(rnd *rand.Rand, step int) *colmetricspb.ExportMetricsServiceRequest {
	var text strings.Builder
	base := 1000 + step*100
	attrs := func() string {
		k, l := rnd.IntN(3), rnd.IntN(2)
		a := fmt.Sprintf(`attributes { key: "k" value { string_value: "%d" } }`, k)
		b := fmt.Sprintf(`attributes { key: "l" value { string_value: "%d" } }`, l)
		if rnd.IntN(6) == 0 {
			a, b = b, a
		}
		return a + b
	}
	when := func() int { return (base + (rnd.IntN(9)-5)*100) * 1_000_000 }
	start := func() string {
		if rnd.IntN(3) == 0 {
			return ""
		}
		return fmt.Sprintf("start_time_unix_nano: %d ", (100+rnd.IntN(2)*50)*1_000_000)
	}
	flags := func() string {
		if rnd.IntN(12) == 0 {
			return "flags: 1 "
		}
		return ""
	}
	number := func() string {
		v := fmt.Sprintf("as_int: %d ", rnd.IntN(3))
		switch rnd.IntN(12) {
		case 0:
			v = ""
		case 1:
			v = fmt.Sprintf("as_double: %d ", rnd.IntN(3))
		}
		return fmt.Sprintf("data_points { time_unix_nano: %d %s%s%s%s }", when(), v, start(), flags(), attrs())
	}
	bounds := rnd.IntN(2)
	hist := func() string {
		if rnd.IntN(8) == 0 {
			bounds = rnd.IntN(3)
		}
		c := []int{rnd.IntN(2), rnd.IntN(2), rnd.IntN(2)}
		n := c[0] + c[1] + c[2]
		if rnd.IntN(15) == 0 {
			n++
		}
		sum := ""
		if rnd.IntN(8) != 0 {
			sum = fmt.Sprintf("sum: %d ", n)
		}
		edge := []string{"[1, 2]", "[1, 3]", "[2, 1]"}[bounds]
		return fmt.Sprintf("data_points { time_unix_nano: %d %s%s%s count: %d %s bucket_counts: [%d, %d, %d] explicit_bounds: %s }",
			when(), start(), flags(), attrs(), n, sum, c[0], c[1], c[2], edge)
	}
	points := func(f func() string) string {
		var out strings.Builder
		for range 1 + rnd.IntN(5) {
			out.WriteString(f())
		}
		return out.String()
	}
	for range 1 + rnd.IntN(3) {
		fmt.Fprintf(&text, `resource_metrics { resource { attributes { key: "service.name" value { string_value: "s" } }
			attributes { key: "service.instance.id" value { string_value: "%d" } } attributes { key: "x" value { string_value: "%d" } } } scope_metrics {`,
			rnd.IntN(2), rnd.IntN(8)/7)
		for range 1 + rnd.IntN(3) {
			switch rnd.IntN(3) {
			case 0:
				fmt.Fprintf(&text, `metrics { name: "g" gauge { %s } }`, points(number))
			case 1:
				fmt.Fprintf(&text, `metrics { name: "c" sum { aggregation_temporality: 2 is_monotonic: true %s } }`, points(number))
			case 2:
				fmt.Fprintf(&text, `metrics { name: "h" histogram { aggregation_temporality: 2 %s } }`, points(hist))
			}
		}
		text.WriteString("}}")
	}
	req := new(colmetricspb.ExportMetricsServiceRequest)
	if r, err := convertertest.Request(text.String()); err == nil {
		req = r
	} else {
		panic(err)
	}
	return req
}

// frameless returns a request whose points fit no frame: each has a field that
// nobody knows.
func frameless(req *colmetricspb.ExportMetricsServiceRequest) []byte {
	req = proto.Clone(req).(*colmetricspb.ExportMetricsServiceRequest)
	odd := protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 1)
	for _, r := range req.ResourceMetrics {
		for _, s := range r.ScopeMetrics {
			for _, m := range s.Metrics {
				switch d := m.Data.(type) {
				case *metricspb.Metric_Gauge:
					for _, p := range d.Gauge.DataPoints {
						p.ProtoReflect().SetUnknown(odd)
					}
				case *metricspb.Metric_Sum:
					for _, p := range d.Sum.DataPoints {
						p.ProtoReflect().SetUnknown(odd)
					}
				case *metricspb.Metric_Histogram:
					for _, p := range d.Histogram.DataPoints {
						p.ProtoReflect().SetUnknown(odd)
					}
				}
			}
		}
	}
	b, err := proto.Marshal(req)
	if err != nil {
		panic(err)
	}
	return b
}

type twinFlight struct {
	held *storagetest.Held
	done chan string
}

// Whether points are read by their frame or parsed makes no difference to what
// is stored and said, in whatever order requests come, fail and are committed.
func TestUsualIsTheLongWay(t *testing.T) {
	seeds := uint64(120)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			o := Options{Relabel: twinRules(t, seed), Logger: slog.New(slog.DiscardHandler)}
			o.Limits.RejectLate = seed%5 == 0
			switch seed % 3 {
			case 1:
				o.Cache = series.Options{MaxSeries: 12 + int(seed)}
			case 2:
				o.Cache = series.Options{IdleTimeout: 3 * time.Second}
			}
			short, long := newLine(t, o), newLine(t, o)
			lines := [2]*line{short, long}
			gates := [2]*storagetest.Gate{short.rec.HoldCommits(), long.rec.HoldCommits()}
			rnd := rand.New(rand.NewPCG(seed, 77))
			var inFlight [][2]twinFlight
			var sent []*colmetricspb.ExportMetricsServiceRequest
			release := func() {
				i := rnd.IntN(len(inFlight))
				f := inFlight[i]
				inFlight = append(inFlight[:i], inFlight[i+1:]...)
				failed := rnd.IntN(4) == 0
				var said [2]string
				for n := range f {
					if f[n].held != nil {
						if failed {
							lines[n].rec.FailCommit(errors.New("lost"))
						}
						f[n].held.Release()
					}
					said[n] = <-f[n].done
				}
				require.Equal(t, said[1], said[0])
			}
			for step := range 150 {
				req := twinRequest(rnd, step)
				if len(sent) > 0 && rnd.IntN(4) == 0 {
					req = sent[max(0, len(sent)-1-rnd.IntN(3))] // A retry.
				}
				sent = append(sent, req)
				plain, err := proto.Marshal(req)
				require.NoError(t, err)
				bodies := [2][]byte{plain, frameless(req)}
				if rnd.IntN(10) == 0 {
					for _, l := range lines {
						l.nowMs.Add(2000)
						l.cache.Sweep()
					}
				}
				var f [2]twinFlight
				for n, l := range lines {
					done := make(chan string, 1)
					go func() {
						r, err := l.Push(context.Background(), Request{Body: bodies[n]})
						done <- fmt.Sprintf("%+v %v", r, err)
					}()
					f[n].done = done
					select {
					case f[n].held = <-gates[n].Arrived:
					case said := <-done:
						done <- said
					}
				}
				inFlight = append(inFlight, f)
				// Two that hold one series without room would both forget it.
				for len(inFlight) > 0 && (len(inFlight) > 3 || rnd.IntN(2) == 0 || o.Cache.MaxSeries > 0) {
					release()
				}
			}
			for len(inFlight) > 0 {
				release()
			}
			want, got := storagetest.Text(long.rec.InOrder()), storagetest.Text(short.rec.InOrder())
			require.Equal(t, want, got)
			require.Positive(t, len(got))
			requireAllRoomBack(t, short)
			requireAllRoomBack(t, long)
		})
	}
}

// Many requests at once, of the same and of other targets whose series
// relabelling makes one, leave nothing behind.
func TestCrowdOfTwins(t *testing.T) { crowdOfTwins(t, false) }

// So it is when senders are evicted in the middle of their requests.
func TestCrowdOfTwinsSwept(t *testing.T) { crowdOfTwins(t, true) }

func crowdOfTwins(t *testing.T, sweep bool) {
	t.Helper()
	for which := range uint64(4) {
		o := Options{Relabel: twinRules(t, which), Logger: slog.New(slog.DiscardHandler)}
		o.Cache = series.Options{IdleTimeout: 3 * time.Second}
		l := newLine(t, o)
		var g sync.WaitGroup
		for n := range uint64(8) {
			g.Go(func() {
				rnd := rand.New(rand.NewPCG(which, n))
				for step := range 60 {
					body, err := proto.Marshal(twinRequest(rnd, step))
					if err != nil {
						panic(err)
					}
					_, err = l.Push(context.Background(), Request{Body: body})
					if err != nil {
						panic(err)
					}
					if sweep && rnd.IntN(8) == 0 {
						l.nowMs.Add(1000)
						l.cache.Sweep()
					}
				}
			})
		}
		g.Wait()
		require.NotEmpty(t, l.rec.Samples())
		requireAllRoomBack(t, l)
	}
}
