package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/storage/storagetest"
)

func about(name, family, help string) storagetest.Sample {
	return storagetest.Sample{
		Labels: named(name), T: time.Now().UnixMilli(), V: 1, MetricFamilyName: family,
		Metadata: metadata.Metadata{Type: model.MetricTypeCounter, Help: help, Unit: "s"},
	}
}

func TestMetadata(t *testing.T) {
	dir := t.TempDir()
	b := open(t, Options{Dir: dir})
	put(t, b, about("x_total", "", "X."), about("h_bucket", "h", "H."), about("h_count", "h", "H."), storagetest.Sample{Labels: named("none"), T: time.Now().UnixMilli()})

	x := begin(t, b)
	x.add(about("y", "", "Never committed."))
	require.NoError(t, x.Rollback())

	want := map[string]metadata.Metadata{
		"x_total": {Type: model.MetricTypeCounter, Help: "X.", Unit: "s"},
		"h":       {Type: model.MetricTypeCounter, Help: "H.", Unit: "s"},
	}
	require.Equal(t, want, b.Metadata(""))
	require.Len(t, b.Metadata("h"), 1)
	require.Empty(t, b.Metadata("y"))

	put(t, b, about("x_total", "", "X, better."))
	require.Equal(t, "X, better.", b.Metadata("")["x_total"].Help)

	require.NoError(t, b.Close(t.Context()))
	again := open(t, Options{Dir: dir})
	require.Equal(t, b.Metadata(""), again.Metadata(""))
}

func TestMetadataKeepsNoMemoryOfTheCaller(t *testing.T) {
	b := open(t, Options{})
	name := []byte("family")
	x := begin(t, b)
	_, err := x.Append(0, named("a"), 0, 1, 1, nil, nil, promstorage.AppendV2Options{
		MetricFamilyName: unsafe.String(&name[0], len(name)),
		Metadata:         metadata.Metadata{Type: model.MetricTypeGauge},
	})
	require.NoError(t, err)
	copy(name, "XXXXXX")
	x.commit()
	require.Contains(t, b.Metadata(""), "family")
}

func TestMetadataIsBounded(t *testing.T) {
	b := open(t, Options{MaxMetadata: 2})
	put(t, b, about("a", "", strings.Repeat("é", maxHelp)), about("b", "", ""), about("c", "", ""))
	put(t, b, about("b", "", "Known families still change."), about("d", "", ""))
	got := b.Metadata("")
	require.Len(t, got, 2)
	require.Equal(t, strings.Repeat("é", maxHelp/2), got["a"].Help)
	require.Equal(t, "Known families still change.", got["b"].Help)
}

func TestMetadataBytesAreBounded(t *testing.T) {
	c := openCatalog(Options{Dir: t.TempDir(), MaxMetadata: 10}, quiet, newMetrics(nil))
	require.True(t, c.put(family{Metric: "a", Help: strings.Repeat("x", maxCatalogBytes-2)}))
	require.False(t, c.put(family{Metric: "b", Help: "xx"}))
	require.True(t, c.put(family{Metric: "a", Help: "short"}))
	require.True(t, c.put(family{Metric: "b", Help: "xx"}))
	require.Equal(t, len("a")+len("short")+len("b")+len("xx"), c.bytes)
}

func TestMetadataFileThatIsBroken(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, catalogFile), []byte(`{"metric":"a","type":"gauge"}`+"\n{torn"), 0o600))
	b := open(t, Options{Dir: dir})
	require.Equal(t, map[string]metadata.Metadata{"a": {Type: model.MetricTypeGauge}}, b.Metadata(""))
	put(t, b, about("b", "", ""))
	require.NoError(t, b.Close(t.Context()))
	files, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	require.NoError(t, err)
	require.Empty(t, files)
	require.Len(t, open(t, Options{Dir: dir}).Metadata(""), 2)
}
