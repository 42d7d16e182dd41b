package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

const (
	maxBatchLines    = 250       // messages per request
	maxBatchBytes    = 128 << 10 // bytes of lines per request; a longer line has its own request
	maxLineBytes     = 8 << 20   // the server's limit on the size of a request
	progressInterval = 200 * time.Millisecond
)

// A lineResult is the result of a line of --jsonl.
type lineResult struct {
	Line           int          `json:"line"` // from 1
	SequenceNumber int64        `json:"sequenceNumber,omitempty"`
	Duplicate      bool         `json:"duplicate,omitempty"` // accepted and dropped (DUP-2)
	Problem        *api.Problem `json:"problem,omitempty"`   // the reason if it was not sent
}

// A lineSender sends the lines of a stream as they arrive.
type lineSender struct {
	*sendCommand
	streams                   cli.Streams
	sent, duplicates, refused int64
	lastProgress              time.Time // when progress was last shown
}

// sendLines sends every line of standard input, in batches of the lines that have arrived. It
// reports a refused line and sends the others.
func (c *sendCommand) sendLines(ctx context.Context, s cli.Streams) error {
	if c.Body != nil || c.anyMessageFlag() {
		return cli.UsageErrorf("with --jsonl, each line contains the whole message; only --create and --json can be added")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &lineSender{sendCommand: c, streams: s}
	batches := readLines(ctx, s.In)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case b, more := <-batches:
			if !more {
				return l.finish()
			}
			err := b.err
			if err == nil {
				err = l.send(ctx, b.lines)
			}
			if err != nil {
				l.streams.ShowProgress("")
				return fmt.Errorf("%w; %s sent before that", err, messageCountWas(l.sent))
			}
		}
	}
}

// messageCountWas returns a number of messages with a verb, such as "1 message was".
func messageCountWas(n int64) string {
	if n == 1 {
		return "1 message was"
	}
	return cli.MessageCount(n) + " were"
}

// anyMessageFlag reports whether any flag is set that describes a message.
func (c *sendCommand) anyMessageFlag() bool {
	return c.TTL != "" || c.At != "" || len(c.Property) > 0 || c.MessageID != "" || c.CorrelationID != "" || c.SessionID != nil ||
		c.Subject != "" || c.ContentType != "" || c.Count != 1 || c.usesPlaceholders() || c.Every != "" || c.DryRun
}

// A numberedLine is a line of a stream with its number.
type numberedLine struct {
	number int // from 1
	text   []byte
}

type lineBatch struct {
	lines []numberedLine
	err   error // reading the stream failed
}

// readLines returns the lines of a stream in batches, as they arrive. It reads at most one
// batch ahead, so it slows down the writer. Its goroutine ends with ctx, or with the process
// while a read blocks.
func readLines(ctx context.Context, in io.Reader) <-chan lineBatch {
	out := make(chan lineBatch)
	go func() {
		defer close(out)
		r, n := bufio.NewReaderSize(in, 2*maxBatchBytes), 0
		for {
			b, end := nextBatch(r, &n)
			if len(b.lines) > 0 || b.err != nil {
				select {
				case out <- b:
				case <-ctx.Done():
					return
				}
			}
			if end {
				return
			}
		}
	}()
	return out
}

// nextBatch waits for a line, and adds the lines that are buffered already. n is the number of
// the previous line, which nextBatch advances. end reports whether the stream has ended.
func nextBatch(r *bufio.Reader, n *int) (b lineBatch, end bool) {
	for size := 0; len(b.lines) < maxBatchLines && size < maxBatchBytes; {
		if len(b.lines) > 0 {
			ahead, err := r.Peek(r.Buffered())
			if err != nil || bytes.IndexByte(ahead, '\n') < 0 {
				return b, false
			}
		}
		text, err := readLine(r)
		*n++
		if text = bytes.TrimSpace(text); len(text) > 0 {
			b.lines = append(b.lines, numberedLine{*n, text})
			size += len(text)
		}
		switch {
		case errors.Is(err, io.EOF):
			return b, true
		case err != nil:
			return lineBatch{err: fmt.Errorf("line %d: %w", *n, err)}, true
		}
	}
	return b, false
}

func readLine(r *bufio.Reader) (text []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxLineBytes {
			return nil, fmt.Errorf("it is longer than the limit of %d bytes", maxLineBytes)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}

// send sends lines. It splits a batch at each invalid line, so that results are in the order of
// the lines.
func (l *lineSender) send(ctx context.Context, lines []numberedLine) error {
	var batch []api.Outgoing
	for i, line := range lines {
		m, err := parseLine(line.text)
		if err == nil {
			batch = append(batch, m)
			continue
		}
		if err := l.post(ctx, lines[i-len(batch):i], batch); err != nil {
			return err
		}
		batch = nil
		if err := l.recordRefused(line, &api.Problem{Type: "about:blank", Title: "Bad Request", Status: http.StatusBadRequest, Code: "Argument", Detail: err.Error()}); err != nil {
			return err
		}
	}
	return l.post(ctx, lines[len(lines)-len(batch):], batch)
}

// post sends the messages of batch, whose lines are `from`, in one request or, if the server refuses
// that, one by one.
func (l *lineSender) post(ctx context.Context, from []numberedLine, batch []api.Outgoing) error {
	if len(batch) == 0 {
		return nil
	}
	to := APIPath("send", l.Entity)
	if l.Create && l.sent == 0 {
		to += "?create=queue"
	}
	var sent api.Sent
	_, err := l.request(ctx, http.MethodPost, to, batch, &sent, 0)
	p, refused := errors.AsType[*api.Problem](err)
	switch {
	case err == nil:
		return l.recordSent(from, sent)
	case !refused || cli.ExitCodeOf(err) != cli.ExitRefused: // no line is at fault
		return err
	case len(batch) == 1:
		return l.recordRefused(from[0], p)
	}
	for i := range batch {
		if err := l.post(ctx, from[i:i+1], batch[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// parseLine parses a message as sent, or as printed by peek --json, without the fields that
// the broker added.
func parseLine(text []byte) (api.Outgoing, error) {
	var m api.Message
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m.Outgoing, fmt.Errorf("it is not a message such as {\"body\":\"hello\"}: %w; for the output of mayfly export, use mayfly import", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return m.Outgoing, errors.New("something follows the end of the JSON")
	}
	if m.BodyOmitted || m.Size > 0 && m.Body == nil && m.BodyBase64 == nil {
		return m.Outgoing, errors.New("its body was omitted; mayfly export includes it")
	}
	return m.Outgoing, nil
}

func (l *lineSender) recordSent(from []numberedLine, sent api.Sent) error {
	var out []byte
	for i, line := range from {
		var n int64
		if i < len(sent.SequenceNumbers) {
			n = sent.SequenceNumbers[i]
		}
		if n == 0 {
			l.duplicates++
		} else {
			l.sent++
		}
		if l.JSON {
			out = append(out, cli.MarshalJSON(lineResult{Line: line.number, SequenceNumber: n, Duplicate: n == 0})...)
			out = append(out, '\n')
		}
	}
	if now := time.Now(); now.Sub(l.lastProgress) >= progressInterval {
		l.lastProgress = now
		l.streams.ShowProgress(fmt.Sprintf("%s sent", cli.MessageCount(l.sent)))
	}
	return l.streams.WriteRaw(out)
}

func (l *lineSender) recordRefused(line numberedLine, p *api.Problem) error {
	l.refused++
	if l.JSON {
		return l.streams.WriteRaw([]byte(cli.MarshalJSON(lineResult{Line: line.number, Problem: p}) + "\n"))
	}
	l.streams.ShowProgress("")
	_, err := fmt.Fprintf(l.streams.Err, "mayfly: line %d: %s\n", line.number, p.Detail)
	return err
}

// finish prints what was sent, and returns an error if a line was refused.
func (l *lineSender) finish() error {
	l.streams.ShowProgress("")
	if !l.JSON {
		text := fmt.Sprintf("Sent %s to %s", cli.MessageCount(l.sent), l.Entity)
		if l.duplicates > 0 {
			text += fmt.Sprintf(", dropped %d as duplicates", l.duplicates)
		}
		if _, err := fmt.Fprintln(l.streams.Out, text+"."); err != nil {
			return err
		}
	}
	if l.refused > 0 {
		return fmt.Errorf("%d of %s not sent", l.refused, cli.Pluralize(l.refused+l.sent+l.duplicates, "line was", "lines were"))
	}
	return nil
}
