package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestSendLines(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	var many strings.Builder
	for i := range 1201 {
		fmt.Fprintf(&many, `{"messageId":"m-%d","body":"%d","properties":{"i":%d}}`+"\n", i, i, i)
	}
	large := strings.Repeat("x", 300_000)
	step := func(exit int, in, want, complaint string, args ...string) string {
		t.Helper()
		out, said, code := typed(t, in, append([]string{"send", "q", "--jsonl"}, args...)...)
		if code != exit || out != want && !strings.Contains(out, want) || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %.300q %.300q, want %d %q %q", args, code, out, said, exit, want, complaint)
		}
		return out
	}
	step(exitNotFound, `{"body":"x"}`, "", "could not be found.; 0 messages were sent before that")
	step(exitOK, many.String(), "Sent 1201 messages to q.\n", "", "--create")
	if got := entity(t, s, "q").Counts.Active; got != 1201 {
		t.Errorf("there are %d", got)
	}
	out, _, _ := typed(t, "", "peek", "q", "--count", "2", "--json", "--from", "1200")
	step(exitOK, out, "Sent 2 messages to q.\n", "")                                               // what is listed can be sent
	step(exitOK, "\n \n"+`{"body":"last"}`, `{"line":3,"sequenceNumber":1204}`+"\n", "", "--json") // without an end of line
	step(exitOK, "", "Sent 0 messages to q.\n", "")

	// A line that is refused keeps no other.
	bad := `{"body":"a"}` + "\n" + `{"body":"` + large + `"}` + "\n" + `{"body":1}` + "\nhello\n" + `{"body":"b"} {}` + "\n" + `{"colour":"red"}` + "\n" + `{"body":"c","timeToLive":"soon"}` + "\n" + `{"body":"d"}` + "\n"
	got := step(exitFailed, bad, "", `"detail":"6 of 8 lines were not sent."`, "--json")
	var results []string
	for raw := range strings.Lines(got) {
		var r sentLine
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
	step(exitFailed, `{"bodyOmitted":true}`+"\n", "Sent 0 messages to q.\n", "mayfly: line 1: its body was left out")
	step(exitFailed, `{"size":5}`+"\n", "Sent 0 messages to q.\n", "mayfly: line 1: its body was left out")
	step(exitFailed, `{"body":"x"}`+"\n"+strings.Repeat(" ", longestLine+1), "", "line 2: it has more than the 8388608 bytes that a line may have; 1 message was sent before that")
	step(exitUsage, `{"body":"x"}`, "", "with --jsonl all of a message is in its line", "--ttl", "1h")
	step(exitUsage, `{"body":"x"}`, "", "with --jsonl all of a message is in its line", "hello")
	if got := entity(t, s, "q").Counts.Active; got != 1207 {
		t.Errorf("there are %d", got)
	}
}

// A line is sent when it has come, not when there are many, and whoever writes
// lines waits until they are taken. A signal ends it while it waits for more.
func TestSendLinesAsTheyCome(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	in, write := io.Pipe()
	read, out := io.Pipe()
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"send", "q", "--jsonl", "--json", "--create"}, nil, streams{in: in, out: out, err: io.Discard})
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
	stop(errStopped)
	if code := <-ended; code != exitInterrupted {
		t.Errorf("it ended with %d", code)
	}
	write.Close()
}

// Nobody reads ahead of what can be sent: of a stream without an end so much as
// two batches are read.
func TestReadLinesWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	endless := &counting{line: []byte(`{"body":"` + strings.Repeat("x", 1000) + `"}` + "\n")}
	batches := readLines(ctx, endless)
	first := <-batches
	if n := len(first.lines); n == 0 || n > linesAtOnce || first.lines[0].n != 1 {
		t.Fatalf("got %d lines from %d", n, first.lines[0].n)
	}
	second := <-batches
	if second.lines[0].n != first.lines[len(first.lines)-1].n+1 {
		t.Errorf("a line was left out before %d", second.lines[0].n)
	}
	cancel()
	for range batches { // until its end
	}
	if most := 5 * 2 * bytesAtOnce; endless.read > most {
		t.Errorf("%d bytes were read, more than %d", endless.read, most)
	}
}

// A counting is a stream without an end.
type counting struct {
	line []byte
	read int // owned by its reader until that has ended
}

func (c *counting) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], c.line[(c.read+n)%len(c.line):])
	}
	c.read += n
	return n, nil
}

// Progress is for who looks: nothing of it is in what was printed.
func TestSendLinesProgress(t *testing.T) {
	n := shop(t)
	var out, said strings.Builder
	c := &sendCommand{client: n.client(), Entity: "mail", Count: 1, JSONL: true}
	err := c.Run(t.Context(), streams{in: strings.NewReader(`{"body":"x"}` + "\n"), out: &out, err: &said, terminal: terminal{err: true}})
	if err != nil || said.String() != "\r\x1b[K1 message sent\r\x1b[K" || out.String() != "Sent 1 message to mail.\n" {
		t.Errorf("got %v %q %q", err, &out, &said)
	}
}
