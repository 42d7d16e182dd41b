package main

import (
	"strings"
	"testing"

	"mayfly/web/api"
)

func TestExportAndImport(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	run := func(exit int, in, complaint string, args ...string) string {
		t.Helper()
		out, said, code := typed(t, in, args...)
		if code != exit || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %q %q, want %d %q", args, code, out, said, exit, complaint)
		}
		return out
	}
	run(exitOK, "", "", "send", "q", "one", "--create", "--message-id", "a", "--ttl", "1h", "-p", `n={"type":"int","value":"5"}`)
	run(exitOK, "\xff", "", "send", "q", "--message-id", "b")
	run(exitOK, "", "", "send", "q", "later", "--at", "1h")
	run(exitOK, "", "", "entities", "create", "queue", "copies", "RequiresDuplicateDetection=true")
	all := run(exitOK, "", "", "export", "q")
	if strings.Count(all, "\n") != 3 || !strings.Contains(all, `"messageId":"a"`) {
		t.Errorf("got %q", all)
	}
	if out := run(exitOK, "", "", "export", "q", "--state", "scheduled"); strings.Count(out, "\n") != 1 {
		t.Errorf("got %q", out)
	}
	if out := run(exitOK, all, "", "import", "copies"); out != "Imported 3 messages into copies.\n" {
		t.Errorf("got %q", out)
	}
	if out := run(exitOK, all, "", "import", "copies", "--schedule", "drop"); out != "Imported 0 messages into copies, dropped 3 as duplicates.\n" {
		t.Errorf("got %q", out)
	}
	if out := run(exitOK, all, "", "import", "copies", "--ids", "new", "--ttl", "remaining", "--json"); out != `{"imported":3}`+"\n" {
		t.Errorf("got %q", out)
	}
	if c := entity(t, s, "copies").Counts; c != (api.Counts{Active: 4, Scheduled: 2}) {
		t.Errorf("there are %+v", c)
	}
	run(exitNotFound, "", "could not be found", "export", "nowhere")
	run(exitNotFound, all, "could not be found", "import", "nowhere")
	run(exitRefused, "hello\n", "Line 1: The JSON is not valid", "import", "q")
	run(exitUsage, "", "--state", "export", "q", "--state", "dead")
	var refused strings.Builder
	refused.WriteString(`{"body":"` + strings.Repeat("x", 300_000) + `"}` + "\n")
	run(exitFailed, refused.String(), "1 message was refused", "import", "q")
	run(exitUnreachable, all, "does not answer", "import", "q", "--server", "http://127.0.0.1:1")
}
