package peers

import (
	"bytes"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/VictoriaMetrics/lib/prompb"
	"github.com/VictoriaMetrics/VictoriaMetrics/lib/protoparser/opentelemetry/stream"

	"github.com/otlpgw/otlpgw/bench"
)

// newVMAgent returns vmagent's parser with Prometheus naming. With promote,
// which is its default, all resource attributes become labels, otherwise none.
// It knows no target_info.
func newVMAgent(tb testing.TB, corpus *bench.Corpus, promote bool) *party {
	tb.Helper()
	if err := flag.Set("opentelemetry.usePrometheusNaming", "true"); err != nil {
		tb.Fatal(err)
	}
	reader := &bytes.Reader{}
	made := 0
	parse := func(body []byte, callback func(tss []prompb.TimeSeries, mms []prompb.MetricMetadata) error) error {
		made = 0
		reader.Reset(body)
		return stream.ParseStream(reader, "", nil, callback)
	}
	// The callback comes once for every 4 MiB of strings. A series has one sample.
	series := func(tss []prompb.TimeSeries, _ []prompb.MetricMetadata) error {
		made += len(tss)
		return nil
	}
	p := &party{
		name:    "vmagent",
		samples: corpus.Samples,
		// Flags are the package's, and there are two of these.
		prepare: func() error {
			if err := flag.Set("opentelemetry.promoteAllResourceAttributes", strconv.FormatBool(promote)); err != nil {
				return err
			}
			stream.InitDecodeOptions()
			return nil
		},
		push: func(body []byte) error {
			err := parse(body, series)
			if err == nil && made != corpus.Samples {
				err = fmt.Errorf("%d series were made of %d", made, corpus.Samples)
			}
			return err
		},
		count: func(body []byte) (tally, error) {
			n := tally{}
			err := parse(body, func(tss []prompb.TimeSeries, _ []prompb.MetricMetadata) error {
				for _, ts := range tss {
					// The name comes first, and its bytes are used again.
					n[strings.Clone(ts.Labels[0].Value)] += len(ts.Samples)
				}
				return nil
			})
			return n, err
		},
	}
	if !promote {
		p.name += "-unpromoted"
	}
	return p
}

// TestPromotion says that the two parties of vmagent's differ in what they are
// named for.
func TestPromotion(t *testing.T) {
	corpus := shapes()[0].New(0)
	for _, promote := range []bool{true, false} {
		p := newVMAgent(t, corpus, promote)
		if err := p.prepare(); err != nil {
			t.Fatal(err)
		}
		err := stream.ParseStream(bytes.NewReader(corpus.Body), "", nil, func(tss []prompb.TimeSeries, _ []prompb.MetricMetadata) error {
			for _, ts := range tss {
				promoted := slices.ContainsFunc(ts.Labels, func(l prompb.Label) bool { return l.Name == "service_version" })
				if promoted != promote {
					t.Errorf("%s: service_version is a label: %v", p.name, promoted)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
