package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/engine/longtest"
)

// The official SDKs of Service Bus are tested with servers in their own processes. Each SDK has
// one program, in testdata/sdk, that runs all its cases with two servers and prints for each:
//
//	PASS name 12ms
//	FAIL name
//	| why, in lines
//	RESTART          asks to kill the standard server and start it again on its
//	                 ports; "ready" on the program's input confirms that
//	DONE 41          the number of cases; nothing follows
//
// testdata/sdk/install installs the SDKs in a folder: MAYFLY_SDK_DIR, else mayfly/sdk in the
// user's cache. Tests of a missing SDK are skipped, unless MAYFLY_SDKS=require; without
// MAYFLY_LONG=1 all are skipped.

// An sdk is an official SDK.
type sdk struct {
	name  string
	least int // minimum of cases
	// command returns the command that runs its program in dir: an empty folder, or a copy of the
	// folder of a client in testdata/sdk/clients.
	command func(t *testing.T, name, dir string) *exec.Cmd
}

var sdks = []sdk{
	{"python", 70, pythonSuite},
	{"javascript", 56, javascriptSuite},
	{"java", 50, javaSuite},
}

// sdkPatience is the limit for all cases of an SDK, on a busy machine.
const sdkPatience = 8 * time.Minute

func TestSDKs(t *testing.T) {
	longtest.Require(t, "the SDKs for Python, JavaScript and Java")
	t.Parallel()
	for _, k := range sdks {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			installed(t, k.name)
			dir := t.TempDir()
			standard := start(t, "--store", "sqlite:"+filepath.Join(dir, "standard.db"),
				"--limit", "min-lock=100ms", "--limit", "min-ttl=1ms", "--limit", "min-auto-delete=1s", "--limit", "min-duplicate-window=1s")
			premium := start(t, "--store", "sqlite:"+filepath.Join(dir, "premium.db"), "--profile", "premium", "--limit", "min-megabytes=1")
			cmd := k.command(t, k.name, filepath.Join(dir, "suite"))
			cmd.Env = append(cmd.Environ(), append(standard.environ("SB"), premium.environ("SB_PREMIUM")...)...)
			converse(t, k, cmd, standard)
		})
	}
}

// converse runs an SDK's program, whose cases become subtests.
func converse(t *testing.T, k sdk, cmd *exec.Cmd, standard *served) {
	ctx, cancel := context.WithTimeout(t.Context(), sdkPatience)
	defer cancel()
	var said Output
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) //nolint:errcheck // otherwise it has ended by itself
	defer stop()
	var passed int
	var failed *failure
	total := -1
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if why, ok := strings.CutPrefix(line, "| "); ok && failed != nil {
			failed.why = append(failed.why, why)
			continue
		}
		failed.tell(t)
		failed = nil
		switch verb, rest, _ := strings.Cut(line, " "); verb {
		case "PASS":
			passed++
			name := rest[:max(0, strings.LastIndex(rest, " "))] // without the duration
			t.Run(name, func(*testing.T) {})
		case "FAIL":
			failed = &failure{name: rest}
		case "RESTART":
			standard.restart(t)
			if _, err := io.WriteString(in, "ready\n"); err != nil {
				t.Error(err)
			}
		case "DONE":
			if total, err = strconv.Atoi(rest); err != nil {
				t.Error(err)
			}
		default:
			said.Add(line + "\n")
		}
	}
	failed.tell(t)
	if err := errors.Join(lines.Err(), cmd.Wait(), context.Cause(ctx)); err != nil {
		t.Errorf("the program ended: %v\n%s", err, &said)
	}
	if total < k.least || passed != total {
		t.Errorf("%d of %d cases passed, of at least %d", passed, total, k.least)
	}
	if t.Failed() {
		t.Logf("%s\nthe server:\n%s", &said, &standard.said)
	}
	fmt.Printf("%s: %d passed\n", k.name, passed)
}

// A failure is a case that failed; nil means none.
type failure struct {
	name string
	why  []string
}

func (f *failure) tell(t *testing.T) {
	if f != nil {
		t.Run(f.name, func(t *testing.T) { t.Error(strings.Join(f.why, "\n")) })
	}
}

// sdkDir returns the folder of the installed SDKs.
func sdkDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("MAYFLY_SDK_DIR"); dir != "" {
		return dir
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "mayfly", "sdk")
}

// installed skips a test whose SDK is not installed, and without MAYFLY_LONG=1.
func installed(t *testing.T, name string) {
	t.Helper()
	longtest.Require(t, "the SDK for "+name)
	if _, err := os.Stat(filepath.Join(sdkDir(t), name, "installed")); err == nil {
		return
	}
	if os.Getenv("MAYFLY_SDKS") == "require" {
		t.Fatalf("MAYFLY_SDKS=require, but the SDK is not in %s; cmd/mayfly/e2e/testdata/sdk/install puts it there", sdkDir(t))
	}
	t.Skipf("the SDK for %s is not installed; cmd/mayfly/e2e/testdata/sdk/install does that", name)
}

// layOut copies an SDK's folder in testdata to dir.
func layOut(t *testing.T, name, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "sdk", name))); err != nil {
		t.Fatal(err)
	}
}

func python(t *testing.T) string {
	t.Helper()
	return filepath.Join(sdkDir(t), "python", "venv", "bin", "python")
}

func pythonSuite(t *testing.T, _, dir string) *exec.Cmd {
	t.Helper()
	layOut(t, "python", dir)
	cmd := exec.Command(python(t), "-B", "suite.py")
	cmd.Dir = dir
	return cmd
}

// withModules links the JavaScript packages into a folder, where programs look for them.
func withModules(t *testing.T, dir string) {
	t.Helper()
	if err := os.Symlink(filepath.Join(sdkDir(t), "javascript", "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
}

func javascriptSuite(t *testing.T, _, dir string) *exec.Cmd {
	t.Helper()
	layOut(t, "javascript", dir)
	withModules(t, dir)
	cmd := exec.Command("node", "suite.mjs")
	cmd.Dir = dir
	return cmd
}

// classes returns Java's class path, with dir first.
func classes(t *testing.T, dir string) string {
	t.Helper()
	return dir + string(filepath.ListSeparator) + filepath.Join(sdkDir(t), "java", "jars", "*")
}

func javaSuite(t *testing.T, _, dir string) *exec.Cmd {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join("testdata", "sdk", "java", "suite", "*.java"))
	if err != nil {
		t.Fatal(err)
	}
	javac := exec.Command("javac", append([]string{"-d", dir, "-cp", classes(t, dir)}, sources...)...)
	if out, err := javac.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exec.Command("java", "-XX:TieredStopAtLevel=1", "-cp", classes(t, dir), "Suite")
}

// served is the program in its own process, with its arguments.
type served struct {
	*child
	args []string
	at   server.Ready
}

// start starts the program on free ports and waits until it is ready. The process is killed at
// the end of the test.
func start(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{args: args}
	s.child = spawnWith(t, append([]string{"--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--amqp", "127.0.0.1:0", "--ready-json"}, args...))
	s.ready(t)
	return s
}

func (s *served) ready(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	at, err := s.next(ctx, server.StateReady)
	if err != nil {
		t.Fatal(err)
	}
	s.at = at
}

// restart kills the server and starts it again on the same ports.
func (s *served) restart(t *testing.T) {
	t.Helper()
	s.signal(os.Kill)
	s.killed()
	host := func(url string) string { return strings.TrimPrefix(url, "http://") }
	s.child = spawnWith(t, append([]string{"--http", host(s.at.Dashboard), "--admin", host(s.at.Admin), "--amqp", s.at.AMQP, "--ready-json"}, s.args...))
	s.ready(t)
}

// call sends a request to the JSON API, whose response needs this status.
func (s *served) call(t *testing.T, status int, method, path, body string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.at.Dashboard+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		t.Fatalf("%s %s: %s %v\n%s", method, path, answer.Status, err, got)
	}
	return got
}

// create creates an entity; properties is JSON.
func (s *served) create(t *testing.T, kind, path, properties string) {
	t.Helper()
	s.call(t, http.StatusCreated, "POST", "/entities", `{"kind":"`+kind+`","path":"`+path+`","properties":`+properties+`}`)
}

// connection returns the connection string for SDKs.
func (s *served) connection() string {
	return "Endpoint=sb://" + s.at.AMQP + ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
}

// environ returns the server's addresses as environment variables for a program.
func (s *served) environ(prefix string) []string {
	return []string{prefix + "_AMQP=" + s.at.AMQP, prefix + "_ADMIN=" + s.at.Admin, prefix + "_API=" + s.at.Dashboard}
}
