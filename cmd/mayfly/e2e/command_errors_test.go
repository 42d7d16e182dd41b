package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

// TestComplaintsAsProblems checks that with --json a failing command prints exactly one problem
// document on standard error: the server's, or else one of its own.
func TestComplaintsAsProblems(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	if _, said, code := RunCommand(t, "", "send", "there", "x", "--create"); code != cli.ExitOK {
		t.Fatal(said)
	}
	for name, tc := range map[string]struct {
		args    []string
		exit    int
		code    string
		status  int
		details string
	}{
		"no entity":    {[]string{"peek", "nowhere", "--json"}, cli.ExitNotFound, "MessagingEntityNotFound", 404, "could not be found"},
		"there is one": {[]string{"entities", "create", "--json", "queue", "there"}, cli.ExitRefused, "MessagingEntityAlreadyExists", 409, "there"},
		"a wrong flag": {[]string{"peek", "q", "--json", "--bogus"}, cli.ExitUsage, "Usage", 0, "unknown flag --bogus; see mayfly peek --help."},
		"no server":    {[]string{"peek", "q", "--json", "--server", "http://127.0.0.1:1"}, cli.ExitUnreachable, "Unreachable", 0, "Http://127.0.0.1:1 does not answer"},
		"nothing":      {[]string{"peek", "there", "--from", "9", "--json", "--fail-empty"}, cli.ExitEmpty, "Empty", 0, "No message was found."},
	} {
		out, said, code := RunCommand(t, "", tc.args...)
		var p api.Problem
		if err := json.Unmarshal([]byte(said), &p); err != nil || code != tc.exit || p.Code != tc.code || p.Status != tc.status || p.Type != "about:blank" ||
			p.Title == "" || !strings.Contains(strings.ToLower(p.Detail), strings.ToLower(tc.details)) || strings.Count(said, "\n") != 1 || out != "" {
			t.Errorf("%s: got %d %q %q %v", name, code, out, said, err)
		}
	}
}

// TestInterrupted checks that a signal ends a waiting command with cli.ExitInterrupted and without
// an error message.
func TestInterrupted(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	if _, said, code := RunCommand(t, "", "send", "q", "one", "--create"); code != cli.ExitOK {
		t.Fatal(said)
	}
	for _, args := range [][]string{{"peek", "q", "--follow"}, {"receive", "q", "--wait", "1m", "--sequence-number", "1"}} {
		ctx, stop := context.WithCancelCause(t.Context())
		out, said := &once{line: make(chan string, 1)}, &once{line: make(chan string, 1)}
		ended := make(chan int, 1)
		if args[0] == "receive" {
			stop(cli.ErrStopped)
		}
		go func() {
			ended <- cli.Execute(ctx, command.All(), args, nil, cli.Streams{In: strings.NewReader(""), Out: out, Err: said})
		}()
		if args[0] == "peek" {
			<-out.line
		}
		stop(cli.ErrStopped)
		if code := <-ended; code != cli.ExitInterrupted || len(said.line) > 0 {
			t.Errorf("%q: got %d, and %d lines on standard error", args, code, len(said.line))
		}
	}
}
