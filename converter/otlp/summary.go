package otlp

import "math"

// Summary is a SummaryDataPoint.
//
//	fixed64 start_time_unix_nano = 2;
//	fixed64 time_unix_nano = 3;
//	fixed64 count = 4;
//	double sum = 5;
//	repeated ValueAtQuantile quantile_values = 6;
//	repeated KeyValue attributes = 7;
//	uint32 flags = 8;
type Summary struct {
	Point
	Count     uint64
	Sum       float64
	Quantiles List
}

// ParseSummary reads one point of a summary into p.
func ParseSummary(b []byte, p *Summary, s *Scratch) *Error {
	const message = "SummaryDataPoint"
	*p = Summary{}
	p.Quantiles = listOf(6)
	var attributes run
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return fault(message, torn, b, tag)
		}
		want := uint8(wireFixed64)
		switch f.num {
		case 2, 3, 4, 5:
		case 6, 7:
			want = wireBytes
		case 8:
			want = wireVarint
		default:
			continue
		}
		if f.typ != want {
			return fault(message, wrongType, b, tag)
		}
		switch f.num {
		case 2:
			p.StartNs = f.val
		case 3:
			p.TimeNs = f.val
		case 4:
			p.Count = f.val
		case 5:
			p.Sum = math.Float64frombits(f.val)
		case 6:
			p.Quantiles.add(b, tag)
		case 7:
			attributes.add(b, tag, i, &s.attributes)
		case 8:
			p.Flags = Flags(f.val)
		}
	}
	p.Attributes = attributes.bytes()
	return nil
}

// ParseQuantile reads one child of Summary.Quantiles.
//
//	double quantile = 1;
//	double value = 2;
func ParseQuantile(b []byte) (quantile, value float64, err *Error) {
	var f field
	for i := 0; i < len(b); {
		tag := i
		if i = next(b, i, &f); i < 0 {
			return 0, 0, fault("ValueAtQuantile", torn, b, tag)
		}
		if f.num <= 2 && f.typ != wireFixed64 {
			return 0, 0, fault("ValueAtQuantile", wrongType, b, tag)
		}
		switch f.num {
		case 1:
			quantile = math.Float64frombits(f.val)
		case 2:
			value = math.Float64frombits(f.val)
		}
	}
	return quantile, value, nil
}
