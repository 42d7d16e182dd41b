package e2e

import (
	"net/http"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
)

// TestSendTellsDuplicates checks that send reports duplicates as dropped and not as sent (DUP-2).
func TestSendTellsDuplicates(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	if code, text := PostJSON(t, s.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"once","properties":{"RequiresDuplicateDetection":true}}`); code != http.StatusCreated {
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
		out, complaint, code := RunCommand(t, "", append([]string{"send", "once", "x"}, tc.args...)...)
		if code != cli.ExitOK || out != tc.want {
			t.Errorf("%q: got %d %q %q, want %q", tc.args, code, out, complaint, tc.want)
		}
	}
}

// TestSendRepeats checks that send replaces placeholders with --placeholders, --repeat or a
// template, and otherwise sends them as text.
func TestSendRepeats(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	var kept any
	RequestJSON(t, s.Ready, "PUT", "/templates/late", `{"subject":"s{{n}}","body":"b{{n}}","repeat":2}`, &kept)
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"q", "{{n}}", "--create"}, cli.ExitOK, "Sent 1 message to q: #1.\n"},
		{[]string{"q", "{{n}}", "--placeholders", "--message-id", "m{{n}}", "-p", "a={{n}}", "-p", `b={"type":"int","value":"{{n+1}}"}`, "-p", "c=1.5", "--create"}, cli.ExitOK, "Sent 1 message to q: #2.\n"},
		{[]string{"q", "{{n}}", "--repeat", "3", "--every", "1h", "--at", "{{n}}s"}, cli.ExitOK, "Sent 3 messages to q: #3 to #5.\n"},
		{[]string{"q", "--template", "late"}, cli.ExitOK, "Sent 2 messages to q: #6 to #7.\n"},
		{[]string{"q", "--template", "late", "--subject", "x", "--repeat", "1", "--dry-run"}, cli.ExitOK, `"subject":"x"`},
		{[]string{"q", "x{{n}}", "--repeat", "1200"}, cli.ExitOK, "1200"},
		{[]string{"q", "{{x}}", "--repeat", "2"}, cli.ExitRefused, "The placeholder {{x}} does not exist"},
		{[]string{"q", "x", "--template", "nothing"}, cli.ExitNotFound, "The template does not exist"},
		{[]string{"q", "x", "--repeat", "100001"}, cli.ExitRefused, "1 to 100000 times"},
		{[]string{"q", "x", "--repeat", "0"}, cli.ExitUsage, "--repeat must be from 1 to 100000, not 0"},
		{[]string{"q", "--template", "late", "--repeat", "0"}, cli.ExitUsage, "not 0"},
		{[]string{"q", "x", "--repeat=-1"}, cli.ExitUsage, "not -1"},
		{[]string{"q", "x", "--repeat", "2", "--count", "2"}, cli.ExitUsage, "use --repeat"},
		{[]string{"q", "x", "--dry-run"}, cli.ExitUsage, "--dry-run requires"},
		{[]string{"q", "--jsonl", "--repeat", "2"}, cli.ExitUsage, "with --jsonl"},
	} {
		out, complaint, code := RunCommand(t, "", append([]string{"send"}, tc.args...)...)
		if code != tc.code || !strings.Contains(out+complaint, tc.want) {
			t.Errorf("%q: got %d %q %q, want %q", tc.args, code, out, complaint, tc.want)
		}
	}
	out, _, _ := RunCommand(t, "", "peek", "q", "--json")
	for i, want := range []string{`"body":"{{n}}"`, `"a":{"type":"string","value":"1"},"b":{"type":"int","value":"2"},"c":{"type":"double","value":"1.5"}},"body":"1"`} {
		if lines := strings.Split(out, "\n"); !strings.Contains(lines[i], want) {
			t.Errorf("message %d is %s, want %s", i+1, lines[i], want)
		}
	}
}
