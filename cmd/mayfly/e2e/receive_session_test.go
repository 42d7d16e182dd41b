package e2e

import (
	"net/http"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
)

func TestReceiveFromSessions(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	if code, text := PostJSON(t, s.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"chats","properties":{"RequiresSession":true,"LockDuration":"PT5S"}}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	step := func(code int, want, complaint string, args ...string) string {
		t.Helper()
		out, said, got := RunCommand(t, "", args...)
		if got != code || !strings.Contains(out, want) || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %q %q, want %d %q %q", args, got, out, said, code, want, complaint)
		}
		return out
	}
	step(cli.ExitOK, "There is no session", "", "receive", "chats", "--next-session") // SES-3
	step(cli.ExitOK, `{"messages":[]}`, "", "receive", "chats", "--next-session", "--json")
	for _, m := range [][2]string{{"anna", "one"}, {"anna", "two"}, {"bert", "three"}, {"", "four"}} {
		step(cli.ExitOK, "Sent 1 message", "", "send", "chats", m[1], "--session-id", m[0])
	}
	step(cli.ExitRefused, "", "Name the session with --session ID, or use --next-session", "receive", "chats") // SES-13
	step(cli.ExitUsage, "", "--session", "receive", "chats", "--session", "anna", "--next-session")
	step(cli.ExitOK, `session "bert"`, "", "receive", "chats", "--session", "bert")
	step(cli.ExitOK, `session ""`, "", "receive", "chats", "--session", "") // SES-1
	step(cli.ExitOK, "No message was found.", "", "receive", "chats", "--session", "bert")

	// The session is released each time, and its messages are settled.
	step(cli.ExitOK, "#1  session \"anna\"", "", "receive", "chats", "--next-session", "--then", "defer")
	step(cli.ExitOK, "one", "", "receive", "chats", "--session", "anna", "--sequence-number", "1")
	step(cli.ExitNotFound, "", "Failed to lock", "receive", "chats", "--session", "anna", "--sequence-number", "1")
	if out := step(cli.ExitOK, "two", "", "receive", "chats", "--session", "anna", "--then", "abandon", "--json"); !strings.HasPrefix(out, `{"messages":[{`) {
		t.Errorf("got %q", out)
	}
	step(cli.ExitOK, "lock token ", `session "anna" stays locked`, "receive", "chats", "--next-session", "--then", "nothing")
	step(cli.ExitRefused, "", "locked", "receive", "chats", "--session", "anna")
	step(cli.ExitOK, "There is no session", "", "receive", "chats", "--next-session", "--wait", "10ms")
}
