package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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
	if out := run(exitOK, all, "", "import", "copies", "--dry-run", "--ttl", "remaining"); out != "Would import 3 messages into copies.\n       3 dropped as duplicates\n" {
		t.Errorf("got %q", out)
	}
	if out := run(exitOK, all, "", "import", "q", "--dry-run", "--json"); out != `{"lines":3,"messages":3,"bytes":`+strings.TrimPrefix(strings.TrimSuffix(out, `,"scheduled":1}`+"\n"), `{"lines":3,"messages":3,"bytes":`)+`,"scheduled":1}`+"\n" {
		t.Errorf("got %q", out)
	}
	run(exitFailed, refused.String()+"hello\n", "line 2: The JSON is not valid", "import", "q", "--dry-run")
	run(exitFailed, refused.String(), "1 message would be refused", "import", "q", "--dry-run")
	run(exitFailed, "hello\n"+all, "1 message was refused", "import", "q", "--unreadable", "skip")
	run(exitUnreachable, all, "does not answer", "import", "q", "--server", "http://127.0.0.1:1")
}

// Who is asked, or is to send what comes on standard input, can leave instead.
func TestWaitingForInputIsInterrupted(t *testing.T) {
	for name, run := range map[string]func(context.Context, streams) error{
		"asked": func(ctx context.Context, s streams) error { return confirm(ctx, s, "3", "removes 3 messages for good") },
		"hash":  (&usersHashCommand{}).Run,
		"send":  (&sendCommand{Entity: "q", Count: 1, client: client{Server: "http://127.0.0.1:1"}}).Run,
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		in, lines := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, streams{in: in, out: io.Discard, err: io.Discard}) }()
		stop(errStopped)
		select {
		case err := <-ended:
			if exitOf(err) != exitInterrupted {
				t.Errorf("%s: it ended with %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: it waits on", name)
		}
		lines.Close()
	}
}

// An import that waits for lines is interrupted all the same.
func TestImportIsInterrupted(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	from := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.ReadFull(r.Body, make([]byte, 2)) //nolint:errcheck // it has come so far
		stop(errStopped)
		io.Copy(io.Discard, r.Body) //nolint:errcheck // the client leaves
	}))
	defer from.Close()
	in, lines := io.Pipe()
	defer lines.Close()
	go io.WriteString(lines, "{}") //nolint:errcheck // somebody types, and goes on later
	ended := make(chan error, 1)
	go func() {
		ended <- (&importCommand{client: client{Server: from.URL}, Entity: "q"}).Run(ctx, streams{in: in})
	}()
	select {
	case err := <-ended:
		if exitOf(err) != exitInterrupted {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits on")
	}
}
