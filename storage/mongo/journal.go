package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
	"mayfly/engine/codec"
)

const (
	// maxEntryBytes is the maximum number of bytes of a batch in one document of journal or parts.
	// The first document is in journal, further ones are in parts.
	maxEntryBytes = 8 << 20
	// Limits on the commits that wait to be applied. Beyond them, Commit waits.
	maxUnappliedCommits = 10_000
	maxUnappliedBytes   = 64 << 20 // bytes
)

// An entryDoc is a document of journal: a commit, or the fence that ends the commits of an
// epoch.
type entryDoc struct {
	ID      string `bson:"_id"`
	Token   string `bson:"token"`             // of the open that wrote it
	Batch   []byte `bson:"batch,omitempty"`   // as encoded by codec.AppendBatch; the first part
	Attempt uint64 `bson:"attempt,omitempty"` // in the parts' _ids, which thereby differ from those of a batch that was refused half-way under the same number
	Parts   int    `bson:"parts,omitempty"`   // number of further documents in parts
	Fence   uint64 `bson:"fence,omitempty"`   // the epoch that closed this one; zero means a commit
}

type partDoc struct {
	ID    string `bson:"_id"`
	Bytes []byte `bson:"bytes"`
}

// Commit inserts the batch into the journal under the next number. It first waits while too many
// commits are not applied yet. If the error of the insertion wraps engine.ErrUnwritable, the
// batch was not committed and the store remains usable; after any other, all further commits
// fail.
func (s *Store) Commit(ctx context.Context, b *engine.Batch) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	defer leave()
	select {
	case s.commitLock <- struct{}{}:
		defer func() { <-s.commitLock }()
	case <-ctx.Done():
		return fmt.Errorf("commit: %w", context.Cause(ctx))
	}
	if s.failed != nil {
		return fmt.Errorf("commit: an earlier one failed: %w", s.failed)
	}
	if err := s.waitForRoom(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := s.commit(ctx, b); err != nil {
		if !errors.Is(err, engine.ErrUnwritable) {
			s.failed = err
		}
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (s *Store) commit(ctx context.Context, b *engine.Batch) error {
	ctx, done := s.withLifetime(ctx)
	defer done()
	at := versionOf(s.epoch, s.lastNumber+1)
	e, err := s.write(ctx, at, codec.AppendBatch(nil, b))
	if err != nil {
		return err
	}
	s.lastNumber++
	s.addCommitted(at, b, e)
	return nil
}

// errDeadline means that the lease ended before the outcome was known.
var errDeadline = errors.New("MongoDB did not answer before the lease ended")

// write makes the batch durable, split into parts if it is large. The error is engine.ErrFenced,
// and the store has ended, if another open wrote the document of the journal with this number.
func (s *Store) write(ctx context.Context, at version, batch []byte) (entry, error) {
	e := entry{at: at, attempt: s.attempts.Add(1), bytes: int64(len(batch))}
	for rest := batch[min(len(batch), maxEntryBytes):]; len(rest) > 0; rest = rest[min(len(rest), maxEntryBytes):] {
		part := partDoc{s.names.part(at, e.attempt, e.parts), rest[:min(len(rest), maxEntryBytes)]}
		if _, err := s.insertOrGetInLease(ctx, parts, part.ID, part); err != nil {
			return e, writeErr(err)
		}
		e.parts++
	}
	d := entryDoc{ID: s.names.entry(at), Token: s.token, Batch: batch[:min(len(batch), maxEntryBytes)], Attempt: e.attempt, Parts: e.parts}
	there, err := s.insertOrGetInLease(ctx, journal, d.ID, d)
	switch {
	case err != nil:
		return e, writeErr(err)
	case there != nil && textIn(there, "token") != s.token:
		s.endOwnership(engine.ErrFenced)
		return e, engine.ErrFenced
	}
	return e, nil
}

// insertOrGetInLease is insertDocOrGet with a deadline at the current end of the lease, so that
// each document of a large batch has its own deadline. The deadline is checked before the
// request is sent. A request under way when it passes may succeed, and then the commit counts:
// it came before the next owner's fence, which would have taken its number.
func (s *Store) insertOrGetInLease(ctx context.Context, in collection, id string, d any) (bson.Raw, error) {
	if !s.Owned() {
		return nil, s.endReason()
	}
	left := time.Duration(s.deadline.Load()) - s.lease.clock()
	if s.o.weaken.selfFence {
		left = s.lease.current()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, left, errDeadline)
	defer cancel()
	return s.insertDocOrGet(ctx, in, id, d)
}

// insertDocOrGet marshals d and inserts it with insertOrGet.
func (s *Store) insertDocOrGet(ctx context.Context, in collection, id string, d any) (bson.Raw, error) {
	doc, err := bson.Marshal(d)
	if err != nil {
		return nil, err
	}
	return s.insertOrGet(ctx, in, id, doc)
}

// writeErr converts an error of insertOrGet to one of Commit.
func writeErr(err error) error {
	if errors.Is(err, errUnwritable) {
		return fmt.Errorf("%w: %w", engine.ErrUnwritable, err)
	}
	return err
}

// addCommitted makes a durable batch visible to readers and queues it for apply.
func (s *Store) addCommitted(at version, b *engine.Batch, e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updateSubqueues(b)
	s.last = at
	s.waiting.add(at, b, storedByApply{s})
	s.waiting.bytes += e.bytes
	s.waiting.journal = append(s.waiting.journal, e)
	for _, c := range b.Contents {
		delete(s.staged, c.Key)
		delete(s.left, c.Key)
	}
	s.unapplied.commits++
	s.unapplied.bytes += e.bytes
	if s.waiting.bytes >= applyBytes || s.waiting.commits >= applyCommits {
		wake(s.toApply)
	}
}

// waitForRoom waits until the unapplied commits are below the limits. It fails at once if
// MongoDB refuses to apply them: nothing more can be written until an operator has fixed that.
func (s *Store) waitForRoom(ctx context.Context) error {
	for {
		s.mu.Lock()
		full := s.unapplied.commits >= maxUnappliedCommits || s.unapplied.bytes >= maxUnappliedBytes
		more, stuck := s.applied, s.applyErr
		s.mu.Unlock()
		if !full {
			return nil
		}
		if errors.Is(stuck, errRefused) || errors.Is(stuck, errUnwritable) {
			return fmt.Errorf("%w: committed records cannot be applied: %w", engine.ErrUnwritable, stuck)
		}
		wake(s.toApply)
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.lifetime.Done():
			return s.endReason()
		}
	}
}

// fenceEpoch inserts a fence after the last commit of an epoch, if there is none yet. Nothing
// can be committed in the epoch afterwards. The newest commit is never trimmed, so the number
// after it was never used.
func (s *Store) fenceEpoch(ctx context.Context, epoch uint64) error {
	if s.o.weaken.fence {
		return nil
	}
	r := within(s.names.epoch(epoch))
	r.backwards, r.limit, r.fields = true, 1, []string{"fence"}
	n := uint64(0)
	for raw, err := range s.s.Range(ctx, journal, r) {
		if err != nil {
			return err
		}
		if isFence(raw) {
			return nil
		}
		if n, err = parseNumber(textIn(raw, "_id"), 1); err != nil {
			return err
		}
	}
	for {
		n++
		d := entryDoc{ID: s.names.entry(versionOf(epoch, n)), Token: s.token, Fence: s.epoch}
		there, err := s.insertDocOrGet(ctx, journal, d.ID, d)
		if err != nil {
			return err
		}
		if there == nil || isFence(there) {
			return nil
		}
	}
}

func isFence(raw bson.Raw) bool {
	_, err := raw.LookupErr("fence")
	return err == nil
}

// An appliedDoc records up to where the journal is applied to the collections.
type appliedDoc struct {
	ID    string         `bson:"_id"`
	V     version        `bson:"v"` // everything up to it is applied
	Epoch uint64         `bson:"epoch"`
	N     uint64         `bson:"n"`
	Now   engine.Instant `bson:"now"` // the latest instant applied
	At    time.Time      `bson:"at"`  // the same, for people
}

func (s *Store) readApplied(ctx context.Context) (d appliedDoc, err error) {
	raw, err := s.s.Get(ctx, settings, s.names.setting("applied"))
	if err != nil || raw == nil {
		return d, err
	}
	return d, bson.Unmarshal(raw, &d)
}

// errGap means that the journal lacks a commit, a part of one, or a fence.
var errGap = errors.New("the journal has a gap")

// replay reads the commits that the former owners did not apply, up to their fences, into the
// window that is applied first.
func (s *Store) replay(ctx context.Context) error {
	for {
		mark, err := s.readApplied(ctx)
		if err != nil {
			return err
		}
		w := newWindow()
		w.now = mark.Now
		err = s.replayFrom(ctx, mark.V, w)
		if errors.Is(err, errGap) {
			// The former owner, not yet aware that its epoch is over, may have
			// applied and trimmed commits meanwhile; then the mark has moved.
			again, merr := s.readApplied(ctx)
			if merr == nil && again.V > mark.V {
				continue
			}
		}
		if err != nil {
			return err
		}
		w.upTo = versionOf(s.epoch, 0) // the next owner need not look at those epochs again
		s.waiting, s.appliedVersion, s.last = w, mark.V, w.upTo
		s.unapplied.commits, s.unapplied.bytes = len(w.journal), w.bytes
		return nil
	}
}

func (s *Store) replayFrom(ctx context.Context, mark version, w *window) error {
	for epoch := max(1, mark.epoch()); epoch < s.epoch; epoch++ {
		n := uint64(0)
		if epoch == mark.epoch() {
			n = mark.number()
		}
		if err := s.replayEpoch(ctx, epoch, n, w); err != nil {
			return fmt.Errorf("journal of epoch %d: %w", epoch, err)
		}
	}
	return nil
}

// replayEpoch adds to w the commits of an epoch after the n-th, up to the fence. The error wraps
// errGap if one of them, or the fence, is missing.
func (s *Store) replayEpoch(ctx context.Context, epoch, n uint64, w *window) error {
	r := idRange{from: s.names.entry(versionOf(epoch, n+1)), to: within(s.names.epoch(epoch)).to}
	for raw, err := range s.s.Range(ctx, journal, r) {
		if err != nil {
			return err
		}
		var d entryDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return err
		}
		at := versionOf(epoch, n+1)
		if d.ID != s.names.entry(at) {
			return fmt.Errorf("%w: %s follows commit %d", errGap, d.ID, n)
		}
		if d.Fence != 0 {
			return nil
		}
		n++
		b, e, err := s.batch(ctx, at, d)
		if err != nil {
			return err
		}
		w.add(at, b, allKeys{})
		w.bytes += e.bytes
		w.journal = append(w.journal, e)
	}
	if s.o.weaken.fence {
		return nil
	}
	return fmt.Errorf("%w: no fence follows commit %d", errGap, n)
}

// batch reads the further parts of the commit d and decodes it. The error wraps errGap if a part
// is missing.
func (s *Store) batch(ctx context.Context, at version, d entryDoc) (*engine.Batch, entry, error) {
	raw := d.Batch
	for i := range d.Parts {
		part, err := s.s.Get(ctx, parts, s.names.part(at, d.Attempt, i))
		if err != nil {
			return nil, entry{}, err
		}
		_, b, ok := part.Lookup("bytes").BinaryOK()
		if !ok {
			return nil, entry{}, fmt.Errorf("%w: part %d of %s is missing", errGap, i, d.ID)
		}
		raw = append(raw, b...)
	}
	b, err := codec.ParseBatch(raw)
	if err != nil {
		return nil, entry{}, fmt.Errorf("%s: %w", d.ID, err)
	}
	return b, entry{at: at, attempt: d.Attempt, parts: d.Parts, bytes: int64(len(raw))}, nil
}
