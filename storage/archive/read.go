package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"mayfly/engine"
	"mayfly/engine/record"
)

// A Visitor is given what is in a backup, in the order of the file. Functions
// that are nil are not called. An error of one ends the reading.
type Visitor struct {
	Header func(Header) error
	Record func(engine.Record) error
	// Body is called after the record of its content. It need not read on to the
	// end, and not keep body.
	Body  func(c engine.StoredContent, body io.Reader) error
	Event func(engine.PastEvent) error
}

// Read reads a backup to its end. What v was given counts only if there was no
// error: one that wraps ErrDamaged says that the file is not as it was written.
func Read(ctx context.Context, from io.Reader, v Visitor) (Summary, error) {
	s, _, err := read(ctx, from, v)
	return s, err
}

// A reading is one call of Read.
type reading struct {
	f    *frameReader
	v    Visitor
	s    Summary
	last int // rank of the last record; that of events is higher
	kind byte
	b    []byte
}

func read(ctx context.Context, from io.Reader, v Visitor) (s Summary, sum [sha256.Size]byte, err error) {
	f, err := newFrameReader(from)
	if err != nil {
		return s, sum, err
	}
	r := &reading{f: f, v: v}
	if err := r.header(); err != nil {
		return s, sum, err
	}
	if err := r.next(); err != nil {
		return s, sum, err
	}
	for r.kind != frameTrailer {
		if ctx.Err() != nil {
			return s, sum, fmt.Errorf("read the backup: %w", context.Cause(ctx))
		}
		if err := r.frame(); err != nil {
			return s, sum, err
		}
	}
	if err := r.trailer(); err != nil {
		return s, sum, err
	}
	sum, err = f.end()
	r.s.Bytes = f.in.consumed + int64(f.in.at)
	return r.s, sum, err
}

func (r *reading) next() (err error) {
	r.kind, r.b, err = r.f.next()
	return err
}

func (r *reading) header() error {
	if err := r.next(); err != nil {
		return err
	}
	if r.kind != frameHeader {
		return damaged("it does not begin with a header")
	}
	if err := json.Unmarshal(r.b, &r.s.Header); err != nil {
		return damaged("its header cannot be read: %w", err)
	}
	if r.v.Header != nil {
		return r.v.Header(r.s.Header)
	}
	return nil
}

func (r *reading) trailer() error {
	var counts Counts
	if err := json.Unmarshal(r.b, &counts); err != nil {
		return damaged("its trailer cannot be read: %w", err)
	}
	if counts != r.s.Counts {
		return damaged("its trailer counts %+v, and there is %+v", counts, r.s.Counts)
	}
	return nil
}

// frame takes a frame in, with those that belong to it, and goes on to the
// next.
func (r *reading) frame() error {
	switch r.kind {
	case frameRecord:
		return r.record()
	case frameEvent:
		return r.event()
	default:
		return damaged("frame %d is of kind %d, which has no place there", r.f.n, r.kind)
	}
}

func (r *reading) record() error {
	rec, err := record.Parse(r.b)
	if err != nil {
		return damaged("frame %d: %w", r.f.n, err)
	}
	if rank(rec) < r.last {
		return damaged("frame %d has a %T out of order", r.f.n, rec)
	}
	r.last = rank(rec)
	switch rec := rec.(type) {
	case engine.Clock:
		r.s.Clock = rec.Now
	case engine.Entity:
		if rec.Kind == engine.Unfinished {
			return damaged("frame %d has a mark that is in no backup", r.f.n)
		}
	}
	r.s.Count(rec)
	if r.v.Record != nil {
		if err := r.v.Record(rec); err != nil {
			return err
		}
	}
	if err := r.next(); err != nil {
		return err
	}
	c, ok := rec.(engine.StoredContent)
	if !ok || c.Content.BodySize() <= 0 {
		return nil
	}
	return r.body(c)
}

func (r *reading) body(c engine.StoredContent) error {
	body := &bodyReader{r: r, left: c.Content.BodySize()}
	if r.v.Body != nil {
		if err := r.v.Body(c, body); err != nil {
			if body.err != nil && !errors.Is(body.err, io.EOF) { // the file's, told by whoever read it
				return body.err
			}
			return err
		}
	}
	_, err := io.Copy(io.Discard, body)
	return err
}

// A bodyReader reads the frames of a body, the first of which is r's present
// one. At its end r's present frame is the one behind them.
type bodyReader struct {
	r    *reading
	left int64
	now  bytes.Reader // of the frame that was begun
	err  error
}

func (b *bodyReader) Read(p []byte) (int, error) {
	if b.err == nil && b.now.Len() == 0 {
		b.err = b.begin()
	}
	if b.err != nil {
		return 0, b.err
	}
	n, _ := b.now.Read(p) //nolint:errcheck // there is something to read
	b.left -= int64(n)
	if b.now.Len() == 0 { // p has its own copy
		if err := b.r.next(); err != nil {
			b.err = err
		}
	}
	return n, nil
}

func (b *bodyReader) begin() error {
	switch {
	case b.left == 0:
		return io.EOF
	case b.r.kind != frameBody:
		return damaged("frame %d comes %d bytes before the end of a body", b.r.f.n, b.left)
	case int64(len(b.r.b)) != min(b.left, bodyFrame):
		return damaged("frame %d has %d bytes of a body of which there are %d more", b.r.f.n, len(b.r.b), b.left)
	}
	b.now.Reset(b.r.b)
	return nil
}

func (r *reading) event() error {
	const events = 6 // behind all records
	r.last = events
	epoch, n := binary.Uvarint(r.b)
	if n <= 0 {
		return damaged("frame %d has an event of no epoch", r.f.n)
	}
	e, err := record.ParseEvent(r.b[n:])
	if err != nil {
		return damaged("frame %d: %w", r.f.n, err)
	}
	r.s.Events++
	if r.v.Event != nil {
		if err := r.v.Event(engine.PastEvent{Epoch: epoch, Event: e}); err != nil {
			return err
		}
	}
	return r.next()
}
