package exchange

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
	"mayfly/web/amqp/codec"
	"mayfly/web/auth/origin"
)

const (
	// PartSize is how many bytes of a body one line may hold; a larger body is split over
	// several lines.
	PartSize = 1 << 20
	// MaxLine bounds a line, in bytes.
	MaxLine = origin.MaxBody
)

// A LineError reports a line that cannot be read. The lines after it still can.
type LineError struct {
	Line int64 // from 1
	Err  error // an engine.Refusal
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the error of the line.
func (e *LineError) Unwrap() error { return e.Err }

// An Item is a message read from a file.
type Item struct {
	Line    int64           // the first line of the message, from 1
	Size    int64           // bytes of that line
	Expired bool            // expired under ttl=remaining: there is no Message
	Late    bool            // its scheduled time has passed
	Parts   int64           // lines that hold its body; zero means that the body is in the message's line
	Message broker.Outgoing // its Reader, if not nil, is valid until the next call of Next or Rest
}

// A Reader reads messages from the lines of an export. It adds the bytes of a line to its share as
// they arrive, and keeps those of the messages that it has returned, so a slow client holds only
// the memory that it fills. Call Close to give the rest back.
type Reader struct {
	// Flush sends the returned messages and calls Release. The Reader calls it when the share
	// cannot grow by the next bytes, and waits after that until it can. Nil means that it waits at
	// once.
	Flush func(context.Context) error

	b       *broker.Broker // for its clock and its limits
	share   *origin.Share
	remap   Remap
	lines   *bufio.Reader
	at      job.FeedPosition // the position after what was read
	body    *partsReader     // body of the latest message; nil if it has no lines of its own
	line    int64            // bytes of the share for the line that is being read
	pending int64            // bytes of the share for the returned messages
	whole   int64            // bytes of the share for the latest message's body, if it is in memory whole
}

// NewReader returns a Reader of `in`, which must be positioned at the first line of a message: at
// `from` in the whole export.
func NewReader(b *broker.Broker, share *origin.Share, in io.Reader, from job.FeedPosition, how Remap) *Reader {
	return &Reader{b: b, share: share, remap: how, lines: bufio.NewReaderSize(in, 64<<10), at: from}
}

// Close gives back the whole share. It does not close the underlying reader.
func (r *Reader) Close() {
	r.endBody()
	r.endLine()
	r.Release()
}

// Release gives back the share of the messages that Next has returned. Call it once they are sent.
func (r *Reader) Release() {
	r.share.Shrink(r.pending)
	r.pending = 0
}

func (r *Reader) endLine() {
	r.share.Shrink(r.line)
	r.line = 0
}

func (r *Reader) endBody() {
	r.share.Shrink(r.whole)
	r.whole = 0
}

// more grows the share by n bytes for the line that is being read. If the budget does not have them
// now, it calls Flush first, and then waits for them.
func (r *Reader) more(ctx context.Context, n int64) error {
	if !r.share.TryGrow(n) {
		if r.Flush != nil && r.pending > 0 {
			if err := r.Flush(ctx); err != nil {
				return err
			}
		}
		if err := r.share.Grow(ctx, n); err != nil {
			return err
		}
	}
	r.line += n
	return nil
}

// At returns the position after what was read.
func (r *Reader) At() job.FeedPosition { return r.at }

// Next returns the next message, or io.EOF at the end. The error is a *LineError if only one
// line is wrong; then reading can go on.
func (r *Reader) Next(ctx context.Context) (Item, error) {
	if err := r.Rest(); err != nil {
		return Item{}, err
	}
	raw, err := r.readLine(ctx)
	defer r.endLine()
	if err != nil {
		return Item{}, err
	}
	item, err := r.item(ctx, raw)
	if err == nil && !item.Expired {
		// Decoding needed more memory than its result does: the result holds the texts, which are
		// as long as the line, and the properties.
		stays := min(r.line, int64(len(raw))+int64(len(item.Message.Content.Properties))*ValueCost)
		r.pending, r.line = r.pending+stays, r.line-stays
	}
	if err != nil && job.IsMessageError(err) {
		r.body = nil // the rest of it is read as ordinary lines
		err = r.lineError(err)
	}
	return item, err
}

// Rest reads the rest of the latest message's body, and returns the first error of the body's lines,
// if any.
func (r *Reader) Rest() error {
	r.endBody()
	if r.body == nil {
		return nil
	}
	body := r.body
	r.body = nil
	if body.err == nil {
		_, _ = io.Copy(io.Discard, body) //nolint:errcheck // body.err keeps the error
	}
	return body.err
}

func (r *Reader) item(ctx context.Context, raw []byte) (Item, error) {
	item := Item{Line: r.at.Line, Size: int64(len(raw))}
	var x Exported
	if err := r.more(ctx, Cost(raw)); err != nil {
		return item, err
	}
	if err := Decode(raw, &x); err != nil {
		return item, err
	}
	content, body, err := x.content()
	if err != nil {
		return item, err
	}
	if x.BodyParts > 0 {
		item.Parts, r.body = x.BodyParts, &partsReader{in: r, ctx: ctx, left: x.BodyParts}
		err = codec.ValidateStored(&content, nil)
	} else {
		err = codec.ValidateStored(&content, append([]byte{}, body...))
	}
	if err != nil {
		return item, err
	}
	now := r.b.ClockTime()
	left, err := r.remap.apply(&content, x.System, now)
	if err != nil {
		return item, err
	}
	item.Expired, item.Late = !left, content.ScheduledFor != 0 && content.ScheduledFor <= now
	item.Message = broker.Outgoing{Content: content, Body: body}
	switch {
	case item.Expired || item.Parts == 0:
		return item, nil
	case content.BodyKind == engine.DataBody:
		item.Message.Reader = r.body
		return item, nil
	default:
		return item, r.readSections(ctx, &item.Message)
	}
}

// readSections reads a large body made of AMQP sections. The sections can only be checked with the
// whole body in memory, as when it was first sent.
func (r *Reader) readSections(ctx context.Context, m *broker.Outgoing) error {
	l := r.b.Limits()
	largest := max(l.MessageSize, l.MaxKilobytes<<10)
	most := min(largest, r.body.left*PartSize)
	var err error
	m.Body, err = r.share.ReadAll(ctx, r.body, most)
	if err != nil {
		return err
	}
	r.whole = int64(cap(m.Body))
	switch n := int64(len(m.Body)); {
	case n > largest: // the broker refuses it for its size, as any other
		return nil
	case n > most:
		return engine.Refuse(engine.ErrArgument, "A part of a body may have at most %d bytes.", PartSize)
	default:
		return codec.ValidateStored(&m.Content, m.Body)
	}
}

// readLine returns the next line that is not blank, or io.EOF after the last.
func (r *Reader) readLine(ctx context.Context) ([]byte, error) {
	for {
		r.endLine()
		var text []byte
		long, some := false, false
		for {
			part, err := r.lines.ReadSlice('\n')
			r.at.Offset += int64(len(part))
			some = some || len(part) > 0
			if long = long || len(text)+len(part) > MaxLine; long {
				text = nil
				r.endLine()
			} else {
				text = append(text, part...)
				if err := r.more(ctx, int64(cap(text))-r.line); err != nil {
					return nil, err
				}
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (!errors.Is(err, io.EOF) || !some) {
				return nil, err
			}
			break
		}
		r.at.Line++
		if long {
			return nil, r.lineError(engine.Refuse(engine.ErrTooLarge, "It has more than the %d bytes allowed in one line.", MaxLine))
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return text, nil
		}
	}
}

// lineError returns err as a LineError about the latest line.
func (r *Reader) lineError(err error) error {
	if _, ok := errors.AsType[*LineError](err); ok {
		return err
	}
	return &LineError{r.at.Line, err}
}

// A partsReader reads a body from its lines.
type partsReader struct {
	in   *Reader
	ctx  context.Context //nolint:containedctx // of the call of Next that returned the message
	left int64
	part []byte
	err  error // first error of the lines; kept
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
		p.part, p.err = p.in.readPart(p.ctx)
	}
	n := copy(b, p.part)
	p.part = p.part[n:]
	return n, nil
}

// readPart returns the next part. The line keeps its share until the next line is read.
func (r *Reader) readPart(ctx context.Context) ([]byte, error) {
	raw, err := r.readLine(ctx)
	if errors.Is(err, io.EOF) {
		return nil, r.lineError(engine.Refuse(engine.ErrArgument, "The lines end before the body of a message does."))
	}
	if err != nil {
		return nil, err
	}
	if err := r.more(ctx, int64(len(raw))); err != nil { // for the text and the decoded bytes
		return nil, err
	}
	var part Part
	if err := Decode(raw, &part); err != nil {
		return nil, r.lineError(err)
	}
	if part.Part == nil {
		return nil, r.lineError(engine.Refuse(engine.ErrArgument, "A line with a part of a body is missing."))
	}
	text, err := base64.StdEncoding.DecodeString(*part.Part)
	if err != nil {
		return nil, r.lineError(engine.Refuse(engine.ErrArgument, "The value for 'part' is not base64."))
	}
	return text, nil
}
