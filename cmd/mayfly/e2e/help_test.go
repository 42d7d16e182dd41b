package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
)

var update = flag.Bool("update", false, "write what help and pictures of the terminal are to testdata, and generated tables to the documentation")

// Golden compares a text with a file in testdata.
func Golden(t *testing.T, name, got string) {
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
		t.Errorf("%s, -want +got:\n%s\nIf this change is intended, run: go test ./cmd/mayfly/e2e -run %s -update", file, diff, t.Name())
	}
}

// nodes returns all commands and subcommands.
func nodes(t *testing.T) (all []*kong.Node) {
	t.Helper()
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, child := range n.Children {
			all = append(all, child)
			visit(child)
		}
	}
	visit(cli.Parser(t.Context(), cli.Streams{}, command.All()).Model.Node)
	return all
}

func TestHelpOfEachCommand(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("COLUMNS", "100")
	for _, n := range nodes(t) {
		args := append(strings.Fields(n.Path()), "--help")
		out, said, code := RunCommand(t, "", args...)
		if code != cli.ExitOK || said != "" {
			t.Errorf("%q: got %d %q", args, code, said)
		}
		Golden(t, "help/"+strings.ReplaceAll(n.Path(), " ", "-")+".txt", out)
	}
	out, _, _ := RunCommand(t, "", "--help")
	Golden(t, "help/mayfly.txt", out)
}

// TestDescriptions checks that the description of each command is complete: sentences, examples
// that the parser accepts, one of them for each subcommand, and known exit codes.
func TestDescriptions(t *testing.T) {
	all := nodes(t)
	for _, d := range command.All() {
		node := all[slices.IndexFunc(all, func(n *kong.Node) bool { return n.Path() == d.Name })]
		for _, sub := range node.Children {
			if len(d.ExamplesOf(sub)) == 0 {
				t.Errorf("%s has no example", sub.Path())
			}
		}
		if !strings.HasSuffix(d.Summary, ".") || len(d.Examples) == 0 {
			t.Errorf("%s: %q, %d examples", d.Name, d.Summary, len(d.Examples))
		}
		for _, e := range d.Examples {
			if !strings.Contains(e.Line, "mayfly") || !strings.HasSuffix(e.Text, ".") {
				t.Errorf("%s: %q %q", d.Name, e.Line, e.Text)
			}
		}
		for _, code := range d.ExitCodes {
			if code <= cli.ExitUsage || !strings.Contains(d.HelpFooter(node), " "+string(rune('0'+code))+"  ") {
				t.Errorf("%s ends with %d, which its help does not list:\n%s", d.Name, code, d.HelpFooter(node))
			}
		}
	}
	for _, n := range all {
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
