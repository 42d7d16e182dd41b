package client

import (
	"context"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
)

// TestReadLinesWaits checks that readLines numbers lines without a gap, and reads at most a few
// batches of an endless stream ahead.
func TestReadLinesWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	endless := &counting{line: []byte(`{"body":"` + strings.Repeat("x", 1000) + `"}` + "\n")}
	batches := readLines(ctx, endless)
	first := <-batches
	if n := len(first.lines); n == 0 || n > maxBatchLines || first.lines[0].number != 1 {
		t.Fatalf("got %d lines from %d", n, first.lines[0].number)
	}
	second := <-batches
	if second.lines[0].number != first.lines[len(first.lines)-1].number+1 {
		t.Errorf("a line was left out before %d", second.lines[0].number)
	}
	cancel()
	for range batches { // until it is closed
	}
	if most := 5 * 2 * maxBatchBytes; endless.read > most {
		t.Errorf("%d bytes were read, more than %d", endless.read, most)
	}
}

// A counting is an endless stream that repeats one line and counts the bytes read.
type counting struct {
	line []byte
	read int // owned by the reader until it has ended
}

func (c *counting) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], c.line[(c.read+n)%len(c.line):])
	}
	c.read += n
	return n, nil
}

// Progress is shown on a terminal only, and is not part of the output.
func TestSendLinesProgress(t *testing.T) {
	n := shop(t)
	var out, said strings.Builder
	c := &sendCommand{client: n.client(), Entity: "mail", Count: 1, JSONL: true}
	err := c.Run(t.Context(), cli.Streams{In: strings.NewReader(`{"body":"x"}` + "\n"), Out: &out, Err: &said, Terminal: cli.Terminal{Err: true}})
	if err != nil || said.String() != "\r\x1b[K1 message sent\r\x1b[K" || out.String() != "Sent 1 message to mail.\n" {
		t.Errorf("got %v %q %q", err, &out, &said)
	}
}
