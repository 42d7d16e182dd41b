package archive

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"mayfly/engine"
	"mayfly/engine/record"
)

// A Source is what a backup is made of, as it was at one moment; storage.Look
// opens one. Body is called between two records of Load.
type Source interface {
	Load(ctx context.Context) iter.Seq2[engine.Record, error]
	Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error)
	Past(ctx context.Context, q engine.PastQuery) iter.Seq2[engine.PastEvent, error]
	Epoch() uint64 // called when Load has begun
}

// A Header says what a backup is of. Nothing depends on it.
type Header struct {
	Namespace string         `json:"namespace"`
	Source    string         `json:"source"` // kind of the store: sqlite, mongodb
	Epoch     uint64         `json:"epoch"`  // of the last commit in it
	Made      engine.Instant `json:"made"`   // by the clock of whoever made it
	History   bool           `json:"history"`
}

// Counts are how much there is of what.
type Counts struct {
	Queues        int64 `json:"queues"`
	Topics        int64 `json:"topics"`
	Subscriptions int64 `json:"subscriptions"`
	Rules         int64 `json:"rules"`
	AccessRules   int64 `json:"accessRules"` // of the namespace
	Settings      int64 `json:"settings"`
	Meters        int64 `json:"meters"`
	Sessions      int64 `json:"sessions"` // that have state
	Seen          int64 `json:"seen"`     // MessageIds that are remembered
	Contents      int64 `json:"contents"`
	Bodies        int64 `json:"bodies"`
	BodyBytes     int64 `json:"bodyBytes"`
	Messages      int64 `json:"messages"`
	Events        int64 `json:"events"`
}

// Count adds a record to what is counted.
func (c *Counts) Count(r engine.Record) {
	switch r := r.(type) {
	case engine.Entity:
		switch r.Kind {
		case engine.Queue:
			c.Queues++
		case engine.Topic:
			c.Topics++
		case engine.Subscription:
			c.Subscriptions++
		}
	case engine.Access:
		c.AccessRules += int64(len(r.Rules))
	case engine.Setting:
		c.Settings++
	case engine.Rule:
		c.Rules++
	case engine.Meter:
		c.Meters++
	case engine.Session:
		c.Sessions++
	case engine.Seen:
		c.Seen += int64(len(r.Digests))
	case engine.StoredContent:
		c.Contents++
		if n := r.Content.BodySize(); n > 0 {
			c.Bodies++
			c.BodyBytes += n
		}
	case engine.Message:
		c.Messages++
	}
}

// A Summary is what is known of a backup that was written or read.
type Summary struct {
	Header
	Counts
	Clock engine.Instant // when the last hard commit in it was decided; zero: there was none
	Bytes int64          // of the file
}

// rank is where a record has its place among others. Entities come before the
// rest of what is of theirs: a driver may want to know them.
func rank(r engine.Record) int {
	switch r.(type) {
	case engine.Clock:
		return 0
	case engine.Access, engine.Setting, engine.Entity:
		return 1
	case engine.Rule, engine.Meter:
		return 2
	case engine.Session, engine.Seen:
		return 3
	case engine.StoredContent:
		return 4
	default:
		return 5
	}
}

// A writing is one call of Write.
type writing struct {
	f       *frameWriter
	from    Source
	h       Header
	counts  Counts
	clock   engine.Instant
	begun   bool // the header is written
	last    int  // rank of the last record
	scratch []byte
}

// Write makes a backup of a source; h says of what, but for its Epoch. History
// is left out unless h.History is set. A store that another restore has left
// half full is refused, with engine.ErrUnfinished.
func Write(ctx context.Context, out io.Writer, from Source, h Header) (Summary, error) {
	counted := &counter{w: out}
	f, err := newFrameWriter(counted)
	if err != nil {
		return Summary{}, fmt.Errorf("write the backup: %w", err)
	}
	w := &writing{f: f, from: from, h: h, scratch: make([]byte, bodyFrame)}
	if err := w.all(ctx); err != nil {
		return Summary{}, fmt.Errorf("write the backup: %w", err)
	}
	return Summary{Header: w.h, Counts: w.counts, Clock: w.clock, Bytes: counted.n}, nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err //nolint:wrapcheck // a writer passes on what it gets
}

func (w *writing) all(ctx context.Context) error {
	for r, err := range w.from.Load(ctx) {
		if err != nil {
			return err
		}
		if err := w.record(ctx, r); err != nil {
			return err
		}
	}
	if err := w.begin(); err != nil {
		return err
	}
	if w.h.History {
		if err := w.history(ctx); err != nil {
			return err
		}
	}
	if err := w.json(frameTrailer, w.counts); err != nil {
		return err
	}
	return w.f.end()
}

// begin writes the header, once.
func (w *writing) begin() error {
	if w.begun {
		return nil
	}
	w.begun, w.h.Epoch = true, w.from.Epoch()
	return w.json(frameHeader, w.h)
}

func (w *writing) json(kind byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.f.put(kind, func(b []byte) []byte { return append(b, text...) })
}

func (w *writing) record(ctx context.Context, r engine.Record) error {
	if err := w.begin(); err != nil {
		return err
	}
	if rank(r) < w.last {
		return fmt.Errorf("the store yields a %T out of order", r)
	}
	w.last = rank(r)
	switch r := r.(type) {
	case engine.Clock:
		w.clock = r.Now
	case engine.Entity:
		if r.Kind == engine.Unfinished {
			return engine.ErrUnfinished
		}
	}
	w.counts.Count(r)
	if err := w.f.put(frameRecord, func(b []byte) []byte { return record.Append(b, r) }); err != nil {
		return fmt.Errorf("%T: %w", r, err)
	}
	if c, ok := r.(engine.StoredContent); ok && c.Content.BodySize() > 0 {
		return w.body(ctx, c)
	}
	return nil
}

func (w *writing) body(ctx context.Context, c engine.StoredContent) (err error) {
	r, err := w.from.Body(ctx, c.Key)
	if errors.Is(err, engine.ErrMessageNotFound) {
		return fmt.Errorf("body %d is not in the store, as mayfly verify may say of others: %w", c.Key, err)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	left := c.Content.BodySize()
	for left > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		chunk := w.scratch[:min(left, bodyFrame)]
		if n, err := io.ReadFull(r, chunk); err != nil {
			return fmt.Errorf("body %d of %d bytes ends %d bytes early: %w", c.Key, c.Content.BodySize(), left-int64(n), err)
		}
		if err := w.f.put(frameBody, func(b []byte) []byte { return append(b, chunk...) }); err != nil {
			return err
		}
		left -= int64(len(chunk))
	}
	if n, err := r.Read(w.scratch[:1]); n > 0 || err != nil && !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("body %d has more than its %d bytes", c.Key, c.Content.BodySize()), err)
	}
	return nil
}

// block is how many events are in memory at once, more or less: few enough for
// drivers to find them at one go.
const block = 400

// history writes events oldest first, though a source yields them the other way
// round: it goes over them once to learn where each block begins, then over the
// blocks.
func (w *writing) history(ctx context.Context) error {
	var starts []engine.PastPlace // of blocks, newest first
	n := 0
	for e, err := range w.from.Past(ctx, engine.PastQuery{}) {
		if err != nil {
			return err
		}
		if n++; n%block == 0 {
			starts = append(starts, e.Place())
		}
	}
	starts = append(starts, engine.PastPlace{}) // before all
	for i, start := range slices.Backward(starts) {
		var end engine.PastPlace
		if i > 0 {
			end = starts[i-1]
		}
		var events []engine.PastEvent
		for e, err := range w.from.Past(ctx, engine.PastQuery{From: start.At, Before: end}) {
			if err != nil {
				return err
			}
			if e.Place().Before(start) {
				break
			}
			events = append(events, e)
		}
		for _, e := range slices.Backward(events) {
			w.counts.Events++
			if err := w.f.put(frameEvent, func(b []byte) []byte {
				return record.AppendEvent(binary.AppendUvarint(b, e.Epoch), &e.Event)
			}); err != nil {
				return fmt.Errorf("event %d of epoch %d: %w", e.N, e.Epoch, err)
			}
		}
	}
	return nil
}
