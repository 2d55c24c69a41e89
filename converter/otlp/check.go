package otlp

// What nobody will read must be whole all the same, since a torn frame ends a
// request wherever it lies. The functions here read to the bottom and keep
// nothing.

// CheckPoints finds torn frames in the points of a metric.
func CheckPoints(m *Metric) *Error {
	for l := m.Points; ; {
		b, ok := l.Next()
		if !ok {
			return nil
		}
		if err := checkPoint(m.Type, b); err != nil {
			return err
		}
	}
}

func checkPoint(t Type, b []byte) (err *Error) {
	var s Scratch
	var p Point
	switch t {
	case TypeGauge, TypeSum:
		var n Number
		err, p = ParseNumber(b, &n, &s), n.Point
	case TypeHistogram:
		var h Histogram
		err, p = ParseHistogram(b, &h, &s), h.Point
	case TypeExponentialHistogram:
		var h ExponentialHistogram
		err, p = ParseExponentialHistogram(b, &h, &s), h.Point
	case TypeSummary:
		var y Summary
		if err = ParseSummary(b, &y, &s); err == nil {
			err = checkQuantiles(y.Quantiles)
		}
		p = y.Point
	}
	if err != nil {
		return err
	}
	return CheckRest(&p)
}

func checkQuantiles(l List) *Error {
	for {
		b, ok := l.Next()
		if !ok {
			return nil
		}
		if _, _, err := ParseQuantile(b); err != nil {
			return err
		}
	}
}

// CheckRest finds torn frames in a point's exemplars and attributes.
func CheckRest(p *Point) *Error {
	if err := CheckExemplars(p.Exemplars); err != nil {
		return err
	}
	return CheckAttributes(p.Attributes)
}

// CheckExemplars finds torn frames in exemplars.
func CheckExemplars(l List) *Error {
	for {
		b, ok := l.Next()
		if !ok {
			return nil
		}
		e, err := ParseExemplar(b)
		if err == nil {
			err = CheckKeyValues(e.Attributes)
		}
		if err != nil {
			return err
		}
	}
}

// CheckAttributes finds torn frames in a raw run of attributes.
func CheckAttributes(run []byte) *Error {
	for a := EachOf(run); ; {
		if _, _, ok, err := a.Next(); !ok {
			return err
		}
	}
}

// CheckKeyValues finds torn frames in a list of attributes.
func CheckKeyValues(l List) *Error {
	for {
		b, ok := l.Next()
		if !ok {
			return nil
		}
		if _, _, err := ParseKeyValue(b); err != nil {
			return err
		}
	}
}
