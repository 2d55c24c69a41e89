package promapi_test

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage/local/promapi"
)

// TestClientGolang asks every endpoint through Prometheus's own Go client.
func TestClientGolang(t *testing.T) {
	f := serve(t, promapi.Options{Build: promapi.Build{Revision: "abc"}})
	client, err := api.NewClient(api.Config{Address: f.url})
	require.NoError(t, err)
	c := v1.NewAPI(client)
	ctx := t.Context()

	value, warnings, infos, err := c.Query(ctx, `requests_total{code="200"}`, now, v1.WithLimit(5), v1.WithTimeout(time.Minute))
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Empty(t, infos)
	vector := value.(model.Vector)
	require.Len(t, vector, 1)
	require.Equal(t, model.SampleValue(240), vector[0].Value)
	require.Equal(t, model.TimeFromUnix(now.Unix()), vector[0].Timestamp)

	value, _, _, err = c.Query(ctx, `latency_seconds`, now)
	require.NoError(t, err)
	h := value.(model.Vector)[0].Histogram
	require.Equal(t, model.FloatString(15), h.Count)
	require.Len(t, h.Buckets, 2)

	value, _, _, err = c.Query(ctx, `scalar(vector(2))`, now)
	require.NoError(t, err)
	require.Equal(t, model.SampleValue(2), value.(*model.Scalar).Value)
	value, _, _, err = c.QueryRange(ctx, `requests_total`, v1.Range{Start: now.Add(-4 * time.Minute), End: now, Step: time.Minute})
	require.NoError(t, err)
	matrix := value.(model.Matrix)
	require.Len(t, matrix, 2)
	require.Len(t, matrix[0].Values, 5)

	_, _, _, err = c.Query(ctx, `sum(`, now)
	var apiErr *v1.Error
	require.ErrorAs(t, err, &apiErr)
	require.Equal(t, v1.ErrBadData, apiErr.Type)

	series, _, _, err := c.Series(ctx, []string{`{job="shop"}`}, time.Time{}, time.Time{})
	require.NoError(t, err)
	require.Len(t, series, 5)
	series, _, _, err = c.Series(ctx, []string{`{job="shop"}`}, time.Unix(math.MinInt64/1000, 0), time.Unix(math.MaxInt64/1000, 0))
	require.NoError(t, err)
	require.Len(t, series, 5)

	names, _, _, err := c.LabelNames(ctx, []string{`requests_total`}, now.Add(-time.Hour), now)
	require.NoError(t, err)
	require.Equal(t, model.LabelNames{"__name__", "code", "job"}, names)
	values, _, _, err := c.LabelValues(ctx, "code", nil, now.Add(-time.Hour), now)
	require.NoError(t, err)
	require.Equal(t, model.LabelValues{"200", "500"}, values)

	meta, err := c.Metadata(ctx, "", "10")
	require.NoError(t, err)
	require.Equal(t, []v1.Metadata{{Type: v1.MetricTypeCounter, Help: "Requests."}}, meta["requests"])

	exemplars, err := c.QueryExemplars(ctx, `old_bucket`, now.Add(-time.Hour), now)
	require.NoError(t, err)
	require.Len(t, exemplars, 1)
	require.Equal(t, model.SampleValue(0.75), exemplars[0].Exemplars[0].Value)
	require.Equal(t, model.LabelSet{"trace_id": "f00"}, exemplars[0].Exemplars[0].Labels)
	require.Equal(t, now.Add(-time.Second), exemplars[0].Exemplars[0].Timestamp.Time().UTC())

	build, err := c.Buildinfo(ctx)
	require.NoError(t, err)
	require.Equal(t, "abc", build.Revision)
	require.Regexp(t, `^3\.\d+\.\d+$`, build.Version)
	require.NotEmpty(t, build.GoVersion)

	rules, err := c.Rules(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, rules.Groups)
	alerts, err := c.Alerts(ctx)
	require.NoError(t, err)
	require.Empty(t, alerts.Alerts)

	text, err := c.FormatQuery(ctx, `sum(a)by(b)`)
	require.NoError(t, err)
	require.Equal(t, `"sum by (b) (a)"`, text, "the client returns the JSON string")

	client.(api.CloseIdler).CloseIdleConnections()
}
