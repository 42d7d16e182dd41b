package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
)

func completionScript(t *testing.T, shell string) string {
	t.Helper()
	out, said, code := RunCommand(t, "", "completion", shell)
	if code != cli.ExitOK || said != "" {
		t.Fatalf("%s: %d %q", shell, code, said)
	}
	return out
}

func TestCompletionKnowsEachFlag(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := completionScript(t, shell)
		for _, n := range nodes(t) {
			if !strings.Contains(script, n.Path()) {
				t.Errorf("%s: no completion of %s", shell, n.Path())
			}
			for _, f := range n.Flags {
				want := "--" + f.Name
				if shell == "fish" {
					want = "'__mayfly_at " + n.Path() + "' -l " + f.Name + " "
				}
				if !strings.Contains(script, want) {
					t.Errorf("%s: no completion of %s --%s", shell, n.Path(), f.Name)
				}
			}
		}
	}
}

// TestCompletionInBash checks which words the script completes in bash. Entities' names come from a
// fake program mayfly, and are not executed even if they contain shell commands.
func TestCompletionInBash(t *testing.T) {
	RequirePrograms(t, "bash")
	dir := t.TempDir()
	file := filepath.Join(dir, "completion.bash")
	if err := os.WriteFile(file, []byte(completionScript(t, "bash")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "bash", "-n", file).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	program := "#!/bin/sh\n[ \"$*\" = 'entities list --names' ] && printf 'orders\\norders/Subscriptions/$(touch " + dir + "/hacked)\\nprices\\n'\n"
	if err := os.WriteFile(filepath.Join(dir, "mayfly"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string][]string{
		"mayfly ":                             {"serve", "send", "peek", "entities", "completion"},
		"mayfly rec":                          {"receive"},
		"mayfly --sa":                         {"--sas", "--sas-key"},
		"mayfly receive q --then d":           {"defer", "dead-letter"},
		"mayfly receive q --th":               {"--then"},
		"mayfly entities ":                    {"list", "show", "create"},
		"mayfly entities cr":                  {"create"},
		"mayfly entities create ":             {"queue", "topic", "subscription"},
		"mayfly peek or":                      {"orders", "orders/Subscriptions/$(touch " + dir + "/hacked)"},
		"mayfly entities delete pr":           {"prices"},
		"mayfly peek --server send --f":       {"--fail-empty", "--from", "--follow"},
		"mayfly send orders --property x --c": {"--correlation-id", "--content-type", "--count", "--create"},
		"mayfly completion ":                  {"bash", "zsh", "fish"},
	} {
		words := strings.Split(line, " ")
		script := "source " + cli.ShellQuote(file) + "; COMP_WORDS=("
		for _, w := range words {
			script += cli.ShellQuote(w) + " "
		}
		script += `); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _mayfly; printf '%s\n' "${COMPREPLY[@]}"`
		cmd := exec.CommandContext(t.Context(), "bash", "--norc", "-c", script)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		for _, w := range want {
			if err != nil || !slices.Contains(got, w) || strings.HasSuffix(line, "r") && len(got) != len(want) {
				t.Errorf("%q: got %q %v, want %q", line, got, err, want)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "hacked")); err == nil {
		t.Error("the shell executed a name as a command")
	}
}
