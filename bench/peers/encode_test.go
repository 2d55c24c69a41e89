package peers

import (
	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/otlpgw/otlpgw/bench"
)

// newEncoder returns the translator and what the exporter does next, with
// buffers that are reused: marshal and compress.
func newEncoder(shape bench.Shape, corpus *bench.Corpus) *party {
	want := corpus.Samples + shape.Targets
	request := &prompb.WriteRequest{}
	var raw, block []byte
	push := func(body []byte) error {
		tss, err := fromBytes(body)
		if err := expect(len(tss), want, err); err != nil {
			return err
		}
		request.Timeseries = request.Timeseries[:0]
		for _, ts := range tss {
			request.Timeseries = append(request.Timeseries, *ts)
		}
		raw, block, err = encode(request, raw, block)
		return err
	}
	return &party{
		name: "contrib-rw1", samples: want, push: push,
		count: func(body []byte) (tally, error) {
			if err := push(body); err != nil {
				return nil, err
			}
			var sent prompb.WriteRequest
			if err := decode(block, &sent); err != nil {
				return nil, err
			}
			n := tally{}
			for i := range sent.Timeseries {
				n.add(&sent.Timeseries[i])
			}
			return n, nil
		},
		sent: func() int { return len(block) },
	}
}

// newEncoderV2 is newEncoder for remote write 2.0.
func newEncoderV2(shape bench.Shape, corpus *bench.Corpus) *party {
	want := corpus.Samples + shape.Targets
	request := &writev2.Request{}
	var raw, block []byte
	push := func(body []byte) error {
		tss, symbols, err := fromBytesV2(body)
		if err := expect(len(tss), want, err); err != nil {
			return err
		}
		request.Timeseries, request.Symbols = request.Timeseries[:0], symbols.Symbols()
		for _, ts := range tss {
			request.Timeseries = append(request.Timeseries, *ts)
		}
		raw, block, err = encode(request, raw, block)
		return err
	}
	return &party{
		name: "contrib-rw2", samples: want, push: push,
		count: func(body []byte) (tally, error) {
			if err := push(body); err != nil {
				return nil, err
			}
			var sent writev2.Request
			if err := decode(block, &sent); err != nil {
				return nil, err
			}
			n := tally{}
			for i := range sent.Timeseries {
				n.addV2(&sent.Timeseries[i], sent.Symbols)
			}
			return n, nil
		},
		sent: func() int { return len(block) },
	}
}

// message is a generated one.
type message interface {
	Size() int
	MarshalToSizedBuffer(to []byte) (int, error)
	Unmarshal(from []byte) error
}

// encode marshals into raw and compresses into block, which are grown if need
// be and returned.
func encode(m message, raw, block []byte) (_, _ []byte, err error) {
	size := m.Size()
	if cap(raw) < size {
		raw = make([]byte, size)
	}
	raw = raw[:size]
	if _, err := m.MarshalToSizedBuffer(raw); err != nil {
		return raw, block, err
	}
	return raw, snappy.Encode(block[:cap(block)], raw), nil
}

func decode(block []byte, m message) error {
	raw, err := snappy.Decode(nil, block)
	if err != nil {
		return err
	}
	return m.Unmarshal(raw)
}
