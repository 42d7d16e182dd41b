package mongo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

// A Snapshot is a namespace as it was after one commit, read beside whoever
// owns it. Load it first; what it had then stays readable until Close.
type Snapshot struct {
	s     *Store // for its reading; it owns nothing
	id    string // by which the owner knows it
	beats int64
	since time.Duration
	stop  context.CancelFunc
	tasks sync.WaitGroup
	at    version // the last commit it has
}

// Look reads the namespace without owning it. All it writes is that it reads,
// so that the owner deletes nothing meanwhile.
func Look(ctx context.Context, url string, o Options) (*Snapshot, error) {
	db, _, err := connect(ctx, url, o.Clients, cmp.Or(o.Logger, slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	l, err := lookOn(ctx, db, db.close, o)
	if err != nil {
		parting, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
		return nil, errors.Join(err, db.close(parting))
	}
	return l, nil
}

func lookOn(ctx context.Context, on server, leave func(context.Context) error, o Options) (*Snapshot, error) {
	s := newStore(ctx, on, leave, o)
	if err := s.names.check(); err != nil {
		return nil, err
	}
	raw, err := on.Get(ctx, settings, s.names.setting("format"))
	if err == nil && raw == nil {
		return nil, fmt.Errorf("there is no namespace %s in this database", s.names)
	}
	if err == nil {
		err = readableFormat(raw)
	}
	l := &Snapshot{s: s, since: s.lease.clock()}
	if err == nil {
		err = l.announce(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("look at namespace %s: %w", s.names, err)
	}
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.tasks.Go(func() { l.keepBeating(reading) }) // ends with Close
	return l, nil
}

// Epoch is that of the last commit that Load has found.
func (l *Snapshot) Epoch() uint64 { return l.at.epoch() }

// Load yields the namespace as it was after a commit that lies between the
// call and the first record: the collections change while they are read, so all
// is read first, and then what the journal has since is put over it. Records
// are in memory until they are yielded.
func (l *Snapshot) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		if err := l.load(ctx, yield); err != nil && !errors.Is(err, errStop) {
			yield(nil, fmt.Errorf("load: %w", err))
		}
	}
}

func (l *Snapshot) load(ctx context.Context, yield func(engine.Record, error) bool) error {
	mark, err := l.s.readMark(ctx)
	if err != nil {
		return err
	}
	all, err := collect(&streamed{ctx, l.s.s, l.s.names})
	if err != nil {
		return err
	}
	w := newWindow()
	w.now = mark.Now
	if l.at, err = l.s.readOn(ctx, mark.V, w); err != nil {
		return err
	}
	l.s.mu.Lock()
	l.s.waiting = w // where bodies are found that were not applied yet
	l.s.mu.Unlock()
	if err := l.s.readLarge(ctx); err != nil {
		return err
	}
	over := loader{from: all, w: w, yield: yield, claimed: map[engine.HolderID]bool{}}
	_, err = over.all()
	return err
}

// readOn reads the journal from the mark to its present end, through fences,
// and returns the last commit's version.
func (s *Store) readOn(ctx context.Context, at version, w *window) (version, error) {
	r := s.names.all()
	r.from = s.names.entry(at) + "\x00"
	closed := at == 0 // the epoch that at is of is over
	for raw, err := range s.s.Range(ctx, journal, r) {
		if err != nil {
			return at, err
		}
		var d entryDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return at, err
		}
		epoch, err := numberIn(d.ID, 0)
		if err != nil {
			return at, err
		}
		n, err := numberIn(d.ID, 1)
		if err != nil {
			return at, err
		}
		next := versionOf(epoch, n)
		// Of an epoch that has no fence yet something may come that the next one
		// has put behind it: on shards one may be read later than the other.
		if follows := !closed && next == at+1 || closed && next == versionOf(at.epoch()+1, 1); !follows {
			return at, fmt.Errorf("%w: %s follows commit %d of epoch %d", errGap, d.ID, at.number(), at.epoch())
		}
		at, closed = next, d.Fence != 0
		if closed {
			continue
		}
		b, _, err := s.batch(ctx, at, d)
		if err != nil {
			return at, err
		}
		w.add(at, b, mayHoldAll{})
	}
	return at, nil
}

// Body opens a body of what Load has yielded.
func (l *Snapshot) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	return l.s.Body(ctx, k)
}

// Past yields what is remembered, newest first.
func (l *Snapshot) Past(ctx context.Context, q engine.PastQuery) iter.Seq2[engine.PastEvent, error] {
	return l.s.Past(ctx, q)
}

// Close lets the owner delete again and disconnects.
func (l *Snapshot) Close() error {
	l.stop()
	l.tasks.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	err := l.s.s.Delete(ctx, settings, []string{l.id})
	l.s.end(errClosed)
	if l.s.leave != nil {
		err = errors.Join(err, l.s.leave(ctx))
	}
	return err
}

// A collected source was read before.
type collected struct {
	docs  map[collection][]found
	drops []forgottenDoc
}

type found struct {
	head docHead // of what is gone, or was seen
	rec  engine.Record
}

// collect reads everything there is.
func collect(from source) (*collected, error) {
	all := &collected{docs: map[collection][]found{}}
	// What is forgotten comes first: what is deleted because of it later is in the
	// journal.
	if err := from.forgotten(func(d forgottenDoc) error {
		all.drops = append(all.drops, d)
		return nil
	}); err != nil {
		return nil, err
	}
	for _, in := range []collection{kept, entities, rules, meters, sessions, seen, contents, messages} {
		if err := from.each(in, func(d docHead, rec engine.Record) error {
			f := found{rec: rec}
			if rec == nil || in == seen {
				f.head = d
			}
			all.docs[in] = append(all.docs[in], f)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *collected) forgotten(do func(forgottenDoc) error) error {
	for _, d := range c.drops {
		if err := do(d); err != nil {
			return err
		}
	}
	return nil
}

func (c *collected) each(in collection, do func(d docHead, rec engine.Record) error) error {
	for _, f := range c.docs[in] {
		if err := do(f.head, f.rec); err != nil {
			return err
		}
	}
	return nil
}
