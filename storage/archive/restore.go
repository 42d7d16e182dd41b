package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"mayfly/engine"
)

// ErrNotEmpty is wrapped when a backup is to be restored into a store that
// holds something.
var ErrNotEmpty = errors.New("a backup is restored into an empty store only")

// A Checked backup is one that was read to its end and is whole.
type Checked struct {
	Summary
	file io.ReadSeeker
	sum  [sha256.Size]byte
	ids  *identities
	used keys // contents that messages refer to
}

// keys is a set of keys that mostly follow each other, as bits.
type keys map[engine.Key]uint64

func (s keys) add(k engine.Key)      { s[k/64] |= 1 << (k % 64) }
func (s keys) has(k engine.Key) bool { return s[k/64]&(1<<(k%64)) != 0 }

// Check reads a backup from its beginning to its end. examine, unless it is
// nil, is given every record, and can refuse the backup for what is in it.
func Check(ctx context.Context, file io.ReadSeeker, examine func(engine.Record) error) (*Checked, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	c := &Checked{file: file, ids: &identities{}, used: keys{}}
	meet := change(c.ids.meeting)
	var err error
	c.Summary, c.sum, err = read(ctx, file, Visitor{
		Record: func(r engine.Record) error {
			meet.record(r)
			if m, ok := r.(engine.Message); ok {
				c.used.add(m.Content)
			}
			if examine == nil {
				return nil
			}
			return examine(r)
		},
		Event: func(e engine.PastEvent) error {
			meet.event(e.Event)
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Restored is what Restore did beside what the Summary says.
type Restored struct {
	Begun       bool  // the store is not as it was
	Cleared     bool  // the remains of an attempt that was interrupted
	LeftHistory int64 // events that the store has no history for
}

// Restore puts the backup into a store, which must be empty but for events of
// servers that started and stopped there. Contents that no message refers to,
// which some stores keep for a while, are left out. The store is to be closed and opened
// again before it is served. After an error it is marked as half full, see the
// package comment, if the restore had begun.
func (c *Checked) Restore(ctx context.Context, into engine.Store) (done Restored, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore the backup: %w", err)
		}
	}()
	if err := c.ids.settle(into.Epoch()); err != nil {
		return done, err
	}
	r := &restoring{
		ctx: ctx, into: into, move: c.ids.moved, used: c.used, written: map[engine.Key]engine.Packed{}, b: &engine.Batch{Hard: true, Now: c.Clock}, now: c.Clock,
	}
	r.history, _ = into.(engine.History)
	there, err := r.look()
	if err != nil {
		return done, err
	}
	if there.mark == 0 {
		there.mark = engine.HolderID(c.ids.fresh())
		r.b.Entities = []engine.Entity{{ID: there.mark, Kind: engine.Unfinished, Path: "a backup that is not restored to its end"}}
		done.Begun = true // perhaps: nobody knows what a commit that failed has done
		if err := r.flush(); err != nil {
			return done, err
		}
	} else {
		done.Begun, done.Cleared = true, true
		if err := r.clear(there); err != nil {
			return done, err
		}
	}
	if err := r.fill(c); err != nil {
		return done, err
	}
	r.b.DropHolders, done.LeftHistory = []engine.HolderID{there.mark}, r.left
	return done, r.flush()
}

// restoring is one call of Restore.
type restoring struct {
	ctx     context.Context //nolint:containedctx // it lives for one call
	into    engine.Store
	history engine.History // nil if the store has none
	move    change
	used    keys
	written map[engine.Key]engine.Packed // contents by their new key, as much as the next server will keep

	now    engine.Instant
	b      *engine.Batch // to be committed
	n      int           // of things in it
	bytes  int           // that they take, more or less
	rank   int           // of the records in it
	events []engine.Event
	e      uint64 // events so far
	left   int64  // events without a place
}

// A batch is committed when it has so many things or bytes in it.
const (
	batchThings = 1000
	batchBytes  = 2 << 20
	// staged is the size from which on a body goes to the store by itself.
	staged = 64 << 10
	// eventsAtOnce are given to a history at once.
	eventsAtOnce = 256
)

// added says that something was put into the batch.
func (r *restoring) added(bytes int) error {
	const overhead = 128
	r.n++
	if r.bytes += bytes + overhead; r.n < batchThings && r.bytes < batchBytes {
		return nil
	}
	return r.flush()
}

// flush commits what there is.
func (r *restoring) flush() error {
	if err := r.remember(); err != nil {
		return err
	}
	if r.b.Empty() {
		return nil
	}
	err := r.into.Commit(r.ctx, r.b)
	r.b, r.n, r.bytes = &engine.Batch{Hard: true, Now: r.now}, 0, 0
	return err
}

// fill reads the file once more and puts everything into the store. Nobody can
// have changed it in between without being noticed at the end.
func (r *restoring) fill(c *Checked) error {
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, sum, err := read(r.ctx, c.file, Visitor{Record: r.record, Body: r.body, Event: r.event})
	if err != nil {
		return err
	}
	if sum != c.sum || c.ids.stray {
		return damaged("it is another file than it was a moment ago")
	}
	return r.flush()
}

func (r *restoring) record(rec engine.Record) error {
	// What comes before may have to be there for what comes after.
	if rank(rec) != r.rank {
		if err := r.flush(); err != nil {
			return err
		}
		r.rank = rank(rec)
	}
	if c, ok := rec.(engine.StoredContent); ok && !r.used.has(c.Key) {
		return nil
	}
	switch rec := r.move.record(rec).(type) {
	case engine.Access:
		r.b.Access = &rec
	case engine.Setting:
		r.b.Settings = append(r.b.Settings, rec)
		return r.added(len(rec.Key) + len(rec.Value))
	case engine.Entity:
		r.b.Entities = append(r.b.Entities, rec)
	case engine.Rule:
		r.b.Rules = append(r.b.Rules, rec)
	case engine.Meter:
		r.b.Meters = append(r.b.Meters, rec)
	case engine.Session:
		r.b.Sessions = append(r.b.Sessions, rec)
		return r.added(len(rec.ID) + len(rec.State))
	case engine.Seen:
		r.b.Seen = append(r.b.Seen, rec)
		return r.added(len(rec.Digests) * len(engine.Digest{}))
	case engine.StoredContent:
		r.written[rec.Key] = rec.Content
		if rec.Content.BodySize() > 0 { // it comes with its body
			return nil
		}
		r.b.Contents = append(r.b.Contents, rec)
		return r.added(len(rec.Content))
	case engine.Message:
		r.b.Messages = append(r.b.Messages, rec)
		r.b.Written = append(r.b.Written, r.written[rec.Content])
	default: // the clock goes with every batch
		return nil
	}
	return r.added(0)
}

func (r *restoring) body(c engine.StoredContent, body io.Reader) error {
	if !r.used.has(c.Key) {
		return nil
	}
	c.Key = r.move.key(c.Key)
	size := c.Content.BodySize()
	if size > staged {
		if err := r.into.Stage(r.ctx, c.Key, body); err != nil {
			return err
		}
	} else {
		b := make([]byte, size)
		if _, err := io.ReadFull(body, b); err != nil {
			return err
		}
		r.b.Bodies = append(r.b.Bodies, engine.Body{Key: c.Key, Bytes: b})
		r.bytes += len(b)
	}
	r.b.Contents = append(r.b.Contents, c)
	return r.added(len(c.Content))
}

// event remembers what happened under a new number. What operators did comes
// with a batch, as it did the first time.
func (r *restoring) event(past engine.PastEvent) error {
	if r.history == nil {
		r.left++
		return nil
	}
	e := r.move.event(past.Event)
	r.e++
	e.N = r.e
	if e.Audit {
		r.b.Audit = append(r.b.Audit, e)
		return r.added(len(e.Content))
	}
	if r.events = append(r.events, e); len(r.events) < eventsAtOnce {
		return nil
	}
	return r.remember()
}

func (r *restoring) remember() error {
	if len(r.events) == 0 {
		return nil
	}
	err := r.history.Remember(r.ctx, r.events)
	r.events = r.events[:0]
	return err
}

// held is what a store holds that is not empty.
type held struct {
	mark     engine.HolderID // of an attempt that was interrupted; zero: none
	entities []engine.Entity
	contents []engine.DroppedContent
	settings []string // keys
}

// look refuses a store that holds anything that somebody may want to keep.
func (r *restoring) look() (there held, err error) {
	for rec, err := range r.into.Load(r.ctx) {
		if err != nil {
			return there, err
		}
		switch rec := rec.(type) {
		case engine.Entity:
			if rec.Kind == engine.Unfinished {
				there.mark = rec.ID
			} else {
				there.entities = append(there.entities, rec)
			}
		case engine.Setting:
			there.settings = append(there.settings, rec.Key)
		case engine.StoredContent:
			there.contents = append(there.contents, engine.DroppedContent{Key: rec.Key, HasBody: rec.Content.BodySize() > 0})
		}
	}
	if there.mark != 0 {
		return there, nil
	}
	if n := len(there.entities); n > 0 {
		return there, fmt.Errorf("%w, and %q is in this one", ErrNotEmpty, there.entities[0].Path)
	}
	if len(there.settings) > 0 {
		return there, fmt.Errorf("%w, and this one has the setting %q", ErrNotEmpty, there.settings[0])
	}
	if r.history == nil {
		return there, nil
	}
	for e, err := range r.history.Past(r.ctx, engine.PastQuery{}) {
		if err != nil {
			return there, err
		}
		if e.Path != "" || e.Audit {
			return there, fmt.Errorf("%w, and this one has a history", ErrNotEmpty)
		}
	}
	return there, nil
}

// clear removes what an attempt that was interrupted has left. Messages, sessions
// and what was seen go with their holders.
func (r *restoring) clear(there held) error {
	for _, e := range there.entities {
		for _, place := range []engine.HolderID{e.ID, e.DeadLetterID, e.TransferID} {
			if place != 0 {
				r.b.DropHolders = append(r.b.DropHolders, place)
			}
		}
		if err := r.added(0); err != nil {
			return err
		}
	}
	for _, key := range there.settings {
		r.b.DropSettings = append(r.b.DropSettings, key)
		if err := r.added(0); err != nil {
			return err
		}
	}
	for _, c := range there.contents {
		r.b.DropContents = append(r.b.DropContents, c)
		if err := r.added(0); err != nil {
			return err
		}
	}
	if err := r.flush(); err != nil {
		return err
	}
	if r.history == nil {
		return nil
	}
	for e, err := range r.history.Past(r.ctx, engine.PastQuery{Limit: 1}) {
		if err != nil {
			return err
		}
		return r.history.Forget(r.ctx, e.At+1, 0)
	}
	return nil
}
