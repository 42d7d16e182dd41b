package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A block is lines of the README between fences.
type block struct{ chapter, language, text string }

func blocks(t *testing.T) (all []block) {
	t.Helper()
	raw, err := os.ReadFile(filepath.FromSlash(readme))
	if err != nil {
		t.Fatal(err)
	}
	in, b := false, block{}
	for line := range strings.Lines(string(raw)) {
		fence, isFence := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "```")
		switch heading, ok := strings.CutPrefix(line, "## "); {
		case isFence && in:
			all, in, b.text = append(all, b), false, ""
		case isFence:
			in, b.language = true, fence
		case in:
			b.text += line
		case ok:
			b.chapter = strings.TrimSpace(heading)
		}
	}
	return all
}

// onlyShown are the blocks that no test runs as they stand there, by what they begin
// with, and why.
func onlyShown() map[string]string {
	return map[string]string{
		"Endpoint=sb://localhost;":    "a connection string, which the tests of the SDKs use",
		"go run ./cmd/mayfly":         "what whoever runs this test has done",
		"> db.messages.":              "a shell of MongoDB",
		"docker build":                "a container",
		"go test ./cmd/mayfly -run":   "a benchmark of half an hour",
		"go run ./cmd/livebench":      "measurements of minutes, and of an hour",
		"go -C cmd/brokerbench run .": "a benchmark of several brokers",
		"MAYFLY_TEST_MONGO=":          "a benchmark of a MongoDB",
		"bash .ci/run":                "all tests, this one among them",
	}
}

// aboutNothing are blocks that speak of what is not there when they are run: they
// are answered that it is not.
func aboutNothing() map[string]bool {
	return map[string]bool{"Who is connected": true, "Many messages at once": true, "Topics, rules and sessions": true, "Access": true, "The first minute": true, "One script for each language": true}
}

var serverLine = regexp.MustCompile(`(?m)^(?:\$ )?mayfly .*$`)

// TestReadmeShellLines runs the lines for the shell of the README from its top to its
// end, in one folder and against one server: each request is answered, and no
// worse than that what it is about is not there. Of lines that begin a server or work
// on a store the flags are read. A block that is none of these says why.
func TestReadmeShellLines(t *testing.T) {
	needs(t, "bash", "curl")
	s := serving(t, Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "mayfly.db"), AllowReset: true})
	for _, queue := range []string{"orders", "copies"} {
		if code, text := request(t, "POST", s.Dashboard+"/api/v1/send/"+queue+"?create=queue", `[{},{},{},{}]`); code != 201 {
			t.Fatal(code, text)
		}
	}
	dir := t.TempDir()
	// What curl is answered goes on as it would; the status, and the lock if there is
	// one, are kept.
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
		if b.language != "" && b.language != "sh" || b.chapter == "The command line" && b.language == "sh" { // which TestReadmeCommandLines runs
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
				t.Errorf("%s: %v\n%s\n%s", b.chapter, err, text, out)
			}
			asked, err := os.ReadFile(filepath.Join(dir, "asked"))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(b.text, "curl "); n != strings.Count("\n"+string(asked), "\n"+"2")+strings.Count("\n"+string(asked), "\n4") {
				t.Errorf("%s: of %d lines these were answered:\n%s\n%s", b.chapter, n, asked, out)
			}
			for line := range strings.Lines(string(asked)) {
				ran++
				if line[0] == '2' || aboutNothing()[b.chapter] && (strings.HasPrefix(line, "404") || strings.HasPrefix(line, "409") || strings.HasPrefix(line, "410")) && !strings.Contains(string(out), "NoSuchAddress") {
					continue
				}
				t.Errorf("%s: %s%s", b.chapter, line, out)
			}
		default:
			why := ""
			for begins := range left {
				if strings.HasPrefix(first, begins) {
					why = begins
				}
			}
			if why == "" {
				t.Errorf("%s: nothing runs this, and nobody says why:\n%s", b.chapter, b.text)
			}
		}
	}
	if ran < 25 || read < 6 {
		t.Errorf("%d lines were run, and of %d the flags were read", ran, read)
	}
}

// flagsOf reads the words of each call of the program in a line, as a shell would
// have it, and runs none. It returns how many there are.
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
	cmd := exec.CommandContext(ctx, "bash", "--norc", "-c", "mayfly() { local words; words=$(printf '%s\\x1f' \"$@\"); echo \"$words\" >> calls; }; "+line) // in one piece, for two of a pipe
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	if err := os.MkdirAll(filepath.Join(dir, ".config/fish/completions"), 0o700); err != nil { // where an example writes
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
		if _, err := parser(ctx, streams{}).Parse(words); err != nil {
			t.Errorf("%s: %q: %v", line, words, err)
		}
	}
	return len(all)
}

// TestExamplesAreUnderstood reads the examples that help has, as somebody would type
// them.
func TestExamplesAreUnderstood(t *testing.T) {
	t.Parallel()
	needs(t, "bash")
	for _, d := range commands() {
		for _, e := range d.examples {
			if flagsOf(t, t.Context(), t.TempDir(), e.line) == 0 {
				t.Errorf("%s: %s is no line of this program", d.name, e.line)
			}
		}
	}
}
