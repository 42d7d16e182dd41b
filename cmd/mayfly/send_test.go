package main

import (
	"net/http"
	"testing"
)

// A duplicate is accepted and dropped (DUP-2); nobody is told that it was sent.
func TestSendTellsDuplicates(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	if code, text := posted(t, s.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"once","properties":{"RequiresDuplicateDetection":true}}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--message-id", "a"}, "Sent 1 message to once: #1.\n"},
		{[]string{"--message-id", "a"}, "Dropped 1 message as a duplicate of message id a.\n"},
		{[]string{"--message-id", "a", "--count", "2"}, "Dropped 2 messages as duplicates of message id a.\n"},
		{[]string{"--message-id", "b", "--count", "2"}, "Sent 1 message to once: #2, dropped 1 as a duplicate of message id b.\n"},
		{[]string{"--message-id", "b", "--json"}, `{"sequenceNumbers":[0],"duplicates":1}` + "\n"},
		{[]string{"--count", "2"}, "Sent 2 messages to once: #3 to #4.\n"},
	} {
		out, complaint, code := typed(t, "", append([]string{"send", "once", "x"}, tc.args...)...)
		if code != exitOK || out != tc.want {
			t.Errorf("%q: got %d %q %q, want %q", tc.args, code, out, complaint, tc.want)
		}
	}
}
