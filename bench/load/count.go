package main

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// counted is what a remote-write request holds.
type counted struct {
	// samples are floats and histograms of series that are no info metric.
	samples int
	// info are samples of target_info and otel_scope_info, which not all peers
	// make, and none for the same series.
	info int
	// exemplars and histograms are those of all series; samples or info count
	// the histograms too.
	exemplars, histograms int
}

var errTorn = errors.New("torn remote-write request")

// Field numbers of prometheus.WriteRequest and io.prometheus.write.v2.Request.
const (
	v1Timeseries, v1Label, v1Sample, v1Exemplar, v1Histogram = 1, 1, 2, 3, 4

	v2Symbol, v2Timeseries, v2Refs, v2Sample, v2Histogram, v2Exemplar = 4, 5, 1, 2, 3, 4
)

// each calls f for every length-delimited field of a message, and skips others.
func each(message []byte, f func(field protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errTorn
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(field, kind, message); n < 0 {
				return errTorn
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return errTorn
		}
		if err := f(field, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

func isInfo(name []byte) bool {
	return string(name) == "target_info" || string(name) == "otel_scope_info"
}

// countV1 counts a prometheus.WriteRequest.
func countV1(message []byte) (c counted, err error) {
	err = each(message, func(field protowire.Number, series []byte) error {
		if field != v1Timeseries {
			return nil // Metadata.
		}
		n, info := 0, false
		err := each(series, func(field protowire.Number, value []byte) error {
			switch field {
			case v1Label:
				if info {
					return nil
				}
				return each(value, func(_ protowire.Number, text []byte) error {
					info = info || isInfo(text)
					return nil
				})
			case v1Sample:
				n++
			case v1Histogram:
				n++
				c.histograms++
			case v1Exemplar:
				c.exemplars++
			}
			return nil
		})
		c.add(n, info)
		return err
	})
	return c, err
}

// countV2 counts an io.prometheus.write.v2.Request. The symbols precede the
// series, as all senders write them.
func countV2(message []byte) (c counted, err error) {
	symbols := uint64(0)
	names := map[uint64]bool{} // symbols that are names of info metrics
	err = each(message, func(field protowire.Number, value []byte) error {
		switch field {
		case v2Symbol:
			if isInfo(value) {
				names[symbols] = true
			}
			symbols++
		case v2Timeseries:
			return c.seriesV2(value, symbols, names)
		}
		return nil
	})
	return c, err
}

func (c *counted) seriesV2(series []byte, symbols uint64, names map[uint64]bool) error {
	n, info := 0, false
	err := each(series, func(field protowire.Number, value []byte) error {
		switch field {
		case v2Refs:
			for len(value) > 0 {
				ref, n := protowire.ConsumeVarint(value)
				if n < 0 {
					return errTorn
				}
				if ref >= symbols {
					return fmt.Errorf("reference %d of %d symbols", ref, symbols)
				}
				info = info || len(names) > 0 && names[ref]
				value = value[n:]
			}
		case v2Sample:
			n++
		case v2Histogram:
			n++
			c.histograms++
		case v2Exemplar:
			c.exemplars++
		}
		return nil
	})
	c.add(n, info)
	return err
}

func (c *counted) add(n int, info bool) {
	if info {
		c.info += n
	} else {
		c.samples += n
	}
}
