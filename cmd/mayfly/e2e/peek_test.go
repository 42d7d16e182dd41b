package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

func TestPeekLinesAndFollow(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	if _, said, code := RunCommand(t, "", "send", "q", "x", "--create", "--count", "250"); code != cli.ExitOK {
		t.Fatal(said)
	}
	out, _, code := RunCommand(t, "", "peek", "q", "--json", "--limit", "3")
	if code != cli.ExitOK || strings.Count(out, "\n") != 3 || strings.Count(out, `"sequenceNumber":`) != 3 || !strings.HasPrefix(out, `{"key":`) {
		t.Errorf("got %d %q", code, out)
	}
	if out, _, code := RunCommand(t, "", "peek", "q", "--json", "--from", "999"); code != cli.ExitOK || out != "" {
		t.Errorf("without messages: got %d %q", code, out)
	}
	if _, said, code := RunCommand(t, "", "peek", "q/$deadletterqueue", "--follow"); code != cli.ExitUsage || !strings.Contains(said, "keep their old sequence numbers") {
		t.Errorf("got %d %q", code, said)
	}
	if _, said, code := RunCommand(t, "", "receive", "q", "--sequence-number", "1", "--fail-empty"); code == cli.ExitOK || code == cli.ExitEmpty {
		t.Errorf("a message that is not deferred: got %d %q", code, said)
	}
	if out, said, code := RunCommand(t, "", "receive", "q/$DeadLetterQueue", "--fail-empty"); code != cli.ExitEmpty || out != "" || said != "mayfly: no message was found\n" {
		t.Errorf("got %d %q %q", code, out, said)
	}

	// New messages are listed after existing ones, each once.
	ctx, stop := context.WithCancelCause(t.Context())
	in, to := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Execute(ctx, command.All(), []string{"peek", "q", "--follow", "--json"}, nil, cli.Streams{In: strings.NewReader(""), Out: to, Err: to})
		to.Close()
	}()
	lines := bufio.NewScanner(in)
	for n := int64(1); n <= 252; n++ {
		var m api.Message
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &m) != nil || m.SequenceNumber != n {
			t.Fatalf("line %d is %q", n, lines.Text())
		}
		if n == 250 {
			if _, said, code := RunCommand(t, "", "send", "q", "more", "--count", "2"); code != cli.ExitOK {
				t.Fatal(said)
			}
		}
	}
	stop(cli.ErrStopped)
	if lines.Scan() {
		t.Errorf("a new message: %q", lines.Text())
	}
	if code := <-ended; code != cli.ExitInterrupted {
		t.Errorf("it ended with %d", code)
	}
}

// TestPeekLocked checks that peek --state locked lists locked messages, each with its receiver and
// the number of renewals.
func TestPeekLocked(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	if _, said, code := RunCommand(t, "", "send", "q", "x", "--create", "--count", "3"); code != cli.ExitOK {
		t.Fatal(said)
	}
	if out, said, code := RunCommand(t, "", "peek", "q", "--state", "locked", "--fail-empty"); code != cli.ExitEmpty {
		t.Errorf("nothing is locked: got %d %q %q", code, out, said)
	}
	out, said, code := RunCommand(t, "", "receive", "q", "--then", "nothing", "--json")
	var got api.Messages
	if json.Unmarshal([]byte(out), &got) != nil || code != cli.ExitOK || len(got.Messages) != 1 {
		t.Fatal(out, said)
	}
	if code, text := Request(t, http.MethodPost, s.API+"/renew-lock", `{"lockToken":"`+got.Messages[0].LockToken+`"}`); code != http.StatusOK {
		t.Fatal(code, text)
	}
	out, said, code = RunCommand(t, "", "peek", "q", "--state", "locked")
	lines := strings.Split(out, "\n")
	if code != cli.ExitOK || len(lines) != 3 || !strings.HasPrefix(lines[0], "NUMBER") || !regexp.MustCompile(`^#1 +(1m|5\ds) +[12]?\d?s ago +1 +\d+s ago +API 127\.0\.0\.1 +x$`).MatchString(lines[1]) {
		t.Errorf("got %d %q %q", code, out, said)
	}
	if out, _, _ := RunCommand(t, "", "peek", "q", "--state", "active", "--json"); strings.Count(out, "\n") != 2 || strings.Contains(out, "lockedBy") {
		t.Errorf("active: %q", out)
	}
	if _, said, code := RunCommand(t, "", "peek", "q", "--state", "locked", "--follow"); code != cli.ExitUsage || !strings.Contains(said, "cannot be combined with --state") {
		t.Errorf("got %d %q", code, said)
	}
}
