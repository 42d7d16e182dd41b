package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
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

const readme = "../../../README.md"

// asProgram makes this binary act as the program, with its own arguments.
const asProgram = "MAYFLY_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Execute(context.Background(), command.All(), os.Args[1:], nil, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	if err := os.Setenv("LC_ALL", "C.UTF-8"); err != nil { // commands print texts of scenes in English
		panic(err)
	}
	defer endBrowsers()
	m.Run()
}

// doc returns a page of the documentation.
func doc(t *testing.T, name string) string {
	t.Helper()
	return read(t, docFile(t, name))
}

// docFile returns the path of a page's file.
func docFile(t *testing.T, name string) string {
	t.Helper()
	for file, is := range manual.Open("").Files() {
		if is == name {
			return "../../../" + file
		}
	}
	t.Fatalf("the documentation has no page %s", name)
	return ""
}

// TestDocsCommands checks that the documentation's tables have the summaries of all commands and
// the meanings of all exit codes.
func TestDocsCommands(t *testing.T) {
	var b strings.Builder
	b.WriteString("| Command | What it does |\n| --- | --- |\n")
	for _, d := range command.All() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", d.Name, d.Summary)
	}
	b.WriteString("\n| Exit code | What it means |\n| --- | --- |\n")
	for _, e := range cli.ExitCodes() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.Code, e.Meaning)
	}
	inDocs(t, "command-line", "commands", b.String())
}

// inDocs compares a generated part of a page, between two marks; -update writes it.
func inDocs(t *testing.T, name, mark, want string) {
	t.Helper()
	begin, end := "<!-- "+mark+" -->\n", "<!-- end of "+mark+" -->"
	file := filepath.FromSlash(docFile(t, name))
	before, rest, _ := strings.Cut(doc(t, name), begin)
	got, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no place for the %s", file, mark)
	}
	if got == want {
		return
	}
	if !*update {
		t.Errorf("the table of %s in %s is out of date; go test ./cmd/mayfly/e2e -run %s -update writes it:\n%s", mark, file, t.Name(), want)
		return
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDocsCommandLines runs the examples of the command line as they are, block by block, in a
// new folder. The output of a block contains each text after "#> ".
func TestDocsCommandLines(t *testing.T) {
	t.Parallel()
	RequirePrograms(t, "bash")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := Start(t, server.Config{Store: "memory:"})
	dir := t.TempDir()
	shim := "#!/bin/sh\n" + asProgram + "=1 exec " + cli.ShellQuote(program) + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "mayfly"), []byte(shim), 0o700); err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```sh\n(.*?\n)```\n").FindAllStringSubmatch(doc(t, "command-line"), -1)
	if len(blocks) == 0 {
		t.Fatal("the page has no examples")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, block := range blocks {
		cmd := exec.CommandContext(ctx, "bash", "--norc", "-eu", "-o", "pipefail", "-c", block[1])
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "MAYFLY_SERVER="+s.Dashboard, "NO_COLOR=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, block[1], out)
		}
		for _, said := range regexp.MustCompile(`(?m)#> (.*)$`).FindAllStringSubmatch(block[1], -1) {
			if !strings.Contains(string(out), said[1]) {
				t.Errorf("the output lacks %q:\n%s\n%s", said[1], block[1], out)
			}
		}
	}
}
