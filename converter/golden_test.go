package converter_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"golang.org/x/tools/txtar"

	"github.com/otlpgw/otlpgw/converter"
	"github.com/otlpgw/otlpgw/converter/convertertest"
	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/storage"
	"github.com/otlpgw/otlpgw/storage/storagetest"
)

var rewrite = flag.Bool("rewrite", false, "renew the expected parts of testdata/*.txtar; read the diff")

// A golden file is a story in txtar form. Its comment tells the scene and the
// rule. Its name begins with the verdict:
//
//	ok_       every point accepted
//	partial_  some points rejected
//	reject_   every point rejected, or the body refused
//	retry_    a transaction fails, and a later request of the story delivers
//
// Its parts are
//
//	options    settings in YAML, see settings
//	request    a request, see convertertest.Request; or
//	metrics    the metrics of service shop, instance a1, see convertertest.Metrics
//	clock      the gateway's clock from now on, in ms after the epoch
//	peer       the sender's address
//	commit     how the backend's commit fails: unavailable, throttled or refused
//	series     what the backend then got, see storagetest.Text
//	metadata   the families' metadata; not compared where the part is missing
//	report     "points N", "rejected N", and lines of "message", "once" and
//	           "error" with a text that the message or the error contains; once
//	           is for warnings that need not come again. Lines of "conflict" are
//	           what Pipeline.Conflicts lists more than before, and of "counted"
//	           the changes of data that no client is told of; both are compared
//	           the first time only
//
// Stories of several requests number the parts from the second on: request2,
// series2, and so on.
type golden struct {
	path    string
	archive *txtar.Archive
	steps   []*step
	opts    settings
	verdict string
}

type step struct {
	suffix  string
	request *colmetricspb.ExportMetricsServiceRequest
	clockMs int64 // 0 for no change
	peer    string
	commit  string
	want    result
	// hasMetadata says that metadata is compared.
	hasMetadata bool
	report      report
}

// report is what a report part says.
type report struct {
	points, rejected       int
	messages, once, errors []string
	conflicts, counted     []string
}

func readGolden(t testing.TB, path string) *golden {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	require.NoError(t, err)
	g := &golden{path: path, archive: archive}
	g.verdict, _, _ = strings.Cut(filepath.Base(path), "_")
	g.opts = readSettings(t, g.part("options"))
	for n := 1; ; n++ {
		s := &step{}
		if n > 1 {
			s.suffix = fmt.Sprint(n)
		}
		switch {
		case g.part("request"+s.suffix) != nil:
			s.request, err = convertertest.Request(string(g.part("request" + s.suffix)))
		case g.part("metrics"+s.suffix) != nil:
			s.request, err = convertertest.Metrics(string(g.part("metrics" + s.suffix)))
		default:
			require.NotEmpty(t, g.steps, "%s has no request", path)
			return g
		}
		require.NoError(t, err, "%s, request%s", path, s.suffix)
		if clock := g.part("clock" + s.suffix); clock != nil {
			_, err := fmt.Sscan(string(clock), &s.clockMs)
			require.NoError(t, err, "%s, clock%s", path, s.suffix)
		}
		s.peer = strings.TrimSpace(string(g.part("peer" + s.suffix)))
		s.commit = strings.TrimSpace(string(g.part("commit" + s.suffix)))
		s.hasMetadata = g.part("metadata"+s.suffix) != nil
		s.want = result{series: string(g.part("series" + s.suffix)), metadata: string(g.part("metadata" + s.suffix))}
		if !s.hasMetadata {
			s.want.metadata = ""
		}
		s.report = readReport(t, string(g.part("report"+s.suffix)))
		g.steps = append(g.steps, s)
	}
}

// part returns the file of that name, nil if there is none.
func (g *golden) part(name string) []byte {
	for _, f := range g.archive.Files {
		if f.Name == name {
			return append([]byte{}, f.Data...)
		}
	}
	return nil
}

func readReport(t testing.TB, text string) report {
	t.Helper()
	var r report
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		var err error
		switch word {
		case "points":
			_, err = fmt.Sscan(rest, &r.points)
		case "rejected":
			_, err = fmt.Sscan(rest, &r.rejected)
		case "message":
			r.messages = append(r.messages, rest)
		case "once":
			r.once = append(r.once, rest)
		case "error":
			r.errors = append(r.errors, rest)
		case "conflict":
			r.conflicts = append(r.conflicts, rest)
		case "counted":
			r.counted = append(r.counted, rest)
		default:
			err = fmt.Errorf("what is %q", line)
		}
		require.NoError(t, err)
	}
	return r
}

func (r report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "points %d\nrejected %d\n", r.points, r.rejected)
	for _, m := range r.messages {
		fmt.Fprintf(&b, "message %s\n", m)
	}
	for _, m := range r.once {
		fmt.Fprintf(&b, "once %s\n", m)
	}
	for _, e := range r.errors {
		fmt.Fprintf(&b, "error %s\n", e)
	}
	for _, c := range r.conflicts {
		fmt.Fprintf(&b, "conflict %s\n", c)
	}
	for _, c := range r.counted {
		fmt.Fprintf(&b, "counted %s\n", c)
	}
	return b.String()
}

// commitError is what a commit part means.
func commitError(t testing.TB, text string) error {
	t.Helper()
	cause := errors.New("the far end is at lunch")
	switch text {
	case "":
		return nil
	case "unavailable":
		return storage.Unavailable(cause, time.Second)
	case "throttled":
		return &storage.Error{Kind: storage.KindThrottled, RetryAfter: time.Second, Err: cause}
	}
	var r storage.Refusal
	_, err := fmt.Sscanf(text, "refused %d-%d", &r.First, &r.Last)
	require.NoError(t, err, "commit part %q", text)
	r.Count, r.Reason = r.Last-r.First+1, "the far end does not like it"
	return &storage.Error{Kind: storage.KindRefused, Refused: []storage.Refusal{r}, Err: cause}
}

// play runs the story with every time shiftMs later, and compares, or with
// renew takes what comes as what is wanted.
func (g *golden) play(t *testing.T, b *bench, e convertertest.Encoding, shift time.Duration, renew bool) {
	t.Helper()
	b.nowMs.Store(g.opts.NowMs + shift.Milliseconds())
	rejected, points, failed := 0, 0, false
	for _, s := range g.steps {
		got, err := s.play(t, b, e, shift, renew)
		rejected, points, failed = rejected+got.Rejected, points+got.Points, failed || err != nil
	}
	switch g.verdict {
	case "ok":
		require.False(t, failed)
		require.Zero(t, rejected)
	case "partial":
		require.False(t, failed)
		require.Positive(t, rejected)
		require.Less(t, rejected, points)
	case "reject":
		require.True(t, failed || rejected == points && points > 0, "rejected %d of %d points", rejected, points)
	case "retry":
		require.True(t, failed)
	default:
		require.Failf(t, "file name", "%s is no verdict", g.verdict)
	}
}

// play sends one request of a story.
func (s *step) play(t *testing.T, b *bench, e convertertest.Encoding, shift time.Duration, renew bool) (converter.Report, error) {
	t.Helper()
	body, err := e.Encode(convertertest.Shift(s.request, shift))
	require.NoError(t, err)
	if s.clockMs != 0 {
		b.nowMs.Store(s.clockMs + shift.Milliseconds())
	}
	if err := commitError(t, s.commit); err != nil {
		b.rec.FailCommit(err)
	}
	b.peer = s.peer
	known := conflictCounts(b)
	got, err := b.push(body, e.JSON)
	checkOrder(t, b.rec.InOrder())
	stored := b.take(t, shift.Milliseconds())
	if !s.hasMetadata {
		stored.metadata = ""
	}
	if renew {
		s.want = stored
		s.report.conflicts, s.report.counted = newConflicts(b, known), b.told.reasons()
		if err == nil {
			s.report.points, s.report.rejected = got.Points, got.Rejected
		}
	}
	require.Equal(t, s.want.series, stored.series, "series%s", s.suffix)
	require.Equal(t, s.want.metadata, stored.metadata, "metadata%s", s.suffix)
	if err == nil {
		require.Equal(t, s.report.points, got.Points, "points in report%s: %s", s.suffix, got.Message)
		require.Equal(t, s.report.rejected, got.Rejected, "rejected in report%s: %s", s.suffix, got.Message)
	}
	s.checkWords(t, got, err, shift == 0)
	if b.told != nil && shift == 0 {
		require.Equal(t, s.report.conflicts, newConflicts(b, known), "conflicts in report%s", s.suffix)
		require.Equal(t, s.report.counted, b.told.reasons(), "counted in report%s", s.suffix)
	}
	if b.told != nil && err == nil {
		require.Equal(t, got.Rejected, b.told.rejected, "OnVerdict in report%s", s.suffix)
	}
	return got, err
}

// conflictCounts returns how often each conflict was seen, by kind and series.
func conflictCounts(b *bench) map[string]int {
	counts := make(map[string]int)
	for _, c := range b.line.Conflicts() {
		counts[c.Kind+" "+c.Series] += c.Count
	}
	return counts
}

// newConflicts returns the conflicts that were seen since known was counted.
func newConflicts(b *bench, known map[string]int) []string {
	var lines []string
	for line, n := range conflictCounts(b) {
		if n > known[line] {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// checkOrder asserts that the samples of each series were appended in time
// order, and one at most for each time.
func checkOrder(t *testing.T, appended []storagetest.Sample) {
	t.Helper()
	last := make(map[string]int64)
	for _, s := range appended {
		key := s.Labels.String()
		if at, ok := last[key]; ok {
			require.Greater(t, s.T, at, "order of %s", key)
		}
		last[key] = s.T
	}
}

// checkWords compares the message and the error with what they must contain,
// the first time or again.
func (s *step) checkWords(t *testing.T, got converter.Report, err error, first bool) {
	t.Helper()
	require.LessOrEqual(t, len(got.Message), converter.MaxMessage)
	want := s.report.messages
	if first || got.Message != "" {
		want = append(want, s.report.once...)
	}
	if len(want) == 0 {
		require.Empty(t, got.Message, "message in report%s", s.suffix)
	}
	for _, m := range want {
		require.Contains(t, got.Message, m, "message in report%s", s.suffix)
	}
	if len(s.report.errors) == 0 {
		require.NoError(t, err, "error in report%s", s.suffix)
	}
	for _, e := range s.report.errors {
		require.ErrorContains(t, err, e, "error in report%s", s.suffix)
	}
}

// renew writes what came back into the file.
func (g *golden) renew(t *testing.T) {
	t.Helper()
	set := func(name, data string) {
		for i := range g.archive.Files {
			if g.archive.Files[i].Name == name {
				g.archive.Files[i].Data = []byte(data)
				return
			}
		}
		g.archive.Files = append(g.archive.Files, txtar.File{Name: name, Data: []byte(data)})
	}
	for _, s := range g.steps {
		set("series"+s.suffix, s.want.series)
		if s.hasMetadata {
			set("metadata"+s.suffix, s.want.metadata)
		}
		set("report"+s.suffix, s.report.String())
	}
	require.NoError(t, os.WriteFile(g.path, txtar.Format(g.archive), 0o644))
}

// TestGolden plays every story with every encoding through a pipeline that has
// seen nothing, then an hour later through the same pipeline, which then
// answers from its cache, and through one that has just served strangers.
// Stories that need no memory also go through one whose cache has no room.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			g := readGolden(t, path)
			if *rewrite {
				g.play(t, newListeningBench(t, g.opts), convertertest.Encodings(1)[0], 0, true)
				g.renew(t)
			}
			runs := []string{"cold", "warm", "warmer"}
			if g.opts.Once {
				runs = runs[:1]
			}
			for _, e := range convertertest.Encodings(1) {
				t.Run(e.Name, func(t *testing.T) {
					b := newListeningBench(t, g.opts)
					for i, run := range runs {
						ok := t.Run(run, func(t *testing.T) { g.play(t, b, e, time.Duration(i)*time.Hour, false) })
						if !ok {
							return
						}
					}
					t.Run("dirty", func(t *testing.T) { g.playDirty(t, e) })
					if len(g.steps) == 1 && !g.opts.NeedsMemory {
						t.Run("full", func(t *testing.T) { g.playFull(t, e, len(runs) > 1) })
					}
				})
			}
		})
	}
}

// playFull runs the story through a pipeline that can remember nothing.
func (g *golden) playFull(t *testing.T, e convertertest.Encoding, again bool) {
	for _, cache := range []series.Options{{MaxBytes: 1}, {MaxSeries: 1}} {
		b := newBench(t, g.opts, func(o *converter.Options) { o.Cache = cache })
		g.play(t, b, e, 0, false)
		if again {
			g.play(t, b, e, time.Hour, false)
		}
	}
}

// playDirty runs the story right after another sender's requests. Where series
// are limited, the other sender is another tenant's.
func (g *golden) playDirty(t *testing.T, e convertertest.Encoding) {
	b := newBench(t, g.opts)
	if l := g.opts.Limits; l.MaxActiveSeries > 0 || l.MaxSeriesPerMetric > 0 {
		b.tenant = "strangers"
	}
	strangers := convertertest.NewWorld(7, 1000)
	for range 3 {
		_, err := b.push(convertertest.Split(strangers.Request(), 7), false)
		require.NoError(t, err)
	}
	b.take(t, 0)
	b.tenant = ""
	g.play(t, b, e, 0, false)
}
