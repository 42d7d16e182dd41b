package main

import (
	"net/http"
	"strings"
	"testing"
)

func TestReceiveFromSessions(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	if code, text := posted(t, s.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"chats","properties":{"RequiresSession":true,"LockDuration":"PT5S"}}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	step := func(code int, want, complaint string, args ...string) string {
		t.Helper()
		out, said, got := typed(t, "", args...)
		if got != code || !strings.Contains(out, want) || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %q %q, want %d %q %q", args, got, out, said, code, want, complaint)
		}
		return out
	}
	step(exitOK, "There is no session", "", "receive", "chats", "--next-session") // SES-3
	step(exitOK, `{"messages":[]}`, "", "receive", "chats", "--next-session", "--json")
	for _, m := range [][2]string{{"anna", "one"}, {"anna", "two"}, {"bert", "three"}, {"", "four"}} {
		step(exitOK, "Sent 1 message", "", "send", "chats", m[1], "--session-id", m[0])
	}
	step(exitRefused, "", "Name the session with --session ID, or take --next-session", "receive", "chats") // SES-13
	step(exitUsage, "", "--session", "receive", "chats", "--session", "anna", "--next-session")
	step(exitOK, `session "bert"`, "", "receive", "chats", "--session", "bert")
	step(exitOK, `session ""`, "", "receive", "chats", "--session", "") // SES-1
	step(exitOK, "There is no message.", "", "receive", "chats", "--session", "bert")

	// It is given back each time, and what was received is settled.
	step(exitOK, "#1  session \"anna\"", "", "receive", "chats", "--next-session", "--then", "defer")
	step(exitOK, "one", "", "receive", "chats", "--session", "anna", "--number", "1")
	step(exitNotFound, "", "Failed to lock", "receive", "chats", "--session", "anna", "--number", "1")
	if out := step(exitOK, "two", "", "receive", "chats", "--session", "anna", "--then", "abandon", "--json"); !strings.HasPrefix(out, `{"messages":[{`) {
		t.Errorf("got %q", out)
	}
	step(exitOK, "lock token ", `session "anna" stays taken`, "receive", "chats", "--next-session", "--then", "nothing")
	step(exitRefused, "", "locked", "receive", "chats", "--session", "anna")
	step(exitOK, "There is no session", "", "receive", "chats", "--next-session", "--wait", "10ms")
}
