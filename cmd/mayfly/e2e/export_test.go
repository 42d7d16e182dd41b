package e2e

import (
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

func TestExportAndImport(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	run := func(exit int, in, complaint string, args ...string) string {
		t.Helper()
		out, said, code := RunCommand(t, in, args...)
		if code != exit || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %q %q, want %d %q", args, code, out, said, exit, complaint)
		}
		return out
	}
	run(cli.ExitOK, "", "", "send", "q", "one", "--create", "--message-id", "a", "--ttl", "1h", "-p", `n={"type":"int","value":"5"}`)
	run(cli.ExitOK, "\xff", "", "send", "q", "--message-id", "b")
	run(cli.ExitOK, "", "", "send", "q", "later", "--at", "1h")
	run(cli.ExitOK, "", "", "entities", "create", "queue", "copies", "RequiresDuplicateDetection=true")
	all := run(cli.ExitOK, "", "", "export", "q")
	if strings.Count(all, "\n") != 3 || !strings.Contains(all, `"messageId":"a"`) {
		t.Errorf("got %q", all)
	}
	if out := run(cli.ExitOK, "", "", "export", "q", "--state", "scheduled"); strings.Count(out, "\n") != 1 {
		t.Errorf("got %q", out)
	}
	if out := run(cli.ExitOK, all, "", "import", "copies"); out != "Imported 3 messages into copies.\n" {
		t.Errorf("got %q", out)
	}
	if out := run(cli.ExitOK, all, "", "import", "copies", "--schedule", "drop"); out != "Imported 0 messages into copies, dropped 3 as duplicates.\n" {
		t.Errorf("got %q", out)
	}
	if out := run(cli.ExitOK, all, "", "import", "copies", "--ids", "new", "--ttl", "remaining", "--json"); out != `{"imported":3}`+"\n" {
		t.Errorf("got %q", out)
	}
	if c := Entity(t, s, "copies").Counts; c != (api.Counts{Active: 4, Scheduled: 2}) {
		t.Errorf("got %+v", c)
	}
	run(cli.ExitNotFound, "", "could not be found", "export", "nowhere")
	run(cli.ExitNotFound, all, "could not be found", "import", "nowhere")
	run(cli.ExitRefused, "hello\n", "Line 1: The JSON is not valid", "import", "q")
	run(cli.ExitUsage, "", "--state", "export", "q", "--state", "dead")
	var refused strings.Builder
	refused.WriteString(`{"body":"` + strings.Repeat("x", 300_000) + `"}` + "\n")
	run(cli.ExitFailed, refused.String(), "1 message was refused", "import", "q")
	if out := run(cli.ExitOK, all, "", "import", "copies", "--dry-run", "--ttl", "remaining"); out != "Would import 3 messages into copies.\n       3 dropped as duplicates\n" {
		t.Errorf("got %q", out)
	}
	if out := run(cli.ExitOK, all, "", "import", "q", "--dry-run", "--json"); out != `{"lines":3,"messages":3,"bytes":`+strings.TrimPrefix(strings.TrimSuffix(out, `,"scheduled":1}`+"\n"), `{"lines":3,"messages":3,"bytes":`)+`,"scheduled":1}`+"\n" {
		t.Errorf("got %q", out)
	}
	run(cli.ExitFailed, refused.String()+"hello\n", "line 2: The JSON is not valid", "import", "q", "--dry-run")
	run(cli.ExitFailed, refused.String(), "1 message would be refused", "import", "q", "--dry-run")
	run(cli.ExitFailed, "hello\n"+all, "1 message was refused", "import", "q", "--unreadable", "skip")
	run(cli.ExitUnreachable, all, "does not answer", "import", "q", "--server", "http://127.0.0.1:1")
}
