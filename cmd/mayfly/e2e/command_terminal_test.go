package e2e

import (
	"bytes"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/server"
	"mayfly/views/component"
)

// TestCommandsOnATerminal checks that no command prints control sequences from a message.
func TestCommandsOnATerminal(t *testing.T) {
	const bad = "x\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u2066\u200b\x9b"
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	run := func(may string, args ...string) {
		t.Helper()
		var out, err bytes.Buffer
		cli.Execute(t.Context(), command.All(), args, nil, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err, Terminal: cli.Terminal{Out: true, Err: true, Size: func() (int, int) { return 200, 50 }}})
		for _, text := range []string{out.String(), err.String()} {
			text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\x1b[K", ""), may, "")
			if i := strings.IndexFunc(text, component.IsInvisible); i >= 0 {
				t.Errorf("%q writes %q", args, text[max(0, i-20):min(len(text), i+20)])
			}
		}
		if out.Len()+err.Len() == 0 {
			t.Errorf("%q prints nothing", args)
		}
	}
	for _, args := range [][]string{
		{"entities", "create", "queue", "q"}, {"entities", "create", "queue", "s", "RequiresSession=true"},
		{"send", "q", bad, "--subject", bad, "--message-id", bad, "-p", bad + "=" + bad, "--content-type", bad, "--correlation-id", bad, "--reply-to", bad},
		{"send", "s", bad, "--session", bad}, {"send", "q", "--json", bad},
		{"peek", "q"}, {"peek", "q", "--json"}, {"peek", "q", "--filter", bad}, {"search", "subject:x*"}, {"search", "--json", "subject:x*"}, {"search", bad},
		{"watch", "--once"}, {"watch", "--json", "--once"}, {"entities", "list"}, {"entities", "show", bad}, {"peek", bad}, {"send", bad, "x"},
		{"templates", "set", bad, "--body", bad}, {"templates"}, {"views"}, {"jobs"}, {"alerts"}, {"scenes"}, {"export", "q"}, {"receive", "q"}, {"receive", "q", "--json"}, {"receive", "s", "--session", bad}, {"receive", "s", "--any-session"}, {bad}, {"--" + bad},
	} {
		run("\x00none", args...)
	}
}
