package converter

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

// field is a length-delimited field.
func field(num byte, content []byte) []byte {
	return appendField([]byte{num<<3 | 2}, content)
}

// crowdedRequest is a gauge with one point of the given fields, at second 1.
func crowdedRequest(resource, scope, point []byte) []byte {
	at := []byte{3<<3 | 1, 0, 0xca, 0x9a, 0x3b, 0, 0, 0, 0} // 1e9 ns
	value := []byte{4<<3 | 1, 0, 0, 0, 0, 0, 0, 0, 0}
	p := bytes.Join([][]byte{at, value, point}, nil)
	metric := append(field(1, []byte("crowd")), field(5, field(1, p))...)
	sm := append(field(1, scope), field(2, metric)...)
	return field(1, append(field(1, resource), field(2, sm)...))
}

// Empty attributes take two bytes on the wire. Millions of them cost the point
// they belong to, and memory in proportion to the request.
func TestCrowdedAttributes(t *testing.T) {
	const size = 4 << 20
	list := field(2, field(5, bytes.Repeat([]byte{0x0a, 0}, size/2)))
	for name, body := range map[string][]byte{
		"point":    crowdedRequest(nil, nil, bytes.Repeat([]byte{7<<3 | 2, 0}, size/2)),
		"scope":    crowdedRequest(nil, bytes.Repeat([]byte{3<<3 | 2, 0}, size/2), nil),
		"resource": crowdedRequest(bytes.Repeat([]byte{1<<3 | 2, 0}, size/2), nil, nil),
		"list":     crowdedRequest(nil, nil, field(7, append(field(1, []byte("k")), list...))),
	} {
		t.Run(name, func(t *testing.T) {
			rec := storagetest.NewRecorder()
			p, err := New(Options{Backend: rec, Now: func() time.Time { return time.Unix(2, 0) }})
			require.NoError(t, err)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			report, err := p.Push(context.Background(), Request{Body: body})
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			require.Equal(t, 1, report.Rejected)
			require.Contains(t, report.Message, "crowd")
			require.Contains(t, report.Message, "more than 16384 attributes")
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*size))
			require.Empty(t, rec.Samples())
		})
	}
}

// The backend is told of series that the cache had no room for, since nobody
// would tell it later.
func TestUncachedSeriesAreForgotten(t *testing.T) {
	rec := storagetest.NewRecorder()
	p, err := New(Options{
		Backend: rec, Now: func() time.Time { return time.Unix(2, 0) }, Cache: series.Options{MaxBytes: 1},
	})
	require.NoError(t, err)
	for range 3 {
		_, err = p.Push(context.Background(), Request{Body: crowdedRequest(nil, nil, nil)})
		require.NoError(t, err)
	}
	require.Len(t, rec.Forgotten(), 3)
}

// A long scope name is said once and repeated by every series: what the new
// series of a request take is bounded by its size, and the others are stored.
func TestLabelsOfARequestAreBounded(t *testing.T) {
	scope := field(1, bytes.Repeat([]byte("s"), 3<<20))
	var metrics []byte
	for i := range 600 {
		name := []byte{'m', byte('a' + i%26), byte('a' + i/26)}
		at := []byte{3<<3 | 1, 0, 0xca, 0x9a, 0x3b, 0, 0, 0, 0}
		p := bytes.Join([][]byte{at, {4<<3 | 1, 0, 0, 0, 0, 0, 0, 0, 0}}, nil)
		metrics = append(metrics, field(2, append(field(1, name), field(5, field(1, p))...))...)
	}
	body := field(1, field(2, append(field(1, scope), metrics...)))
	rec := storagetest.NewDiscard()
	p, err := New(Options{Backend: rec, Now: func() time.Time { return time.Unix(2, 0) }})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	report, err := p.Push(context.Background(), Request{Body: body})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Equal(t, 600, report.Points)
	require.Positive(t, report.Rejected)
	require.Less(t, report.Rejected, 600)
	require.Contains(t, report.Message, "the new series of one request take more than")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(512<<20))
}
