package main

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
)

const readme = "../../README.md"

// asProgram has this binary be the program, with its own arguments.
const asProgram = "MAYFLY_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(execute(context.Background(), os.Args[1:], nil, streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
	}
	if err := os.Setenv("LC_ALL", "C.UTF-8"); err != nil { // commands tell tests of scenes in English
		panic(err)
	}
	defer endBrowsers()
	m.Run()
}

// chapter is a part of the README, without its heading.
func chapter(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(readme))
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("the README has no chapter %s", heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	return part
}

// The README's table of commands is what the descriptions say.
func TestReadmeCommands(t *testing.T) {
	var b strings.Builder
	b.WriteString("| Command | What it does |\n| --- | --- |\n")
	for _, d := range commands() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", d.name, d.summary)
	}
	b.WriteString("\n| Exit code | What it means |\n| --- | --- |\n")
	for _, e := range exits() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.meaning)
	}
	inReadme(t, "commands", b.String())
}

// What the README leads to is there.
func TestReadmeLinks(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash(readme))
	if err != nil {
		t.Fatal(err)
	}
	chapters := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllSubmatch(text, -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(string(m[1])), "")
		chapters[strings.ReplaceAll(plain, " ", "-")] = true
	}
	for _, m := range regexp.MustCompile(`\]\(([^) ]+)\)|(?:src|srcset)="([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
		to := m[1] + m[2]
		if name, ok := strings.CutPrefix(to, "#"); ok {
			if !chapters[name] {
				t.Errorf("the README has no chapter %s", to)
			}
		} else if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(to))); err != nil && !strings.Contains(to, "://") {
			t.Errorf("the README leads to %s: %v", to, err)
		}
	}
}

// inReadme is what the README says between two marks, which is made: -update writes
// it.
func inReadme(t *testing.T, mark, want string) {
	t.Helper()
	begin, end := "<!-- "+mark+" -->\n", "<!-- end of "+mark+" -->"
	raw, err := os.ReadFile(filepath.FromSlash(readme))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(raw), begin)
	said, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("the README has no place for the %s", mark)
	}
	if said == want {
		return
	}
	if !*update {
		t.Errorf("the README's table of %s is not this; go test ./cmd/mayfly -run %s -update writes it:\n%s", mark, t.Name(), want)
		return
	}
	if err := os.WriteFile(filepath.FromSlash(readme), []byte(before+begin+want+end+after), 0o644); err != nil { //nolint:gosec // a file of the tree
		t.Fatal(err)
	}
}

// TestReadmeCommandLines runs the lines of the README as they stand there, block
// by block, in a folder of their own. What a line is said to print, after # and a
// greater-than sign, it prints.
func TestReadmeCommandLines(t *testing.T) {
	t.Parallel()
	needs(t, "bash")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := serving(t, Config{Store: "memory:"})
	dir := t.TempDir()
	shim := "#!/bin/sh\n" + asProgram + "=1 exec " + quoted(program) + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "mayfly"), []byte(shim), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```sh\n(.*?\n)```\n").FindAllStringSubmatch(chapter(t, "The command line"), -1)
	if len(blocks) == 0 {
		t.Fatal("the README has no lines")
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
				t.Errorf("nothing printed %q:\n%s\n%s", said[1], block[1], out)
			}
		}
	}
}
