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

// A Snapshot is a namespace as it was after one commit, read without owning it. Call Load
// first; the records that it yielded stay readable until Close.
type Snapshot struct {
	s          *Store // for reading; it owns nothing
	id         string // _id of its readerDoc
	heartbeats int64
	since      time.Duration
	stop       context.CancelFunc
	tasks      sync.WaitGroup
	version    version // version of the last commit in it
}

// OpenSnapshot opens the namespace for reading, without owning it. It writes only a readerDoc,
// so that the owner deletes nothing meanwhile.
func OpenSnapshot(ctx context.Context, url string, o Options) (*Snapshot, error) {
	db, _, err := connect(ctx, url, o.Clients, cmp.Or(o.Logger, slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	l, err := openSnapshotOn(ctx, db, db.close, o)
	if err != nil {
		parting, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
		return nil, errors.Join(err, db.close(parting))
	}
	return l, nil
}

func openSnapshotOn(ctx context.Context, on server, leave func(context.Context) error, o Options) (*Snapshot, error) {
	s := newStore(ctx, on, leave, o)
	if err := s.names.check(); err != nil {
		return nil, err
	}
	raw, err := on.Get(ctx, settings, s.names.setting("format"))
	if err == nil && raw == nil {
		return nil, fmt.Errorf("the namespace %s does not exist in this database", s.names)
	}
	if err == nil {
		err = readableFormat(raw)
	}
	l := &Snapshot{s: s, since: s.lease.clock()}
	if err == nil {
		err = l.announce(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", s.names, err)
	}
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.tasks.Go(func() { l.heartbeatLoop(reading) })
	return l, nil
}

// Epoch returns the epoch of the last commit that Load found.
func (l *Snapshot) Epoch() uint64 { return l.version.epoch() }

// Load yields the namespace as it was after a commit between the call and the first record.
// The collections change while they are read, so all of them are read first, and then
// overridden by the commits in the journal since. Records are in memory until they are yielded.
func (l *Snapshot) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		if err := l.load(ctx, yield); err != nil && !errors.Is(err, errStop) {
			yield(nil, fmt.Errorf("load: %w", err))
		}
	}
}

func (l *Snapshot) load(ctx context.Context, yield func(engine.Record, error) bool) error {
	mark, err := l.s.readApplied(ctx)
	if err != nil {
		return err
	}
	all, err := collect(&streamed{ctx, l.s.s, l.s.names})
	if err != nil {
		return err
	}
	w := newWindow()
	w.now = mark.Now
	if l.version, err = l.s.readJournal(ctx, mark.V, w); err != nil {
		return err
	}
	l.s.mu.Lock()
	l.s.waiting = w // where Body finds bodies that are not applied yet
	l.s.mu.Unlock()
	if err := l.s.readLarge(ctx); err != nil {
		return err
	}
	over := loader{from: all, w: w, yield: yield, claimed: map[engine.SubqueueID]bool{}}
	_, err = over.all()
	return err
}

// readJournal adds to w the commits after the version `at`, up to the current end of the journal,
// across epochs. It returns the version of the last commit or fence. The error wraps errGap if a
// document of the journal is missing.
func (s *Store) readJournal(ctx context.Context, at version, w *window) (version, error) {
	r := s.names.all()
	r.from = s.names.entry(at) + "\x00"
	closed := at == 0 // the epoch of at is over
	for raw, err := range s.s.Range(ctx, journal, r) {
		if err != nil {
			return at, err
		}
		var d entryDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return at, err
		}
		epoch, err := parseNumber(d.ID, 0)
		if err != nil {
			return at, err
		}
		n, err := parseNumber(d.ID, 1)
		if err != nil {
			return at, err
		}
		next := versionOf(epoch, n)
		// Documents of the next epoch may show up before a commit or the fence of this one: on
		// a sharded cluster a document may be read later than its successor.
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
		w.add(at, b, allKeys{})
	}
	return at, nil
}

// Body opens the body of a content that Load yielded.
func (l *Snapshot) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	return l.s.Body(ctx, k)
}

// QueryEvents yields the stored events, newest first.
func (l *Snapshot) QueryEvents(ctx context.Context, q engine.HistoryQuery) iter.Seq2[engine.HistoryEvent, error] {
	return l.s.QueryEvents(ctx, q)
}

// Close lets the owner delete documents again and disconnects.
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

// A collected is a source that was read into memory.
type collected struct {
	docs  map[collection][]storedDoc
	drops []seenDropsDoc
}

type storedDoc struct {
	head docHead // of tombstones and of documents of seen
	rec  engine.Record
}

// collect reads a source into memory.
func collect(from source) (*collected, error) {
	all := &collected{docs: map[collection][]storedDoc{}}
	// The forgotten documents come first: rows that are deleted because of later ones are
	// still in the journal.
	if err := from.forgotten(func(d seenDropsDoc) error {
		all.drops = append(all.drops, d)
		return nil
	}); err != nil {
		return nil, err
	}
	for _, in := range []collection{namespaceSettings, entities, rules, meters, sessions, seen, contents, messages} {
		if err := from.each(in, func(d docHead, rec engine.Record) error {
			f := storedDoc{rec: rec}
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

func (c *collected) forgotten(do func(seenDropsDoc) error) error {
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
