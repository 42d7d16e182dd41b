package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what help and pictures of the terminal are to testdata, and the table of commands to the README")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, -want +got:\n%s\nIf that is as it should be: go test ./cmd/mayfly -run %s -update", file, diff, t.Name())
	}
}

// nodes are all commands, and commands of commands.
func nodes(t *testing.T) (all []*kong.Node) {
	t.Helper()
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, child := range n.Children {
			all = append(all, child)
			visit(child)
		}
	}
	visit(parser(t.Context(), streams{}).Model.Node)
	return all
}

func TestHelpOfEachCommand(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("COLUMNS", "100")
	for _, n := range nodes(t) {
		args := append(strings.Fields(n.Path()), "--help")
		out, said, code := typed(t, "", args...)
		if code != exitOK || said != "" {
			t.Errorf("%q: got %d %q", args, code, said)
		}
		golden(t, "help/"+strings.ReplaceAll(n.Path(), " ", "-")+".txt", out)
	}
	out, _, _ := typed(t, "", "--help")
	golden(t, "help/mayfly.txt", out)
}

// What is said of a command is complete: a sentence, examples that the command
// line understands, and exit codes that there are.
func TestDescriptions(t *testing.T) {
	for _, d := range commands() {
		if !strings.HasSuffix(d.summary, ".") || len(d.examples) == 0 {
			t.Errorf("%s: %q, %d examples", d.name, d.summary, len(d.examples))
		}
		for _, e := range d.examples {
			if !strings.Contains(e.line, "mayfly") || !strings.HasSuffix(e.what, ".") {
				t.Errorf("%s: %q %q", d.name, e.line, e.what)
			}
		}
		for _, code := range d.ends {
			if code <= exitUsage || !strings.Contains(d.after(), " "+string(rune('0'+code))+"  ") {
				t.Errorf("%s ends with %d, which is not said:\n%s", d.name, code, d.after())
			}
		}
	}
	for _, n := range nodes(t) {
		if !strings.HasSuffix(n.Help, ".") {
			t.Errorf("%s: %q", n.Path(), n.Help)
		}
		for _, f := range n.Flags {
			if !strings.HasSuffix(f.Help, ".") {
				t.Errorf("%s --%s: %q", n.Path(), f.Name, f.Help)
			}
		}
	}
}
