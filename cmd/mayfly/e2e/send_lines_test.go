package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

func TestSendLines(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	var many strings.Builder
	for i := range 1201 {
		fmt.Fprintf(&many, `{"messageId":"m-%d","body":"%d","properties":{"i":%d}}`+"\n", i, i, i)
	}
	large := strings.Repeat("x", 300_000)
	step := func(exit int, in, want, complaint string, args ...string) string {
		t.Helper()
		out, said, code := RunCommand(t, in, append([]string{"send", "q", "--jsonl"}, args...)...)
		if code != exit || out != want && !strings.Contains(out, want) || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %.300q %.300q, want %d %q %q", args, code, out, said, exit, want, complaint)
		}
		return out
	}
	step(cli.ExitNotFound, `{"body":"x"}`, "", "could not be found.; 0 messages were sent before that")
	step(cli.ExitOK, many.String(), "Sent 1201 messages to q.\n", "", "--create")
	if got := Entity(t, s, "q").Counts.Active; got != 1201 {
		t.Errorf("got %d messages", got)
	}
	out, _, _ := RunCommand(t, "", "peek", "q", "--limit", "2", "--json", "--from", "1200")
	step(cli.ExitOK, out, "Sent 2 messages to q.\n", "")                                               // output of peek can be sent
	step(cli.ExitOK, "\n \n"+`{"body":"last"}`, `{"line":3,"sequenceNumber":1204}`+"\n", "", "--json") // without a line break at the end
	step(cli.ExitOK, "", "Sent 0 messages to q.\n", "")

	// A refused line does not affect others.
	bad := `{"body":"a"}` + "\n" + `{"body":"` + large + `"}` + "\n" + `{"body":1}` + "\nhello\n" + `{"body":"b"} {}` + "\n" + `{"colour":"red"}` + "\n" + `{"body":"c","timeToLive":"soon"}` + "\n" + `{"body":"d"}` + "\n"
	got := step(cli.ExitFailed, bad, "", `"detail":"6 of 8 lines were not sent."`, "--json")
	var results []string
	for raw := range strings.Lines(got) {
		var r struct {
			Line    int          `json:"line"`
			Problem *api.Problem `json:"problem"`
		}
		if err := json.Unmarshal([]byte(raw), &r); err != nil {
			t.Fatal(err)
		}
		what := "sent"
		if r.Problem != nil {
			what = r.Problem.Code
		}
		results = append(results, fmt.Sprintf("%d %s", r.Line, what))
	}
	const want = "1 sent, 2 MessageSizeExceeded, 3 Argument, 4 Argument, 5 Argument, 6 Argument, 7 Argument, 8 sent"
	if got := strings.Join(results, ", "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	step(cli.ExitFailed, `{"bodyOmitted":true}`+"\n", "Sent 0 messages to q.\n", "mayfly: line 1: its body was omitted")
	step(cli.ExitFailed, `{"size":5}`+"\n", "Sent 0 messages to q.\n", "mayfly: line 1: its body was omitted")
	step(cli.ExitFailed, `{"body":"x"}`+"\n"+strings.Repeat(" ", 8<<20+1), "", "line 2: it is longer than the limit of 8388608 bytes; 1 message was sent before that")
	step(cli.ExitUsage, `{"body":"x"}`, "", "with --jsonl, each line contains the whole message", "--ttl", "1h")
	step(cli.ExitUsage, `{"body":"x"}`, "", "with --jsonl, each line contains the whole message", "hello")
	if got := Entity(t, s, "q").Counts.Active; got != 1207 {
		t.Errorf("got %d messages", got)
	}
}

// A line is sent as soon as it arrives, and the writer is blocked until its lines are sent. A
// signal ends the command while it waits for lines.
func TestSendLinesAsTheyCome(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	in, write := io.Pipe()
	read, out := io.Pipe()
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Execute(ctx, command.All(), []string{"send", "q", "--jsonl", "--json", "--create"}, nil, cli.Streams{In: in, Out: out, Err: io.Discard})
	}()
	results := bufio.NewScanner(read)
	for i := 1; i <= 3; i++ {
		if _, err := io.WriteString(write, `{"body":"x"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"line":%d,"sequenceNumber":%d}`, i, i); !results.Scan() || results.Text() != want {
			t.Fatalf("got %q, want %s", results.Text(), want)
		}
	}
	stop(cli.ErrStopped)
	if code := <-ended; code != cli.ExitInterrupted {
		t.Errorf("it ended with %d", code)
	}
	write.Close()
}
