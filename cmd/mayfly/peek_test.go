package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"mayfly/web/api"
)

func TestPeekLinesAndFollow(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	if _, said, code := typed(t, "", "send", "q", "x", "--create", "--count", "250"); code != exitOK {
		t.Fatal(said)
	}
	out, _, code := typed(t, "", "peek", "q", "--json", "--count", "3")
	if code != exitOK || strings.Count(out, "\n") != 3 || strings.Count(out, `"sequenceNumber":`) != 3 || !strings.HasPrefix(out, `{"key":`) {
		t.Errorf("got %d %q", code, out)
	}
	if out, _, code := typed(t, "", "peek", "q", "--json", "--from", "999"); code != exitOK || out != "" {
		t.Errorf("of nothing: got %d %q", code, out)
	}
	if _, said, code := typed(t, "", "peek", "q/$deadletterqueue", "--follow"); code != exitUsage || !strings.Contains(said, "keep the ones they had") {
		t.Errorf("got %d %q", code, said)
	}
	if _, said, code := typed(t, "", "receive", "q", "--number", "1", "--fail-empty"); code == exitOK || code == exitEmpty {
		t.Errorf("a message that is not deferred: got %d %q", code, said)
	}
	if out, said, code := typed(t, "", "receive", "q/$DeadLetterQueue", "--fail-empty"); code != exitEmpty || out != "" || said != "mayfly: there is no message\n" {
		t.Errorf("got %d %q %q", code, out, said)
	}

	// What comes is listed after what was there, each once.
	ctx, stop := context.WithCancelCause(t.Context())
	in, to := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"peek", "q", "--follow", "--json"}, nil, streams{in: strings.NewReader(""), out: to, err: to})
		to.Close()
	}()
	lines := bufio.NewScanner(in)
	for n := int64(1); n <= 252; n++ {
		var m api.Message
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &m) != nil || m.SequenceNumber != n {
			t.Fatalf("line %d is %q", n, lines.Text())
		}
		if n == 250 {
			if _, said, code := typed(t, "", "send", "q", "more", "--count", "2"); code != exitOK {
				t.Fatal(said)
			}
		}
	}
	stop(errStopped)
	if lines.Scan() {
		t.Errorf("one more: %q", lines.Text())
	}
	if code := <-ended; code != exitInterrupted {
		t.Errorf("it ended with %d", code)
	}
}
