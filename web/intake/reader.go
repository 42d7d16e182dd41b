package intake

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/web/access"
	"mayfly/web/amqp/carry"
)

const (
	// PartSize is how many bytes of a body one line has at most; a larger body is in
	// several.
	PartSize = 1 << 20
	// LargestLine bounds a line, in bytes.
	LargestLine = access.LargestBody
)

// A LineError is about a line that cannot be read. Those behind it can be.
type LineError struct {
	Line int64 // from 1
	Err  error // an engine.Refusal
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap is what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }

// An Item is a message of a file.
type Item struct {
	Line    int64           // where it begins, from 1
	Size    int64           // bytes of that line
	Over    bool            // with ttl=remaining nothing is left of its time: there is no Message
	Late    bool            // it was scheduled for a time that has passed
	Parts   int64           // lines that its body is in; zero: it is in the message's
	Message broker.Outgoing // its Reader, if it has one, is good until the next call of Next or Rest
}

// A Reader takes messages out of the lines of an export. Close it.
type Reader struct {
	b     *broker.Broker // for its clock and its limits
	room  *access.Room
	how   Remap
	lines *bufio.Reader
	at    job.Spot     // what was read
	body  *partsReader // of the latest message; nil: it has none in lines of its own
	leave func()       // gives back the room of the latest message; nil: it took none
}

// NewReader reads in, which stands at a place where a message begins. Room is for
// bodies that have to be in memory whole.
func NewReader(b *broker.Broker, room *access.Room, in io.Reader, from job.Spot, how Remap) *Reader {
	return &Reader{b: b, room: room, how: how, lines: bufio.NewReaderSize(in, 64<<10), at: from}
}

// Close gives back what the latest message took. It does not close what is read.
func (r *Reader) Close() {
	if r.leave != nil {
		r.leave()
		r.leave = nil
	}
}

// At is the place behind what was read.
func (r *Reader) At() job.Spot { return r.at }

// Next is the next message; io.EOF when there are no more. Its error is a
// *LineError where one line is wrong, and reading can go on.
func (r *Reader) Next(ctx context.Context) (Item, error) {
	if err := r.Rest(); err != nil {
		return Item{}, err
	}
	raw, err := r.read()
	if err != nil {
		return Item{}, err
	}
	item, err := r.item(ctx, raw)
	if err != nil && job.RefusedAlone(err) {
		r.body = nil // what is left of it are lines like others
		err = r.wrong(err)
	}
	return item, err
}

// Rest reads what is left of the body of the latest message, and says what is
// wrong with its lines.
func (r *Reader) Rest() error {
	r.Close()
	if r.body == nil {
		return nil
	}
	body := r.body
	r.body = nil
	if body.err == nil {
		_, _ = io.Copy(io.Discard, body) //nolint:errcheck // what is wrong stays in body
	}
	return body.err
}

func (r *Reader) item(ctx context.Context, raw []byte) (Item, error) {
	item := Item{Line: r.at.Line, Size: int64(len(raw))}
	var x Exported
	if err := Decode(raw, &x); err != nil {
		return item, err
	}
	content, body, err := x.content()
	if err != nil {
		return item, err
	}
	if x.BodyParts > 0 {
		item.Parts, r.body = x.BodyParts, &partsReader{in: r, left: x.BodyParts}
		err = carry.Again(&content, nil)
	} else {
		err = carry.Again(&content, append([]byte{}, body...))
	}
	if err != nil {
		return item, err //nolint:wrapcheck // it says what is wrong with the message
	}
	now := r.b.Clock()
	left, err := r.how.apply(&content, x.System, now)
	if err != nil {
		return item, err
	}
	item.Over, item.Late = !left, content.ScheduledFor != 0 && content.ScheduledFor <= now
	item.Message = broker.Outgoing{Content: content, Body: body}
	switch {
	case item.Over || item.Parts == 0:
		return item, nil
	case content.BodyKind == engine.DataBody:
		item.Message.Reader = r.body
		return item, nil
	default:
		return item, r.spoken(ctx, &item.Message)
	}
}

// spoken reads a large body that is AMQP's own. That it is AMQP is found out when all
// of it is there, in memory, as where it was sent first.
func (r *Reader) spoken(ctx context.Context, m *broker.Outgoing) error {
	l := r.b.Limits()
	largest := max(l.MessageSize, l.MaxKilobytes<<10)
	most := min(largest, r.body.left*PartSize)
	leave, err := r.room.Take(ctx, -1, most)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	r.leave = leave
	m.Body, err = io.ReadAll(io.LimitReader(r.body, most+1))
	if err != nil {
		return err //nolint:wrapcheck // a reader of lines says what is wrong
	}
	switch n := int64(len(m.Body)); {
	case n > largest: // it is refused like any other of that size
		return nil
	case n > most:
		return argument("A part of a body has at most %d bytes.", PartSize)
	default:
		return carry.Again(&m.Content, m.Body) //nolint:wrapcheck // it says what is wrong with the message
	}
}

// read is the next line that is not blank; io.EOF after the last.
func (r *Reader) read() ([]byte, error) {
	for {
		var text []byte
		long, some := false, false
		for {
			part, err := r.lines.ReadSlice('\n')
			r.at.Offset += int64(len(part))
			some = some || len(part) > 0
			if long = long || len(text)+len(part) > LargestLine; long {
				text = nil
			} else {
				text = append(text, part...)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (!errors.Is(err, io.EOF) || !some) {
				return nil, err //nolint:wrapcheck // the end, or what the client did
			}
			break
		}
		r.at.Line++
		if long {
			return nil, r.wrong(&engine.Refusal{Kind: engine.ErrTooLarge, Text: fmt.Sprintf("It has more than the %d bytes allowed in one line.", LargestLine)})
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return text, nil
		}
	}
}

// wrong is an error about the latest line.
func (r *Reader) wrong(err error) error {
	if _, ok := errors.AsType[*LineError](err); ok {
		return err
	}
	return &LineError{r.at.Line, err}
}

// A partsReader reads a body from the lines that it stands in.
type partsReader struct {
	in   *Reader
	left int64
	part []byte
	err  error // of the lines; stays
}

func (p *partsReader) Read(b []byte) (int, error) {
	for len(p.part) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		if p.left == 0 {
			return 0, io.EOF
		}
		p.left--
		p.part, p.err = p.in.readPart()
	}
	n := copy(b, p.part)
	p.part = p.part[n:]
	return n, nil
}

func (r *Reader) readPart() ([]byte, error) {
	raw, err := r.read()
	if errors.Is(err, io.EOF) {
		return nil, r.wrong(argument("The lines end before the body of a message does."))
	}
	if err != nil {
		return nil, err
	}
	var part Part
	if err := Decode(raw, &part); err != nil {
		return nil, r.wrong(err)
	}
	if part.Part == nil {
		return nil, r.wrong(argument("A line with a part of a body is missing."))
	}
	text, err := base64.StdEncoding.DecodeString(*part.Part)
	if err != nil {
		return nil, r.wrong(argument("The value for 'part' is not base64."))
	}
	return text, nil
}
