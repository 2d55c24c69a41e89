package peers

import (
	"maps"
	"testing"

	"github.com/otlpgw/otlpgw/bench"
)

// shapes are the root module's, and each that has exponential histograms once
// more without.
func shapes() []bench.Shape {
	var all []bench.Shape
	for _, s := range bench.Shapes {
		all = append(all, s)
		if s.Exponential {
			s.Exponential = false
			s.Name += "-without-exponential"
			all = append(all, s)
		}
	}
	return all
}

// converters returns the product and then its peers.
func converters(tb testing.TB, shape bench.Shape, corpus *bench.Corpus) []*party {
	tb.Helper()
	all := []*party{
		newProduct(tb, shape, corpus),
		newPrometheus(shape, corpus),
		newContrib(shape, corpus),
		newContribV2(shape, corpus),
	}
	if !shape.Exponential {
		all = append(all, newVMAgent(tb, corpus, true), newVMAgent(tb, corpus, false))
	}
	return all
}

func encoders(shape bench.Shape, corpus *bench.Corpus) []*party {
	return []*party{newEncoder(shape, corpus), newEncoderV2(shape, corpus)}
}

// BenchmarkPeers goes from bytes to series.
func BenchmarkPeers(b *testing.B) {
	for _, shape := range shapes() {
		b.Run(shape.Name, func(b *testing.B) {
			corpus := shape.New(0)
			compete(b, corpus, converters(b, shape, corpus), true)
		})
	}
}

// BenchmarkEncode goes from bytes to what is sent.
func BenchmarkEncode(b *testing.B) {
	for _, shape := range shapes() {
		b.Run(shape.Name, func(b *testing.B) {
			corpus := shape.New(0)
			compete(b, corpus, encoders(shape, corpus), false)
		})
	}
}

// TestPeers keeps the benchmarks honest: everybody makes of a request as many
// samples as it holds, when it comes first and when it comes again, whether or
// not it is counted, and they have the names that the product gives them.
func TestPeers(t *testing.T) {
	for _, shape := range shapes() {
		t.Run(shape.Name, func(t *testing.T) {
			corpus := shape.New(0)
			parties := append(converters(t, shape, corpus), encoders(shape, corpus)...)
			want := take(t, parties[0], corpus)
			if want["http_server_work_00_seconds_total"] == 0 || want["target_info"] != shape.Targets {
				t.Fatalf("%s made %v", parties[0].name, want)
			}
			for _, p := range parties[1:] {
				got := take(t, p, corpus)
				if p.samples == corpus.Samples { // It makes no target_info.
					got["target_info"] = shape.Targets
				}
				if !maps.Equal(got, want) {
					t.Errorf("%s made %v\n%s made %v", p.name, got, parties[0].name, want)
				}
			}
		})
	}
}

// take lets a party have a few requests and a turn of two, and then returns
// what it makes of one.
func take(t *testing.T, p *party, corpus *bench.Corpus) tally {
	t.Helper()
	p.requests = 2
	err := p.warm(corpus)
	if err == nil {
		err = p.turn(corpus)
	}
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	made, err := p.count(p.next(corpus))
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	return made
}
