package remotewrite

import "github.com/prometheus/prometheus/model/histogram"

// appendHistogram writes the content of a Histogram message. 1.0 and 2.0 have
// the same one, but for field 17, which st fills and 1.0 does not have.
//
//	oneof count      { uint64 count_int = 1; double count_float = 2; }
//	double sum = 3; sint32 schema = 4; double zero_threshold = 5;
//	oneof zero_count { uint64 zero_count_int = 6; double zero_count_float = 7; }
//	repeated BucketSpan negative_spans = 8;  repeated sint64 negative_deltas = 9;
//	repeated double negative_counts = 10;    repeated BucketSpan positive_spans = 11;
//	repeated sint64 positive_deltas = 12;    repeated double positive_counts = 13;
//	ResetHint reset_hint = 14; int64 timestamp = 15;
//	repeated double custom_values = 16;      int64 start_timestamp = 17;
func appendHistogram(dst []byte, h *histogram.Histogram, fh *histogram.FloatHistogram, st, t int64) []byte {
	if fh != nil {
		return appendFloatHistogram(dst, fh, st, t)
	}
	dst = appendUintAlways(dst, 1, h.Count)
	dst = appendDouble(dst, 3, h.Sum)
	dst = appendSint(dst, 4, int64(h.Schema))
	dst = appendDouble(dst, 5, h.ZeroThreshold)
	dst = appendUintAlways(dst, 6, h.ZeroCount)
	dst = appendSpans(dst, 8, h.NegativeSpans)
	dst = appendSints(dst, 9, h.NegativeBuckets)
	dst = appendSpans(dst, 11, h.PositiveSpans)
	dst = appendSints(dst, 12, h.PositiveBuckets)
	return appendHistogramEnd(dst, h.CounterResetHint, h.CustomValues, st, t)
}

func appendFloatHistogram(dst []byte, h *histogram.FloatHistogram, st, t int64) []byte {
	dst = appendDoubleAlways(dst, 2, h.Count)
	dst = appendDouble(dst, 3, h.Sum)
	dst = appendSint(dst, 4, int64(h.Schema))
	dst = appendDouble(dst, 5, h.ZeroThreshold)
	dst = appendDoubleAlways(dst, 7, h.ZeroCount)
	dst = appendSpans(dst, 8, h.NegativeSpans)
	dst = appendDoubles(dst, 10, h.NegativeBuckets)
	dst = appendSpans(dst, 11, h.PositiveSpans)
	dst = appendDoubles(dst, 13, h.PositiveBuckets)
	return appendHistogramEnd(dst, h.CounterResetHint, h.CustomValues, st, t)
}

func appendHistogramEnd(dst []byte, hint histogram.CounterResetHint, custom []float64, st, t int64) []byte {
	// The hints have the numbers of the enum: unknown, yes, no, gauge.
	dst = appendUint(dst, 14, uint64(hint))
	dst = appendInt(dst, 15, t)
	dst = appendDoubles(dst, 16, custom)
	return appendInt(dst, 17, st)
}

func appendSpans(dst []byte, field uint32, spans []histogram.Span) []byte {
	for _, s := range spans {
		var start int
		dst, start = open(dst, field)
		dst = appendSint(dst, 1, int64(s.Offset))
		dst = appendUint(dst, 2, uint64(s.Length))
		dst = shut(dst, start)
	}
	return dst
}
