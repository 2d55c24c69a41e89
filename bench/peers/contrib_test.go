package peers

import (
	"fmt"

	translator "github.com/open-telemetry/opentelemetry-collector-contrib/pkg/translator/prometheusremotewrite"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/otlpgw/otlpgw/bench"
)

// settings are those of the Collector's exporter by default.
var settings = translator.Settings{AddMetricSuffixes: true}

// unmarshal reads a request as the Collector's receiver does.
func unmarshal(body []byte) (pmetric.Metrics, error) {
	request := pmetricotlp.NewExportRequest()
	err := request.UnmarshalProto(body)
	return request.Metrics(), err
}

// fromBytes makes remote-write 1.0 series of a request.
func fromBytes(body []byte) (map[string]*prompb.TimeSeries, error) {
	md, err := unmarshal(body)
	if err != nil {
		return nil, err
	}
	return translator.FromMetrics(md, settings)
}

// fromBytesV2 makes remote-write 2.0 series of a request.
func fromBytesV2(body []byte) (map[string]*writev2.TimeSeries, writev2.SymbolsTable, error) {
	md, err := unmarshal(body)
	if err != nil {
		return nil, writev2.SymbolsTable{}, err
	}
	return translator.FromMetricsV2(md, settings)
}

// expect says whether as many series were made as samples should be. In a
// request of ours every series has one.
func expect(made, want int, err error) error {
	if err == nil && made != want {
		err = fmt.Errorf("%d series were made of %d", made, want)
	}
	return err
}

// newContrib returns the Collector's translator for remote write 1.0. It makes
// a target_info for each target.
func newContrib(shape bench.Shape, corpus *bench.Corpus) *party {
	want := corpus.Samples + shape.Targets
	return &party{
		name:    "contrib-rw1",
		samples: want,
		push: func(body []byte) error {
			tss, err := fromBytes(body)
			return expect(len(tss), want, err)
		},
		count: func(body []byte) (tally, error) {
			tss, err := fromBytes(body)
			n := tally{}
			for _, ts := range tss {
				n.add(ts)
			}
			return n, err
		},
	}
}

// newContribV2 returns the Collector's translator for remote write 2.0.
func newContribV2(shape bench.Shape, corpus *bench.Corpus) *party {
	want := corpus.Samples + shape.Targets
	return &party{
		name:    "contrib-rw2",
		samples: want,
		push: func(body []byte) error {
			tss, _, err := fromBytesV2(body)
			return expect(len(tss), want, err)
		},
		count: func(body []byte) (tally, error) {
			tss, symbols, err := fromBytesV2(body)
			n := tally{}
			for _, ts := range tss {
				n.addV2(ts, symbols.Symbols())
			}
			return n, err
		},
	}
}

func (n tally) add(ts *prompb.TimeSeries) {
	for _, l := range ts.Labels {
		if l.Name == model.MetricNameLabel {
			n[l.Value] += len(ts.Samples) + len(ts.Histograms)
		}
	}
}

func (n tally) addV2(ts *writev2.TimeSeries, symbols []string) {
	for i := 0; i < len(ts.LabelsRefs); i += 2 {
		if symbols[ts.LabelsRefs[i]] == model.MetricNameLabel {
			n[symbols[ts.LabelsRefs[i+1]]] += len(ts.Samples) + len(ts.Histograms)
		}
	}
}
