package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"mayfly/engine/longtest"
)

// A language is a language in which a program of a single file can be run.
type language struct {
	name    string // the name of its installed SDK; "go" is that of this module
	file    string // the name that the program's file needs
	json    bool   // its SDK sends a text as JSON
	command func(t *testing.T, dir, file string) *exec.Cmd
}

// languages returns the languages that can be run here, by their usual names.
func languages() map[string]language {
	return map[string]language{
		"Go": {name: "go", file: "main.go", command: func(_ *testing.T, _, file string) *exec.Cmd {
			return exec.Command("go", "run", file)
		}},
		"Python": {name: "python", file: "script.py", command: func(t *testing.T, _, file string) *exec.Cmd {
			t.Helper()
			return exec.Command(python(t), file)
		}},
		"JavaScript": {name: "javascript", file: "script.mjs", json: true, command: func(t *testing.T, dir, file string) *exec.Cmd {
			t.Helper()
			withModules(t, dir)
			return exec.Command("node", file)
		}},
		"Java": {name: "java", file: "Sample.java", command: func(t *testing.T, dir, file string) *exec.Cmd {
			t.Helper()
			return exec.Command("java", "-XX:TieredStopAtLevel=1", "-cp", classes(t, dir), file)
		}},
	}
}

// installed skips a test if the language's SDK is not installed. Go's is always installed, but
// building a program with it takes long.
func (l language) installed(t *testing.T) {
	t.Helper()
	if l.name == "go" {
		longtest.Require(t, "programs in Go")
		return
	}
	installed(t, l.name)
}

// run runs a program, which has to succeed, and returns its output. The connection string in its
// environment is for s.
func (l language) run(t *testing.T, s *served, program string) (out string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, l.file)
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var wrote, said Output
	cmd := l.command(t, dir, file)
	cmd.Env = append(cmd.Environ(), "SERVICEBUS="+s.connection())
	cmd.Stdout, cmd.Stderr = &wrote, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) //nolint:errcheck // otherwise it has ended by itself
	defer stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s%s\nof\n%s", err, &wrote, &said, program)
	}
	return wrote.String()
}
