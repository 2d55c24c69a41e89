package otlp

// Type is which of Metric's data fields is set: its field number.
type Type uint8

// The five metric types of OTLP, and none.
const (
	TypeNone                 Type = 0
	TypeGauge                Type = 5
	TypeSum                  Type = 7
	TypeHistogram            Type = 9
	TypeExponentialHistogram Type = 10
	TypeSummary              Type = 11
)

// Temporality is AggregationTemporality.
type Temporality uint8

// The temporalities of OTLP. Other numbers are as invalid as Unspecified.
const (
	Unspecified Temporality = 0
	Delta       Temporality = 1
	Cumulative  Temporality = 2
)

// Metric is a metric's header and its points.
//
//	string name = 1;
//	string description = 2;
//	string unit = 3;
//	oneof data {
//	  Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9;
//	  ExponentialHistogram exponential_histogram = 10; Summary summary = 11;
//	}
//	repeated KeyValue metadata = 12;
type Metric struct {
	Name, Description, Unit []byte
	Type                    Type
	Temporality             Temporality
	Monotonic               bool
	Metadata                List
	Points                  List
}

// ParseMetric reads one child of ScopeMetrics.Metrics into m, and the header of
// its data.
func ParseMetric(b []byte, m *Metric) *Error {
	*m = Metric{Metadata: listOf(12)}
	var data []byte
	for i := 0; i < len(b); {
		tag := i
		var num uint32
		var from, to int
		if b[i] < 0x80 && b[i]&7 == wireBytes && b[i] != wireBytes {
			num = uint32(b[i] >> 3)
			if from, to = content(b, i+1); to < 0 {
				return fault("Metric", torn, b, tag)
			}
			i = to
		} else {
			var f field
			if i = next(b, i, &f); i < 0 {
				return fault("Metric", torn, b, tag)
			}
			switch f.num {
			case 1, 2, 3, 5, 7, 9, 10, 11, 12:
				if f.typ != wireBytes {
					return fault("Metric", wrongType, b, tag)
				}
			}
			num, from, to = f.num, f.from, f.to
		}
		switch num {
		case 1:
			m.Name = b[from:to:to]
		case 2:
			m.Description = b[from:to:to]
		case 3:
			m.Unit = b[from:to:to]
		case 12:
			m.Metadata.add(b, tag)
		case 5, 7, 9, 10, 11: // Of a oneof, the last on the wire counts.
			if m.Type != TypeNone {
				// The one that does not count must be whole all the same.
				err := parseData(data, m)
				if err == nil {
					err = CheckPoints(m)
				}
				if err != nil {
					return err
				}
			}
			m.Type, data = Type(num), b[from:to:to]
		}
	}
	if m.Type == TypeNone {
		return nil
	}
	return parseData(data, m)
}

// parseData reads the header of Gauge, Sum, Histogram, ExponentialHistogram or
// Summary. Their fields agree.
//
//	repeated …DataPoint data_points = 1;
//	AggregationTemporality aggregation_temporality = 2;
//	bool is_monotonic = 3;
func parseData(b []byte, m *Metric) *Error {
	m.Points = listOf(1)
	m.Temporality, m.Monotonic = Unspecified, false
	known := uint32(1)
	switch m.Type {
	case TypeSum:
		known = 3
	case TypeHistogram, TypeExponentialHistogram:
		known = 2
	}
	var f field
	for i := 0; i < len(b); {
		tag := i
		if b[i] == 1<<3|wireBytes {
			if _, i = content(b, i+1); i < 0 {
				return fault(m.Type.String(), torn, b, tag)
			}
			m.Points.add(b, tag)
			continue
		}
		if i = next(b, i, &f); i < 0 {
			return fault(m.Type.String(), torn, b, tag)
		}
		if f.num > known {
			continue
		}
		want := uint8(wireVarint)
		if f.num == 1 {
			want = wireBytes
		}
		if f.typ != want {
			return fault(m.Type.String(), wrongType, b, tag)
		}
		switch f.num {
		case 1:
			m.Points.add(b, tag)
		case 2:
			m.Temporality = Unspecified
			if t := int32(uint32(f.val)); t == int32(Delta) || t == int32(Cumulative) {
				m.Temporality = Temporality(t)
			}
		case 3:
			m.Monotonic = f.val != 0
		}
	}
	return nil
}

// String returns the name of the protobuf message.
func (t Type) String() string {
	switch t {
	case TypeGauge:
		return "Gauge"
	case TypeSum:
		return "Sum"
	case TypeHistogram:
		return "Histogram"
	case TypeExponentialHistogram:
		return "ExponentialHistogram"
	case TypeSummary:
		return "Summary"
	}
	return "no data"
}
