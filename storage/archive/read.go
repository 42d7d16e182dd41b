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
	"mayfly/engine/codec"
)

// A Visitor gets the content of a backup, in the order of the file. Nil functions are not
// called. An error from a function ends the reading.
type Visitor struct {
	Header func(Header) error
	Record func(engine.Record) error
	// Body is called after the record of its content. It need not read body to its end, and
	// must not keep it.
	Body  func(c engine.StoredContent, body io.Reader) error
	Event func(engine.HistoryEvent) error
}

// Read reads a backup to its end. If it returns an error, v may have received only a part of
// the backup. The error wraps ErrDamaged if the file is damaged.
func Read(ctx context.Context, from io.Reader, v Visitor) (Summary, error) {
	s, _, err := read(ctx, from, v)
	return s, err
}

// A backupReader is the state of one call of Read.
type backupReader struct {
	f     *frameReader
	v     Visitor
	s     Summary
	last  int // rank of the last record; that of events is higher
	kind  byte
	frame []byte
}

func read(ctx context.Context, from io.Reader, v Visitor) (s Summary, sum [sha256.Size]byte, err error) {
	f, err := newFrameReader(from)
	if err != nil {
		return s, sum, err
	}
	r := &backupReader{f: f, v: v}
	if err := r.readHeader(); err != nil {
		return s, sum, err
	}
	if err := r.nextFrame(); err != nil {
		return s, sum, err
	}
	for r.kind != frameTrailer {
		if ctx.Err() != nil {
			return s, sum, fmt.Errorf("read the backup: %w", context.Cause(ctx))
		}
		if err := r.readItem(); err != nil {
			return s, sum, err
		}
	}
	if err := r.readTrailer(); err != nil {
		return s, sum, err
	}
	sum, err = f.end()
	r.s.Bytes = f.in.consumed + int64(f.in.at)
	return r.s, sum, err
}

func (r *backupReader) nextFrame() (err error) {
	r.kind, r.frame, err = r.f.next()
	return err
}

func (r *backupReader) readHeader() error {
	if err := r.nextFrame(); err != nil {
		return err
	}
	if r.kind != frameHeader {
		return damaged("the header is missing")
	}
	if err := json.Unmarshal(r.frame, &r.s.Header); err != nil {
		return damaged("the header cannot be read: %w", err)
	}
	if r.v.Header != nil {
		return r.v.Header(r.s.Header)
	}
	return nil
}

func (r *backupReader) readTrailer() error {
	var counts Counts
	if err := json.Unmarshal(r.frame, &counts); err != nil {
		return damaged("the trailer cannot be read: %w", err)
	}
	if counts != r.s.Counts {
		return damaged("the trailer counts %+v, but the backup contains %+v", counts, r.s.Counts)
	}
	return nil
}

// readItem handles a record, with the frames of its body, or an event, and reads the next frame.
func (r *backupReader) readItem() error {
	switch r.kind {
	case frameRecord:
		return r.readRecord()
	case frameEvent:
		return r.readEvent()
	default:
		return damaged("frame %d has kind %d, which is not allowed there", r.f.n, r.kind)
	}
}

func (r *backupReader) readRecord() error {
	rec, err := codec.Parse(r.frame)
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
		switch {
		case rec.Kind == engine.RestoreMark:
			return damaged("frame %d has a record that backups do not contain", r.f.n)
		case rec.TransferID == 0:
			return fmt.Errorf("the backup was written by an older Mayfly, which this version does not support: %s %q has no transfer dead-letter queue; "+
				"restore it with an older version, start a server of that version on the store, and back it up again", rec.Kind, rec.Path)
		}
	}
	r.s.Count(rec)
	if r.v.Record != nil {
		if err := r.v.Record(rec); err != nil {
			return err
		}
	}
	if err := r.nextFrame(); err != nil {
		return err
	}
	c, ok := rec.(engine.StoredContent)
	if !ok || c.Content.BodySize() <= 0 {
		return nil
	}
	return r.readBody(c)
}

func (r *backupReader) readBody(c engine.StoredContent) error {
	body := &bodyReader{r: r, remaining: c.Content.BodySize()}
	if r.v.Body != nil {
		if err := r.v.Body(c, body); err != nil {
			if body.err != nil && !errors.Is(body.err, io.EOF) { // the error of the file, as returned by body
				return body.err
			}
			return err
		}
	}
	_, err := io.Copy(io.Discard, body)
	return err
}

// A bodyReader reads the frames of a body, the first of which is r's current one. At its end
// r's current frame is the one after them.
type bodyReader struct {
	r         *backupReader
	remaining int64
	frame     bytes.Reader // rest of the current frame
	err       error
}

func (b *bodyReader) Read(p []byte) (int, error) {
	if b.err == nil && b.frame.Len() == 0 {
		b.err = b.begin()
	}
	if b.err != nil {
		return 0, b.err
	}
	n, _ := b.frame.Read(p) //nolint:errcheck // there is something to read
	b.remaining -= int64(n)
	if b.frame.Len() == 0 { // p has its own copy
		if err := b.r.nextFrame(); err != nil {
			b.err = err
		}
	}
	return n, nil
}

func (b *bodyReader) begin() error {
	switch {
	case b.remaining == 0:
		return io.EOF
	case b.r.kind != frameBody:
		return damaged("frame %d comes %d bytes before the end of a body", b.r.f.n, b.remaining)
	case int64(len(b.r.frame)) != min(b.remaining, bodyFrameBytes):
		return damaged("frame %d has %d bytes of a body that has %d bytes left", b.r.f.n, len(b.r.frame), b.remaining)
	}
	b.frame.Reset(b.r.frame)
	return nil
}

func (r *backupReader) readEvent() error {
	const events = 6 // after all records
	r.last = events
	epoch, n := binary.Uvarint(r.frame)
	if n <= 0 {
		return damaged("frame %d has an event without an epoch", r.f.n)
	}
	e, err := codec.ParseEvent(r.frame[n:])
	if err != nil {
		return damaged("frame %d: %w", r.f.n, err)
	}
	r.s.Events++
	if r.v.Event != nil {
		if err := r.v.Event(engine.HistoryEvent{Epoch: epoch, Event: e}); err != nil {
			return err
		}
	}
	return r.nextFrame()
}
