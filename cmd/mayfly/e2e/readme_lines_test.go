package e2e

import (
	"context"
	"os"
	"os/exec"
	slashpath "path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/manual"
	"mayfly/cmd/mayfly/server"
)

// A block is a fenced block of a page, or of README.
type block struct{ page, language, text string }

// blocks returns the blocks of README and of all pages, in the order of their list.
func blocks(t *testing.T) (all []block) {
	t.Helper()
	raw, err := os.ReadFile(filepath.FromSlash(readme))
	if err != nil {
		t.Fatal(err)
	}
	all = blocksOf("README", string(raw))
	var last []block
	for _, g := range manual.Open("").Groups() {
		for _, p := range g.Pages {
			name := slashpath.Base(p.Href)
			switch name {
			case "semantics": // rules, not instructions
			case "test-suite": // deletes everything
				last = blocksOf(name, doc(t, name))
			default:
				all = append(all, blocksOf(name, doc(t, name))...)
			}
		}
	}
	return append(all, last...)
}

func blocksOf(name, text string) (all []block) {
	in, b := false, block{page: name}
	for line := range strings.Lines(text) {
		fence, isFence := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "```")
		switch {
		case isFence && in:
			all, in, b.text = append(all, b), false, ""
		case isFence:
			in, b.language = true, fence
		case in:
			b.text += line
		}
	}
	return all
}

// onlyShown returns the blocks that no test runs as they are, by their beginnings, with the
// reason.
func onlyShown() map[string]string {
	return map[string]string{
		"Endpoint=sb://localhost;":      "a connection string, which the tests of the SDKs use",
		"go run ./cmd/mayfly":           "what whoever runs this test has done",
		"> db.messages.":                "a shell of MongoDB",
		"docker build":                  "a container",
		"go test ./cmd/mayfly/e2e -run": "a benchmark of half an hour",
		"go run ./cmd/livebench":        "measurements of minutes, and of an hour",
		"go -C cmd/brokerbench run .":   "a benchmark of several brokers",
		"MAYFLY_TEST_MONGO=":            "a benchmark of a MongoDB",
		"MAYFLY_LONG=1 go test":         "all tests, this one among them",
		"bash .ci/run":                  "all tests, this one among them",
	}
}

// aboutNothing returns the pages whose blocks may refer to something that does not exist when
// they run, and then get an error that names it.
func aboutNothing() map[string]bool {
	return map[string]bool{"connected-clients": true, "jobs": true, "message-sessions": true, "topic-rules": true, "access-keys": true, "first-minute": true, "rest": true, "json-api": true,
		"connect-go": true, "connect-python": true, "connect-javascript": true, "connect-java": true, "connect-dotnet": true}
}

var serverLine = regexp.MustCompile(`(?m)^(?:\$ )?mayfly .*$`)

// TestDocsShellLines runs the shell commands of README and all pages from top to bottom, in one
// folder and against one server. Every request gets a response, which may be that its entity does
// not exist. Of commands that start a server or use a store, only the flags are parsed. Other
// blocks need an entry with the reason.
func TestDocsShellLines(t *testing.T) {
	t.Parallel()
	RequirePrograms(t, "bash", "curl")
	s := Start(t, server.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "mayfly.db"), AllowReset: true})
	for _, queue := range []string{"orders", "copies"} {
		if code, text := Request(t, "POST", s.Dashboard+"/api/v1/send/"+queue+"?create=queue", `[{},{},{},{}]`); code != 201 {
			t.Fatal(code, text)
		}
	}
	dir := t.TempDir()
	// The shim runs curl and keeps the response's status, and its lock if there is one.
	const shim = `set -u
curl() {
	command curl -sS -D headers -o body -w '%{http_code}' "$@" > status || return
	echo "$(cat status) $*" | tr '\n' ' ' >> asked; echo >> asked
	if grep -qi '^location:' headers; then location=$(sed -n 's/^[Ll]ocation: *//p' headers | tr -d '\r'); fi
	cat body
}
`
	prelude := shim + "api=" + s.Dashboard + "/api/v1; admin=" + s.Admin + "; location=\n"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ran, read := 0, 0
	left := onlyShown()
	for _, b := range blocks(t) {
		if b.language != "" && b.language != "sh" || b.page == "command-line" && b.language == "sh" { // TestDocsCommandLines runs them
			continue
		}
		switch first, _, _ := strings.Cut(b.text, "\n"); {
		case serverLine.MatchString(first):
			for _, line := range serverLine.FindAllString(b.text, -1) {
				read++
				flagsOf(t, ctx, dir, strings.TrimPrefix(line, "$ "))
			}
		case strings.HasPrefix(first, "curl ") || strings.HasPrefix(first, "api="):
			text := strings.NewReplacer(`"lockToken":"…"`, `"lockToken":"00000100-0000-0004-313a-c2f254f78bd3"`, "http://127.0.0.1:8080", s.Dashboard, "http://127.0.0.1:5300", s.Admin).Replace(b.text)
			if err := os.WriteFile(filepath.Join(dir, "asked"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(ctx, "bash", "--norc", "-c", prelude+text)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s\n%s", b.page, err, text, out)
			}
			asked, err := os.ReadFile(filepath.Join(dir, "asked"))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(b.text, "curl "); n != strings.Count("\n"+string(asked), "\n"+"2")+strings.Count("\n"+string(asked), "\n4") {
				t.Errorf("%s: of %d lines these got a response:\n%s\n%s", b.page, n, asked, out)
			}
			for line := range strings.Lines(string(asked)) {
				ran++
				if line[0] == '2' || aboutNothing()[b.page] && (strings.HasPrefix(line, "404") || strings.HasPrefix(line, "409") || strings.HasPrefix(line, "410")) && !strings.Contains(string(out), "NoSuchAddress") {
					continue
				}
				t.Errorf("%s: %s%s", b.page, line, out)
			}
		default:
			why := ""
			for begins := range left {
				if strings.HasPrefix(first, begins) {
					why = begins
				}
			}
			if why == "" {
				t.Errorf("%s: no test runs this block, and onlyShown lacks a reason:\n%s", b.page, b.text)
			}
		}
	}
	if ran < 25 || read < 6 {
		t.Errorf("%d lines were run, and the flags of %d were parsed", ran, read)
	}
}

// flagsOf parses the arguments of each call of the program in a shell line, without running it,
// and returns the number of calls.
func flagsOf(t *testing.T, ctx context.Context, dir, line string) int {
	t.Helper()
	for _, name := range regexp.MustCompile(`< (\S+)`).FindAllStringSubmatch(line, -1) {
		if err := os.WriteFile(filepath.Join(dir, name[1]), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	calls := filepath.Join(dir, "calls")
	if err := os.WriteFile(calls, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "bash", "--norc", "-c", "mayfly() { local words; words=$(printf '%s\\x1f' \"$@\"); echo \"$words\" >> calls; }; "+line) // one write per call, for pipes with two calls
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	if err := os.MkdirAll(filepath.Join(dir, ".config/fish/completions"), 0o700); err != nil { // an example writes there
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v %s", line, err, out)
	}
	raw, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if len(raw) == 0 {
		return 0
	}
	for _, call := range all {
		words := strings.FieldsFunc(call, func(r rune) bool { return r == '\x1f' })
		if _, err := cli.ParserFor(ctx, cli.Streams{}, command.All(), words).Parse(words); err != nil {
			t.Errorf("%s: %q: %v", line, words, err)
		}
	}
	return len(all)
}

// TestExamplesAreUnderstood checks that bash and the parser of flags accept each example of the
// help.
func TestExamplesAreUnderstood(t *testing.T) {
	t.Parallel()
	RequirePrograms(t, "bash")
	for _, d := range command.All() {
		for _, e := range d.Examples {
			if flagsOf(t, t.Context(), t.TempDir(), e.Line) == 0 {
				t.Errorf("%s: %s is not a command line of this program", d.Name, e.Line)
			}
		}
	}
}
