package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestSearchCommand(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	run := func(exit int, out, complaint string, args ...string) {
		t.Helper()
		got, said, code := typed(t, "", append([]string{"search"}, args...)...)
		if code != exit || got != out && !(strings.HasPrefix(out, "{") && strings.HasPrefix(got, out)) || said != complaint && !strings.Contains(said, strings.TrimSpace(complaint)) {
			t.Errorf("%q: got %d %q %q, want %d %q %q", args, code, got, said, exit, out, complaint)
		}
	}
	for _, args := range [][]string{
		{"orders", "order 17 of anna", "--create", "--message-id", "o-1", "--subject", "new\x1b[31m", "-p", "region=eu"},
		{"orders", "order 18 of bert", "--message-id", "o-2", "-p", "region=us"},
		{"mail", "hello anna", "--create", "--message-id", "m-1"},
	} {
		if _, said, code := typed(t, "", append([]string{"send"}, args...)...); code != exitOK {
			t.Fatal(said)
		}
	}
	const first = "orders  #1  active  16 bytes  id o-1  subject new·[31m\n"
	run(exitOK, first, "1 found in 3 messages\n", "prop.region:eu")
	run(exitOK, "mail  #1  active  10 bytes  id m-1\n"+first, "2 found in 3 messages\n", "body:anna")
	run(exitOK, first, "1 found in 2 messages\n", "body:anna", "--in", "orders")
	run(exitOK, first, "1 found in 3 messages\n", "body:anna", "prop.region:eu") // all must be true
	run(exitOK, "orders  #2  active  16 bytes  id o-2\n", "1 found in 2 messages\n", "--in", "orders", "--", "-body:anna")
	run(exitOK, `{"key":`, "1 found", "prop.region:eu", "--json")
	run(exitOK, "There is no message.\n", "", "prop.region:asia")
	run(exitEmpty, "", "mayfly: there is no message\n", "prop.region:asia", "--fail-empty")
	run(exitRefused, "", "mayfly: ", "json.:")
	run(exitUsage, "", "mayfly: ", "x", "--max", "many")
	run(exitUnreachable, "", "does not answer", "x", "--server", "http://127.0.0.1:1")

	got, said, code := typed(t, "", "search", "body:anna", "--max", "1")
	_, mark, more := strings.Cut(strings.TrimSpace(said), "; go on with --from ")
	mark, inQuotes := strings.CutPrefix(strings.TrimSuffix(mark, "'"), "'") // a $ of the shell's may be in it
	if code != exitOK || !inQuotes || got != "mail  #1  active  10 bytes  id m-1\n" || !more {
		t.Fatalf("got %d %q %q", code, got, said)
	}
	run(exitOK, first, "1 found in ", "body:anna", "--from", mark)
}

// What was cut off is not taken for all there is.
func TestSearchCutOff(t *testing.T) {
	for answer, want := range map[string]string{
		`{"hit":{"path":"q","sequenceNumber":1,"state":"active"}}` + "\n": "the search was cut off",
		"":                  "the search was cut off",
		"nonsense\n":        "in a way that cannot be read",
		`{"end":{}}` + "\n": "",
	} {
		from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, answer) //nolint:errcheck // the client says what it got
		}))
		_, said, code := typed(t, "", "search", "x", "--server", from.URL)
		if from.Close(); !strings.Contains(said, want) || (code == exitOK) != (want == "") {
			t.Errorf("%q: got %d %q", answer, code, said)
		}
	}
}
