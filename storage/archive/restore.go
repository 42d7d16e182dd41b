package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"mayfly/engine"
)

// ErrNotEmpty is wrapped by errors about restoring into a store that is not empty.
var ErrNotEmpty = errors.New("a backup can only be restored into an empty store")

// A CheckedBackup is a backup that was read to its end and is complete.
type CheckedBackup struct {
	Summary
	file       io.ReadSeeker
	sum        [sha256.Size]byte
	ids        *identities
	referenced keySet // contents that messages refer to
}

// keySet is a set of mostly consecutive keys, as bits.
type keySet map[engine.Key]uint64

func (s keySet) add(k engine.Key)      { s[k/64] |= 1 << (k % 64) }
func (s keySet) has(k engine.Key) bool { return s[k/64]&(1<<(k%64)) != 0 }

// Check reads a backup from beginning to end. It calls examine, unless that is nil, with every
// record, and returns its error if it refuses one. The error wraps ErrDamaged if the file is
// damaged.
func Check(ctx context.Context, file io.ReadSeeker, examine func(engine.Record) error) (*CheckedBackup, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	c := &CheckedBackup{file: file, ids: &identities{}, referenced: keySet{}}
	meet := idMapper(c.ids.addAndReturn)
	var err error
	c.Summary, c.sum, err = read(ctx, file, Visitor{
		Record: func(r engine.Record) error {
			meet.mapRecord(r)
			if m, ok := r.(engine.Message); ok {
				c.referenced.add(m.Content)
			}
			if examine == nil {
				return nil
			}
			return examine(r)
		},
		Event: func(e engine.HistoryEvent) error {
			meet.mapEvent(e.Event)
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// RestoreResult describes what Restore did, besides the Summary.
type RestoreResult struct {
	Started           bool  // the store was changed
	RemovedUnfinished bool  // removed the remains of an interrupted attempt
	SkippedEvents     int64 // events that were left out because the store has no history
}

// Restore restores the backup into a store, which must be empty except for events of servers
// that started and stopped on it. It leaves out contents that no message refers to, which some
// stores keep for a while. Close the store and open it again before serving it. If an error
// occurs after the restore had begun, the store stays marked as unfinished, see the package
// comment.
func (c *CheckedBackup) Restore(ctx context.Context, into engine.Store) (done RestoreResult, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore the backup: %w", err)
		}
	}()
	if err := c.ids.assign(into.Epoch()); err != nil {
		return done, err
	}
	r := &restorer{
		ctx: ctx, into: into, mapID: c.ids.mapped, referenced: c.referenced, written: map[engine.Key]engine.Packed{}, b: &engine.Batch{Hard: true, Now: c.Clock}, now: c.Clock,
	}
	r.history, _ = into.(engine.History)
	there, err := r.checkEmpty()
	if err != nil {
		return done, err
	}
	if there.restoreMark == 0 {
		there.restoreMark = engine.SubqueueID(c.ids.newID())
		r.b.Entities = []engine.Entity{{ID: there.restoreMark, Kind: engine.RestoreMark, Path: "a backup that is not restored to its end"}}
		done.Started = true // it may have: the outcome of a failed commit is unknown
		if err := r.flush(); err != nil {
			return done, err
		}
	} else {
		done.Started, done.RemovedUnfinished = true, true
		if err := r.removeUnfinished(there); err != nil {
			return done, err
		}
	}
	if err := r.restoreFile(c); err != nil {
		return done, err
	}
	r.b.DropSubqueues, done.SkippedEvents = []engine.SubqueueID{there.restoreMark}, r.skippedEvents
	return done, r.flush()
}

// restorer is the state of one call of Restore.
type restorer struct {
	ctx        context.Context //nolint:containedctx // it lives for one call
	into       engine.Store
	history    engine.History // nil if the store has none
	mapID      idMapper
	referenced keySet
	written    map[engine.Key]engine.Packed // contents by their new key; a server on the store needs as much memory

	now           engine.Instant
	b             *engine.Batch // to commit
	batchLen      int           // number of records and events in it
	batchBytes    int           // their estimated size
	rank          int           // rank of the records in it
	events        []engine.Event
	eventCount    uint64 // number of events so far
	skippedEvents int64  // events that were left out
}

// Limits of a batch: it is committed when it reaches batchRecords or batchBytes.
const (
	batchRecords = 1000
	batchBytes   = 2 << 20
	// minStagedBody is the size from which on a body is staged before its batch.
	minStagedBody = 64 << 10
	// eventBatch is how many events go to the history in one call.
	eventBatch = 256
)

// flushIfFull counts a record or event of `bytes` bytes that was added to the batch, and commits
// the batch if it is full.
func (r *restorer) flushIfFull(bytes int) error {
	const overhead = 128
	r.batchLen++
	if r.batchBytes += bytes + overhead; r.batchLen < batchRecords && r.batchBytes < batchBytes {
		return nil
	}
	return r.flush()
}

// flush writes the waiting events to the history, then commits the batch and begins a new one. It
// does not commit an empty batch.
func (r *restorer) flush() error {
	if err := r.flushEvents(); err != nil {
		return err
	}
	if r.b.Empty() {
		return nil
	}
	err := r.into.Commit(r.ctx, r.b)
	r.b, r.batchLen, r.batchBytes = &engine.Batch{Hard: true, Now: r.now}, 0, 0
	return err
}

// errReplaced means that the file is not the one that was checked.
var errReplaced = damaged("the file was replaced while it was read")

// restoreFile reads the file again and restores its content. It returns errReplaced if the
// file is not the one that was checked.
func (r *restorer) restoreFile(c *CheckedBackup) error {
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, sum, err := read(r.ctx, c.file, Visitor{Record: r.restoreRecord, Body: r.restoreBody, Event: r.restoreEvent})
	if err != nil {
		return err
	}
	if sum != c.sum || c.ids.unknown {
		return errReplaced
	}
	return r.flush()
}

func (r *restorer) restoreRecord(rec engine.Record) error {
	// Records may require those of lower ranks to be in the store.
	if rank(rec) != r.rank {
		if err := r.flush(); err != nil {
			return err
		}
		r.rank = rank(rec)
	}
	if c, ok := rec.(engine.StoredContent); ok && !r.referenced.has(c.Key) {
		return nil
	}
	switch rec := r.mapID.mapRecord(rec).(type) {
	case engine.Access:
		r.b.Access = &rec
	case engine.Setting:
		r.b.Settings = append(r.b.Settings, rec)
		return r.flushIfFull(len(rec.Key) + len(rec.Value))
	case engine.Entity:
		if rec.ID == 0 || rec.TransferID == 0 { // Check has not seen these identities
			return errReplaced
		}
		r.b.Entities = append(r.b.Entities, rec)
	case engine.Rule:
		r.b.Rules = append(r.b.Rules, rec)
	case engine.Meter:
		r.b.Meters = append(r.b.Meters, rec)
	case engine.SessionRecord:
		r.b.Sessions = append(r.b.Sessions, rec)
		return r.flushIfFull(len(rec.ID) + len(rec.State))
	case engine.SeenIDs:
		r.b.Seen = append(r.b.Seen, rec)
		return r.flushIfFull(len(rec.Digests) * len(engine.Digest{}))
	case engine.StoredContent:
		r.written[rec.Key] = rec.Content
		if rec.Content.BodySize() > 0 { // committed with its body
			return nil
		}
		r.b.Contents = append(r.b.Contents, rec)
		return r.flushIfFull(len(rec.Content))
	case engine.Message:
		r.b.Messages = append(r.b.Messages, rec)
		r.b.Written = append(r.b.Written, r.written[rec.Content])
	default: // every batch has the clock
		return nil
	}
	return r.flushIfFull(0)
}

func (r *restorer) restoreBody(c engine.StoredContent, body io.Reader) error {
	if !r.referenced.has(c.Key) {
		return nil
	}
	c.Key = r.mapID.mapKey(c.Key)
	size := c.Content.BodySize()
	if size > minStagedBody {
		if err := r.into.Stage(r.ctx, c.Key, body); err != nil {
			return err
		}
	} else {
		b := make([]byte, size)
		if _, err := io.ReadFull(body, b); err != nil {
			return err
		}
		r.b.Bodies = append(r.b.Bodies, engine.Body{Key: c.Key, Bytes: b})
		r.batchBytes += len(b)
	}
	r.b.Contents = append(r.b.Contents, c)
	return r.flushIfFull(len(c.Content))
}

// restoreEvent stores an event under a new number. Audit events are committed in a batch, as
// they were originally.
func (r *restorer) restoreEvent(recorded engine.HistoryEvent) error {
	if r.history == nil {
		r.skippedEvents++
		return nil
	}
	e := r.mapID.mapEvent(recorded.Event)
	r.eventCount++
	e.N = r.eventCount
	if e.Audit {
		r.b.Audit = append(r.b.Audit, e)
		return r.flushIfFull(len(e.Content))
	}
	if r.events = append(r.events, e); len(r.events) < eventBatch {
		return nil
	}
	return r.flushEvents()
}

func (r *restorer) flushEvents() error {
	if len(r.events) == 0 {
		return nil
	}
	err := r.history.AppendEvents(r.ctx, r.events)
	r.events = r.events[:0]
	return err
}

// existingContent lists the records that a store has before a restore, for removing them.
type existingContent struct {
	restoreMark engine.SubqueueID // of an interrupted attempt; zero means none
	entities    []engine.Entity
	contents    []engine.DroppedContent
	settings    []string // keys
}

// checkEmpty returns the content of the store. The error wraps ErrNotEmpty if an operator may want
// to keep that content, because it is not the remains of an interrupted restore.
func (r *restorer) checkEmpty() (there existingContent, err error) {
	for rec, err := range r.into.Load(r.ctx) {
		if err != nil {
			return there, err
		}
		switch rec := rec.(type) {
		case engine.Entity:
			if rec.Kind == engine.RestoreMark {
				there.restoreMark = rec.ID
			} else {
				there.entities = append(there.entities, rec)
			}
		case engine.Setting:
			there.settings = append(there.settings, rec.Key)
		case engine.StoredContent:
			there.contents = append(there.contents, engine.DroppedContent{Key: rec.Key, HasBody: rec.Content.BodySize() > 0})
		}
	}
	if there.restoreMark != 0 {
		return there, nil
	}
	if n := len(there.entities); n > 0 {
		return there, fmt.Errorf("%w, but this one has %q", ErrNotEmpty, there.entities[0].Path)
	}
	if len(there.settings) > 0 {
		return there, fmt.Errorf("%w, but this one has the setting %q", ErrNotEmpty, there.settings[0])
	}
	if r.history == nil {
		return there, nil
	}
	for e, err := range r.history.QueryEvents(r.ctx, engine.HistoryQuery{}) {
		if err != nil {
			return there, err
		}
		if e.Path != "" || e.Audit {
			return there, fmt.Errorf("%w, but this one has a history", ErrNotEmpty)
		}
	}
	return there, nil
}

// removeUnfinished removes the remains of an interrupted attempt, with its history. Dropping a
// subqueue also drops its messages, sessions and remembered MessageIds.
func (r *restorer) removeUnfinished(there existingContent) error {
	for _, e := range there.entities {
		for _, id := range []engine.SubqueueID{e.ID, e.DeadLetterID, e.TransferID} {
			if id != 0 {
				r.b.DropSubqueues = append(r.b.DropSubqueues, id)
			}
		}
		if err := r.flushIfFull(0); err != nil {
			return err
		}
	}
	for _, key := range there.settings {
		r.b.DropSettings = append(r.b.DropSettings, key)
		if err := r.flushIfFull(0); err != nil {
			return err
		}
	}
	for _, c := range there.contents {
		r.b.DropContents = append(r.b.DropContents, c)
		if err := r.flushIfFull(0); err != nil {
			return err
		}
	}
	if err := r.flush(); err != nil {
		return err
	}
	if r.history == nil {
		return nil
	}
	for e, err := range r.history.QueryEvents(r.ctx, engine.HistoryQuery{Limit: 1}) {
		if err != nil {
			return err
		}
		return r.history.TrimEvents(r.ctx, e.At+1, 0)
	}
	return nil
}
