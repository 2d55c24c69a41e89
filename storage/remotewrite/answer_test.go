package remotewrite

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage"
)

func TestJudge(t *testing.T) {
	headers := written{any: true}
	for _, tc := range []struct {
		answer answer
		v2, v1 verdict
	}{
		{answer{status: 200}, unknown, accepted},
		{answer{status: 204, written: headers}, accepted, accepted},
		{answer{status: 299}, unknown, accepted},
		{answer{status: 415}, unknown, misconfigured},
		{answer{status: 415, written: headers}, unknown, misconfigured},
		{answer{status: 400}, doubtful, refused},
		{answer{status: 400, written: headers}, refused, refused},
		{answer{status: 409}, refused, refused},
		{answer{status: 422}, refused, refused},
		{answer{status: 413}, tooLarge, tooLarge},
		{answer{status: 429}, throttled, throttled},
		{answer{status: 500}, unavailable, unavailable},
		{answer{status: 503, written: headers}, unavailable, unavailable},
		{answer{status: 529}, unavailable, unavailable},
		{answer{err: errors.New("refused")}, unavailable, unavailable},
		{answer{status: 401}, misconfigured, misconfigured},
		{answer{status: 403}, misconfigured, misconfigured},
		{answer{status: 404}, misconfigured, misconfigured},
		{answer{status: 405}, misconfigured, misconfigured},
		{answer{status: 408}, misconfigured, misconfigured},
		{answer{status: 451}, misconfigured, misconfigured},
		{answer{status: 302}, misconfigured, misconfigured},
	} {
		require.Equal(t, tc.v2, tc.answer.judge(true), "2.0 %v", tc.answer)
		require.Equal(t, tc.v1, tc.answer.judge(false), "1.0 %v", tc.answer)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"":                              0,
		"2":                             2 * time.Second,
		" 2 ":                           2 * time.Second,
		"-5":                            0,
		"999999999999":                  maxRetryAfter,
		"99999999999999999999999999":    0,
		"1.5":                           0,
		"soon":                          0,
		"Sat, 01 Aug 2026 12:00:07 GMT": 7 * time.Second,
		"Sat, 01 Aug 2026 11:00:00 GMT": 0,
		"Sun, 01 Aug 2027 11:00:00 GMT": maxRetryAfter,
	} {
		require.Equal(t, want, parseRetryAfter(v, now), v)
	}
}

func TestWrittenHeaders(t *testing.T) {
	const p = "X-Prometheus-Remote-Write-"
	require.Equal(t, written{}, parseWritten(http.Header{}))
	h := http.Header{}
	h.Set(p+"Samples-Written", "nonsense")
	require.Equal(t, written{}, parseWritten(h), "what is no number is as if it were not there")
	h.Set(p+"Histograms-Written", "-1")
	require.False(t, parseWritten(h).any)
	h.Set(p+"Exemplars-Written", "0")
	require.Equal(t, written{any: true}, parseWritten(h))
	h.Set(p+"Samples-Written", "3")
	require.Equal(t, written{samples: 3, any: true}, parseWritten(h))
}

func TestExcerpt(t *testing.T) {
	require.Equal(t, "out of  order", excerpt([]byte("out of\r\norder\x00\x1b\xff\n")))
	require.Len(t, excerpt([]byte(strings.Repeat("x", 10_000))), maxExcerpt)
}

func TestRefuse(t *testing.T) {
	var rows []Row
	for _, n := range []int{5, 3, 4, 4, 9} {
		rows = append(rows, Row{Sample: &Sample{N: n}})
	}
	require.Equal(t, []storage.Refusal{
		{First: 3, Last: 5, Count: 3, Reason: "r"}, {First: 9, Last: 9, Count: 1, Reason: "r"},
	}, refuse(nil, rows, "r"))
	require.Equal(t, []storage.Refusal{{First: 3, Last: 9, Count: 2, Reason: "r"}}, refuseSome(nil, rows, 2, "r"))
	require.Equal(t, []storage.Refusal{{First: 3, Last: 9, Count: 4, Reason: "r"}}, refuseSome(nil, rows, 5, "r"), "never more appends than there are")
}

func TestMergeRefusals(t *testing.T) {
	one := func(first, last, count int) storage.Refusal {
		return storage.Refusal{First: first, Last: last, Count: count}
	}
	type list = []storage.Refusal
	for name, tc := range map[string]struct {
		parties []list
		want    list
	}{
		"apart":                          {[]list{{one(5, 6, 2), one(0, 1, 1)}}, list{one(0, 1, 1), one(5, 6, 2)}},
		"two shards interleaved":         {[]list{{one(0, 4, 1), one(1, 5, 2)}}, list{one(0, 5, 3)}},
		"the same at two destinations":   {[]list{{one(2, 3, 2)}, {one(2, 3, 2)}}, list{one(2, 3, 2)}},
		"others at another destination":  {[]list{{one(2, 3, 2)}, {one(3, 4, 2)}}, list{one(2, 4, 3)}},
		"exact ones in a vague range":    {[]list{{one(2, 2, 1), one(4, 4, 1)}, {one(0, 9, 1)}}, list{one(0, 9, 2)}},
		"never more than the range":      {[]list{{one(0, 1, 2), one(0, 1, 2)}}, list{one(0, 1, 2)}},
		"ranges that touch stay as told": {[]list{{one(0, 1, 2), one(2, 3, 1)}}, list{one(0, 1, 2), one(2, 3, 1)}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, MergeRefusals(tc.parties...)) })
	}
}
