package peers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/otlpgw/otlpgw/bench"
)

// minRounds is how many rounds a median is taken of at least.
const minRounds = 5

// compete gives the parties turns, a round each time the benchmark loops, and
// reports what each needed. With ratios it says how many times as much as the
// first the others did.
func compete(b *testing.B, corpus *bench.Corpus, parties []*party, ratios bool) {
	b.Helper()
	for _, p := range parties {
		err := p.warm(corpus)
		if err == nil {
			err = p.pace(corpus)
		}
		if err != nil {
			b.Fatalf("%s: %v", p.name, err)
		}
	}
	rounds := 0
	round := func() {
		for i := range parties {
			p := parties[(rounds+i)%len(parties)]
			if err := p.turn(corpus); err != nil {
				b.Fatalf("%s: %v", p.name, err)
			}
		}
		rounds++
	}
	for b.Loop() {
		round()
	}
	for rounds < minRounds {
		round()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(rounds), "rounds")

	// A benchmark may log ten lines.
	var table strings.Builder
	fmt.Fprintf(&table, "medians of %d rounds, %d samples a request\n", rounds, corpus.Samples)
	for i, p := range parties {
		p.report(b, &table, corpus)
		if ratios && i > 0 {
			x, cpu := ratio(parties[0], p, turn.time), ratio(parties[0], p, turn.cpuTime)
			b.ReportMetric(x, "x-"+p.name)
			b.ReportMetric(cpu, "x-"+p.name+"-cpu")
			fmt.Fprintf(&table, "  x %5.1f  x %5.1f CPU", x, cpu)
		}
		fmt.Fprintln(&table)
	}
	b.Log(table.String())
}

func (t turn) time() float64    { return t.seconds }
func (t turn) cpuTime() float64 { return t.cpu }
func (t turn) memory() float64  { return t.bytes }
func (t turn) objects() float64 { return t.allocs }

func (p *party) report(b *testing.B, table *strings.Builder, corpus *bench.Corpus) {
	b.Helper()
	rate := float64(corpus.Samples) / p.median(turn.time)
	b.ReportMetric(rate, p.name+"-samples/s")
	b.ReportMetric(p.median(turn.memory), p.name+"-B/op")
	b.ReportMetric(p.median(turn.objects), p.name+"-allocs/op")
	fmt.Fprintf(table, "%-18s %9.0f samples/s %9.0f B/op %7.0f allocs/op",
		p.name, rate, p.median(turn.memory), p.median(turn.objects))
	if p.sent != nil {
		b.ReportMetric(float64(p.sent()), p.name+"-sent-B")
		fmt.Fprintf(table, " %7d B sent", p.sent())
	}
}

func (p *party) median(of func(turn) float64) float64 {
	values := make([]float64, len(p.took))
	for i, t := range p.took {
		values[i] = of(t)
	}
	return median(values)
}

// ratio returns the median over the rounds of how many times as much the other
// needed.
func ratio(p, other *party, of func(turn) float64) float64 {
	values := make([]float64, len(p.took))
	for i, t := range p.took {
		values[i] = of(other.took[i]) / of(t)
	}
	return median(values)
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
