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
	"mayfly/engine/codec"
)

// A Source is the content of a store at one moment; storage.OpenSnapshot opens one. Body is
// called between two records of Load.
type Source interface {
	Load(ctx context.Context) iter.Seq2[engine.Record, error]
	Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error)
	QueryEvents(ctx context.Context, q engine.HistoryQuery) iter.Seq2[engine.HistoryEvent, error]
	Epoch() uint64 // valid once Load has begun
}

// A Header describes a backup. Restore does not depend on it; the command restore takes the
// default namespace from it.
type Header struct {
	Namespace string         `json:"namespace"`
	Source    string         `json:"source"` // kind of the store: sqlite, mongodb
	Epoch     uint64         `json:"epoch"`  // of the last commit in it
	Made      engine.Instant `json:"made"`   // by the clock of the machine that made it
	History   bool           `json:"history"`
}

// Counts are the numbers of records, bodies and events in a backup.
type Counts struct {
	Queues        int64 `json:"queues"`
	Topics        int64 `json:"topics"`
	Subscriptions int64 `json:"subscriptions"`
	Rules         int64 `json:"rules"`
	AccessRules   int64 `json:"accessRules"` // of the namespace
	Settings      int64 `json:"settings"`
	Meters        int64 `json:"meters"`
	Sessions      int64 `json:"sessions"` // with state
	Seen          int64 `json:"seen"`     // remembered for duplicate detection
	Contents      int64 `json:"contents"`
	Bodies        int64 `json:"bodies"`
	BodyBytes     int64 `json:"bodyBytes"`
	Messages      int64 `json:"messages"`
	Events        int64 `json:"events"`
}

// Count adds a record to the counts.
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
	case engine.SessionRecord:
		c.Sessions++
	case engine.SeenIDs:
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

// A Summary describes a backup that was written or read.
type Summary struct {
	Header
	Counts
	Clock engine.Instant // time of the last hard commit in it; zero if there was none
	Bytes int64          // of the file
}

// rank returns a record's position in the order of kinds. Entities come before the records
// that belong to them, because a driver may require that.
func rank(r engine.Record) int {
	switch r.(type) {
	case engine.Clock:
		return 0
	case engine.Access, engine.Setting, engine.Entity:
		return 1
	case engine.Rule, engine.Meter:
		return 2
	case engine.SessionRecord, engine.SeenIDs:
		return 3
	case engine.StoredContent:
		return 4
	default:
		return 5
	}
}

// A backupWriter is the state of one call of Write.
type backupWriter struct {
	f             *frameWriter
	from          Source
	h             Header
	counts        Counts
	clock         engine.Instant
	headerWritten bool
	last          int // rank of the last record
	scratch       []byte
}

// Write writes a backup of a source; h describes it, except for Epoch. History is left out
// unless h.History is set. The error wraps engine.ErrRestoreIncomplete for a store in which a
// restore did not finish.
func Write(ctx context.Context, out io.Writer, from Source, h Header) (Summary, error) {
	counted := &countingWriter{w: out}
	f, err := newFrameWriter(counted)
	if err != nil {
		return Summary{}, fmt.Errorf("write the backup: %w", err)
	}
	w := &backupWriter{f: f, from: from, h: h, scratch: make([]byte, bodyFrameBytes)}
	if err := w.all(ctx); err != nil {
		return Summary{}, fmt.Errorf("write the backup: %w", err)
	}
	return Summary{Header: w.h, Counts: w.counts, Clock: w.clock, Bytes: counted.n}, nil
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func (w *backupWriter) all(ctx context.Context) error {
	for r, err := range w.from.Load(ctx) {
		if err != nil {
			return err
		}
		if d, ok := r.(engine.Damaged); ok {
			return fmt.Errorf("%w: message %d is damaged and would be missing from the backup; set it aside first with mayfly damaged --set-aside", engine.ErrDamaged, d.Key)
		}
		if err := w.writeRecord(ctx, r); err != nil {
			return err
		}
	}
	if err := w.writeHeader(); err != nil {
		return err
	}
	if w.h.History {
		if err := w.writeHistory(ctx); err != nil {
			return err
		}
	}
	if err := w.writeJSON(frameTrailer, w.counts); err != nil {
		return err
	}
	return w.f.end()
}

// writeHeader writes the header, once.
func (w *backupWriter) writeHeader() error {
	if w.headerWritten {
		return nil
	}
	w.headerWritten, w.h.Epoch = true, w.from.Epoch()
	return w.writeJSON(frameHeader, w.h)
}

func (w *backupWriter) writeJSON(kind byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.f.put(kind, func(b []byte) []byte { return append(b, text...) })
}

func (w *backupWriter) writeRecord(ctx context.Context, r engine.Record) error {
	if err := w.writeHeader(); err != nil {
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
		if r.Kind == engine.RestoreMark {
			return engine.ErrRestoreIncomplete
		}
	}
	w.counts.Count(r)
	if err := w.f.put(frameRecord, func(b []byte) []byte { return codec.Append(b, r) }); err != nil {
		return fmt.Errorf("%T: %w", r, err)
	}
	if c, ok := r.(engine.StoredContent); ok && c.Content.BodySize() > 0 {
		return w.writeBody(ctx, c)
	}
	return nil
}

func (w *backupWriter) writeBody(ctx context.Context, c engine.StoredContent) (err error) {
	r, err := w.from.Body(ctx, c.Key)
	if errors.Is(err, engine.ErrMessageNotFound) {
		return fmt.Errorf("body %d is missing from the store; run mayfly verify to find others: %w", c.Key, err)
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
		chunk := w.scratch[:min(left, bodyFrameBytes)]
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

// block is roughly the number of events that writeHistory holds in memory at once: few enough for
// drivers to find them in one query.
const block = 400

// writeHistory writes events oldest first, though a source yields them newest first: it reads them
// once to find where each block begins, then reads the blocks.
func (w *backupWriter) writeHistory(ctx context.Context) error {
	var starts []engine.HistoryCursor // of blocks, newest first
	n := 0
	for e, err := range w.from.QueryEvents(ctx, engine.HistoryQuery{}) {
		if err != nil {
			return err
		}
		if n++; n%block == 0 {
			starts = append(starts, e.Cursor())
		}
	}
	starts = append(starts, engine.HistoryCursor{}) // before all
	for i, start := range slices.Backward(starts) {
		var end engine.HistoryCursor
		if i > 0 {
			end = starts[i-1]
		}
		var events []engine.HistoryEvent
		for e, err := range w.from.QueryEvents(ctx, engine.HistoryQuery{From: start.At, Before: end}) {
			if err != nil {
				return err
			}
			if e.Cursor().Before(start) {
				break
			}
			events = append(events, e)
		}
		for _, e := range slices.Backward(events) {
			w.counts.Events++
			if err := w.f.put(frameEvent, func(b []byte) []byte {
				return codec.AppendEvent(binary.AppendUvarint(b, e.Epoch), &e.Event)
			}); err != nil {
				return fmt.Errorf("event %d of epoch %d: %w", e.N, e.Epoch, err)
			}
		}
	}
	return nil
}
