package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
)

func TestSearchCommand(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	run := func(exit int, out, complaint string, args ...string) {
		t.Helper()
		got, said, code := RunCommand(t, "", append([]string{"search"}, args...)...)
		if code != exit || got != out && !(strings.HasPrefix(out, "{") && strings.HasPrefix(got, out)) || said != complaint && !strings.Contains(said, strings.TrimSpace(complaint)) {
			t.Errorf("%q: got %d %q %q, want %d %q %q", args, code, got, said, exit, out, complaint)
		}
	}
	for _, args := range [][]string{
		{"orders", "order 17 of anna", "--create", "--message-id", "o-1", "--subject", "new\x1b[31m", "-p", "region=eu"},
		{"orders", "order 18 of bert", "--message-id", "o-2", "-p", "region=us"},
		{"mail", "hello anna", "--create", "--message-id", "m-1"},
	} {
		if _, said, code := RunCommand(t, "", append([]string{"send"}, args...)...); code != cli.ExitOK {
			t.Fatal(said)
		}
	}
	const first = "orders  #1  active  16 bytes  id o-1  subject new·[31m\n"
	run(cli.ExitOK, first, "1 found in 3 messages\n", "prop.region:eu")
	run(cli.ExitOK, "mail  #1  active  10 bytes  id m-1\n"+first, "2 found in 3 messages\n", "body:anna")
	run(cli.ExitOK, first, "1 found in 2 messages\n", "body:anna", "--in", "orders")
	run(cli.ExitOK, first, "1 found in 3 messages\n", "body:anna", "prop.region:eu") // all must be true
	run(cli.ExitOK, "orders  #2  active  16 bytes  id o-2\n", "1 found in 2 messages\n", "--in", "orders", "--", "-body:anna")
	run(cli.ExitOK, `{"key":`, "1 found", "prop.region:eu", "--json")
	run(cli.ExitOK, "No message was found.\n", "", "prop.region:asia")
	run(cli.ExitEmpty, "", "mayfly: no message was found\n", "prop.region:asia", "--fail-empty")
	run(cli.ExitRefused, "", "mayfly: ", "json.:")
	run(cli.ExitUsage, "", "mayfly: ", "x", "--limit", "many")
	run(cli.ExitUnreachable, "", "does not answer", "x", "--server", "http://127.0.0.1:1")

	got, said, code := RunCommand(t, "", "search", "body:anna", "--limit", "1")
	_, mark, more := strings.Cut(strings.TrimSpace(said), "; go on with --cursor ")
	mark, inQuotes := strings.CutPrefix(strings.TrimSuffix(mark, "'"), "'") // it may contain a $ for the shell
	if code != cli.ExitOK || !inQuotes || got != "mail  #1  active  10 bytes  id m-1\n" || !more {
		t.Fatalf("got %d %q %q", code, got, said)
	}
	run(cli.ExitOK, first, "1 found in ", "body:anna", "--cursor", mark)
}

// TestSearchCutOff checks that the command search fails if the server's response ends early or
// cannot be parsed.
func TestSearchCutOff(t *testing.T) {
	for answer, want := range map[string]string{
		`{"hit":{"path":"q","sequenceNumber":1,"state":"active"}}` + "\n": "the search was cut off",
		"":                  "the search was cut off",
		"nonsense\n":        "that cannot be parsed",
		`{"end":{}}` + "\n": "",
	} {
		from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, answer) //nolint:errcheck // the client reports what it got
		}))
		_, said, code := RunCommand(t, "", "search", "x", "--server", from.URL)
		if from.Close(); !strings.Contains(said, want) || (code == cli.ExitOK) != (want == "") {
			t.Errorf("%q: got %d %q", answer, code, said)
		}
	}
}
