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
	const begin, end = "<!-- commands -->\n", "<!-- end of commands -->"
	if *update {
		text, err := os.ReadFile(filepath.FromSlash(readme))
		if err != nil {
			t.Fatal(err)
		}
		before, rest, _ := strings.Cut(string(text), begin)
		_, after, ok := strings.Cut(rest, end)
		if !ok {
			t.Fatal("the README has no place for the commands")
		}
		if err := os.WriteFile(filepath.FromSlash(readme), []byte(before+begin+b.String()+end+after), 0o644); err != nil { //nolint:gosec // a file of the tree
			t.Fatal(err)
		}
	}
	if part := chapter(t, "The command line"); !strings.Contains(part, begin+b.String()+end) {
		t.Errorf("the README's table of commands is not this; go test ./cmd/mayfly -run %s -update writes it:\n%s", t.Name(), &b)
	}
}

// TestReadmeCommandLines runs the lines of the README as they stand there, block
// by block, in a folder of their own. What a line is said to print, after # and a
// greater-than sign, it prints.
func TestReadmeCommandLines(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
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
		cmd := exec.CommandContext(ctx, bash, "--norc", "-eu", "-o", "pipefail", "-c", block[1])
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
