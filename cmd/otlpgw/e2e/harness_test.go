package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otlpgw/otlpgw/pool"
)

// patience is how long a test waits for what must come; it decides nothing
// else.
const patience = time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(curlEnv) != "" {
		os.Exit(curl(os.Args[1:], os.Stdout, os.Stderr))
	}
	code := m.Run()
	if dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

var dir string // of the binary, once it is built

// binary builds the command, in the way that this test was built.
var binary = sync.OnceValues(func() (string, error) {
	var err error
	if dir, err = os.MkdirTemp("", "otlpgw-e2e-"); err != nil {
		return "", err
	}
	if err := noteSources(); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "otlpgw")
	args := []string{"build", "-o", path}
	if pool.Poisoned {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "github.com/otlpgw/otlpgw/cmd/otlpgw")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// noteSources looks at every source of the module. The go command caches the
// result of a test for as long as nothing that the test looked at has changed,
// and it does not see what the build looks at.
func noteSources() error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return fs.SkipDir
		case filepath.Ext(path) == ".go" || d.Name() == "go.mod":
			_, err = os.Stat(path)
		}
		return err
	})
}

// process is a running gateway.
type process struct {
	cmd    *exec.Cmd
	log    *logBuffer
	exited chan struct{}
	err    error // of Wait, once exited is closed

	http, grpc, admin string // addresses
}

// start runs the gateway on free ports and returns when it serves.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := launch(t, append([]string{
		"--http.listen-address=127.0.0.1:0", "--grpc.listen-address=127.0.0.1:0", "--admin.listen-address=127.0.0.1:0",
	}, args...)...)
	for name, addr := range map[string]*string{"http": &p.http, "grpc": &p.grpc, "admin": &p.admin} {
		m := p.waitLog(t, `msg=listening listener=`+name+` address=(\S+)`)
		*addr = m[1]
	}
	return p
}

// launch runs the gateway and returns at once.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	path, err := binary()
	require.NoError(t, err)
	p := &process{cmd: exec.Command(path, args...), log: newLogBuffer(), exited: make(chan struct{})}
	p.cmd.Dir = t.TempDir() // where ./data ends up
	p.cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1")
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	p.cmd.Stdout = p.log
	require.NoError(t, p.cmd.Start())
	go func() {
		_, _ = io.Copy(p.log, stderr)
		p.err = p.cmd.Wait()
		p.log.close()
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("otlpgw %s\n%s", strings.Join(args, " "), p.log.String())
		}
		if strings.Contains(p.log.String(), "DATA RACE") {
			t.Error("the gateway reported a data race")
		}
	})
	return p
}

// waitLog returns the groups of the first match of pattern in the log.
func (p *process) waitLog(t *testing.T, pattern string) []string {
	t.Helper()
	m, ok := p.log.wait(regexp.MustCompile(pattern), time.After(patience))
	require.True(t, ok, "no %q in the log:\n%s", pattern, p.log)
	return m
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(s))
}

// wait returns the exit code; -1 when a signal ended the process.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		require.Fail(t, "the process does not end", "%s", p.log)
	}
	return p.cmd.ProcessState.ExitCode()
}

// stop ends the process as an operator does, and expects that to work.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	require.Zero(t, p.wait(t), "%s", p.log)
}

func (p *process) url(path string) string { return "http://" + p.admin + path }

// logBuffer keeps what a process wrote and wakes who waits for more.
type logBuffer struct {
	mu     sync.Mutex
	b      bytes.Buffer
	grown  chan struct{} // closed and replaced with every write
	closed bool
}

func newLogBuffer() *logBuffer { return &logBuffer{grown: make(chan struct{})} }

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.b.Write(p)
	close(l.grown)
	l.grown = make(chan struct{})
	return n, err
}

func (l *logBuffer) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	close(l.grown)
	l.grown = make(chan struct{})
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) wait(re *regexp.Regexp, timeout <-chan time.Time) ([]string, bool) {
	for {
		l.mu.Lock()
		text, grown, closed := l.b.String(), l.grown, l.closed
		l.mu.Unlock()
		sc := bufio.NewScanner(strings.NewReader(text))
		for sc.Scan() {
			if m := re.FindStringSubmatch(sc.Text()); m != nil {
				return m, true
			}
		}
		if closed {
			return nil, false
		}
		select {
		case <-grown:
		case <-timeout:
			return nil, false
		}
	}
}

// get fetches a page and returns its status and body.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// post sends OTLP/JSON and returns the status and body.
func post(url, body string) (int, string, error) {
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

// gauge is a request with one point of a gauge.
func gauge(name, instance string, value float64) string {
	return fmt.Sprintf(`{"resourceMetrics":[{"resource":{"attributes":[
{"key":"service.name","value":{"stringValue":"shop"}},{"key":"service.instance.id","value":{"stringValue":%q}}]},
"scopeMetrics":[{"metrics":[{"name":%q,"gauge":{"dataPoints":[{"timeUnixNano":"%d","asDouble":%v}]}}]}]}]}`,
		instance, name, time.Now().UnixNano(), value)
}
