package main

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

	"mayfly/web/api"
)

const (
	linesAtOnce  = 250       // messages of one request
	bytesAtOnce  = 128 << 10 // bytes of the lines of one request; a longer line is one of its own
	longestLine  = 8 << 20   // bytes; a server takes no larger request
	progressPace = 200 * time.Millisecond
)

// A sentLine is what became of a line of --jsonl.
type sentLine struct {
	Line           int          `json:"line"` // from 1
	SequenceNumber int64        `json:"sequenceNumber,omitempty"`
	Duplicate      bool         `json:"duplicate,omitempty"` // it was accepted and dropped (DUP-2)
	Problem        *api.Problem `json:"problem,omitempty"`   // it was not sent
}

// A lineSender sends lines of a stream as they come.
type lineSender struct {
	*sendCommand
	s                         streams
	sent, duplicates, refused int64
	told                      time.Time // when progress was
}

// sendLines sends every line of standard input, as many together as there are by
// then. One that is refused does not keep the others: it is told.
func (c *sendCommand) sendLines(ctx context.Context, s streams) error {
	if c.Body != nil || c.given() {
		return misused("with --jsonl all of a message is in its line; there can be --create and --json beside it")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &lineSender{sendCommand: c, s: s}
	batches := readLines(ctx, s.in)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case b, more := <-batches:
			if !more {
				return l.end()
			}
			err := b.err
			if err == nil {
				err = l.send(ctx, b.lines)
			}
			if err != nil {
				l.s.progress("")
				return fmt.Errorf("%w; %s sent before that", err, wereMessages(l.sent))
			}
		}
	}
}

// wereMessages is how many there are, in words, with the verb.
func wereMessages(n int64) string {
	if n == 1 {
		return "1 message was"
	}
	return messages(n) + " were"
}

// given tells whether there is a flag that makes a message.
func (c *sendCommand) given() bool {
	return c.TTL != "" || c.At != "" || len(c.Property) > 0 || c.MessageID != "" || c.CorrelationID != "" || c.SessionID != nil ||
		c.Subject != "" || c.ContentType != "" || c.Count != 1 || c.drafted() || c.Every != "" || c.DryRun
}

// A numbered line of a stream.
type numbered struct {
	n    int // from 1
	text []byte
}

type lineBatch struct {
	lines []numbered
	err   error // the stream cannot be read further
}

// readLines hands out the lines of a stream, as many together as have come. It
// reads no further than one batch ahead, so that who writes them waits. Its
// goroutine ends with ctx, or with the process where the stream keeps it.
func readLines(ctx context.Context, in io.Reader) <-chan lineBatch {
	out := make(chan lineBatch)
	go func() {
		defer close(out)
		r, n := bufio.NewReaderSize(in, 2*bytesAtOnce), 0
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

// nextBatch waits for a line, and takes along those that are there by then. n is
// the number of the line before.
func nextBatch(r *bufio.Reader, n *int) (b lineBatch, end bool) {
	for size := 0; len(b.lines) < linesAtOnce && size < bytesAtOnce; {
		if len(b.lines) > 0 {
			ahead, err := r.Peek(r.Buffered())
			if err != nil || bytes.IndexByte(ahead, '\n') < 0 {
				return b, false
			}
		}
		text, err := readLine(r)
		*n++
		if text = bytes.TrimSpace(text); len(text) > 0 {
			b.lines = append(b.lines, numbered{*n, text})
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
		if len(text) > longestLine {
			return nil, fmt.Errorf("it has more than the %d bytes that a line may have", longestLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err //nolint:wrapcheck // the end, or what is wrong with standard input
		}
	}
}

// send sends lines, those together that stand between two which cannot be read:
// what became of them is told in their order.
func (l *lineSender) send(ctx context.Context, lines []numbered) error {
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
		if err := l.refuse(line, &api.Problem{Type: "about:blank", Title: "Bad Request", Status: http.StatusBadRequest, Code: "Argument", Detail: err.Error()}); err != nil {
			return err
		}
	}
	return l.post(ctx, lines[len(lines)-len(batch):], batch)
}

// post sends messages together or, if they are refused so, one by one.
func (l *lineSender) post(ctx context.Context, from []numbered, batch []api.Outgoing) error {
	if len(batch) == 0 {
		return nil
	}
	to := path("send", l.Entity)
	if l.Create && l.sent == 0 {
		to += "?create=queue"
	}
	var sent api.Sent
	_, err := l.ask(ctx, http.MethodPost, to, batch, &sent, 0)
	p, refused := errors.AsType[*api.Problem](err)
	switch {
	case err == nil:
		return l.tell(from, sent)
	case !refused || exitOf(err) != exitRefused: // no line of it is to blame
		return err
	case len(batch) == 1:
		return l.refuse(from[0], p)
	}
	for i := range batch {
		if err := l.post(ctx, from[i:i+1], batch[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// parseLine reads a message as it is sent, or as peek --json prints it: what the
// broker adds to it is left out.
func parseLine(text []byte) (api.Outgoing, error) {
	var m api.Message
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m.Outgoing, fmt.Errorf("it is no message such as {\"body\":\"hello\"}: %w; mayfly import reads what export has written", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return m.Outgoing, errors.New("something follows the end of the JSON")
	}
	if m.BodyOmitted || m.Size > 0 && m.Body == nil && m.BodyBase64 == nil {
		return m.Outgoing, errors.New("its body was left out; mayfly export has it")
	}
	return m.Outgoing, nil
}

func (l *lineSender) tell(from []numbered, sent api.Sent) error {
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
			out = append(out, marshalled(sentLine{Line: line.n, SequenceNumber: n, Duplicate: n == 0})...)
			out = append(out, '\n')
		}
	}
	if now := time.Now(); now.Sub(l.told) >= progressPace {
		l.told = now
		l.s.progress(fmt.Sprintf("%s sent", messages(l.sent)))
	}
	return l.s.write(out)
}

func (l *lineSender) refuse(line numbered, p *api.Problem) error {
	l.refused++
	if l.JSON {
		return l.s.write([]byte(marshalled(sentLine{Line: line.n, Problem: p}) + "\n"))
	}
	l.s.progress("")
	_, err := fmt.Fprintf(l.s.err, "mayfly: line %d: %s\n", line.n, p.Detail)
	return err
}

// end says what was sent, and fails if a line was not.
func (l *lineSender) end() error {
	l.s.progress("")
	if !l.JSON {
		text := fmt.Sprintf("Sent %s to %s", messages(l.sent), l.Entity)
		if l.duplicates > 0 {
			text += fmt.Sprintf(", dropped %d as duplicates", l.duplicates)
		}
		if _, err := fmt.Fprintln(l.s.out, text+"."); err != nil {
			return err
		}
	}
	if l.refused > 0 {
		return fmt.Errorf("%d of %s not sent", l.refused, counted(l.refused+l.sent+l.duplicates, "line was", "lines were"))
	}
	return nil
}
