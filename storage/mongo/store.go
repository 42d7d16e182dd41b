package mongo

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

var (
	_ engine.Store   = (*Store)(nil)
	_ engine.History = (*Store)(nil)
)

var errClosed = errors.New("the store is closed")

// DefaultLease is how long an owner may be silent before another server takes over, unless
// Options.Lease is set. MinLease is the shortest lease.
const (
	DefaultLease = 5 * time.Second
	MinLease     = 300 * time.Millisecond
)

// format is the version of the documents' format, and oldestFormat the oldest that can be read.
// Open refuses all others, and changes nothing then.
const (
	oldestFormat = 4
	format       = 4
)

// Options configure Open. The zero value is right for one server.
type Options struct {
	Logger    *slog.Logger  // logs what cannot be returned to a caller; nil means no logging
	Namespace string        // one of several in a database; zero means "default"
	Clients   *Clients      // shared connections; nil means that the store opens its own
	Lease     time.Duration // zero means DefaultLease
	// LostOpens is how many opens in a row lost the namespace before their first commit. Each
	// doubles the lease of this open, up to eight times its length, until MongoDB is quick again.
	LostOpens int
	Owner     engine.Owner // describes this server to other servers; its Epoch is ignored
	// Process is the same for every open by one process, so that an open need not wait for the
	// lease of a store that this process closed without being able to release it. Empty means a
	// value unique to this open.
	Process string
	// Standby is called when another server owns the namespace, once for each owner; Open then
	// waits as long as it takes. With nil, Open fails with an *engine.OwnedError if the owner
	// is alive.
	Standby func(engine.Owner)
	// Claim, if set, is called before Open takes a namespace that has had no owner for the
	// duration `free`, as far as this server has seen. While Claim returns false, Open leaves
	// the namespace to other servers. `gone` is the Process of a former owner that has been
	// silent for too long, or empty if the owner released the namespace. Claim must return
	// quickly. It is not called for a namespace that this process owned itself and could not
	// release.
	Claim func(free time.Duration, gone string) bool
	// HistoryRetention is the age at which the owner removes events. As a backstop, a TTL index may
	// remove events that are a day older. Zero means no TTL index.
	HistoryRetention time.Duration

	clock       func() time.Duration // for tests
	weaken      weaken
	keptEntries int // applied commits that stay in the journal; zero means the constant keptEntries
}

// weaken switches off the protocol's safeguards, one by one, so that a test can show that each
// is needed.
type weaken struct {
	fence     bool // the former epoch is not closed
	selfFence bool // the owner ignores the end of its lease
	forgotten bool // the collection forgotten is not written
}

// A Store is a namespace in a database. It is safe for concurrent use; commits run one at a
// time.
type Store struct {
	o     Options
	log   *slog.Logger
	s     server
	leave func(context.Context) error // disconnects
	names docIDs
	token string // unique to this open
	lease lease
	epoch uint64

	own      ownerDoc      // as last written; owned by acquire, then by beat
	attempts atomic.Uint64 // numbers the attempts to write a large body or batch
	deadline atomic.Int64  // by the lease's clock; from then on this store owns nothing

	lifetime context.Context //nolint:containedctx // the store's lifetime: cancelled by Close or when ownership ends
	end      context.CancelCauseFunc
	tasks    sync.WaitGroup // beat, apply, sweep and the creation of indexes

	closeMu sync.Mutex
	closed  bool           // guarded by closeMu
	calls   sync.WaitGroup // calls in progress; none starts once closed

	commitLock chan struct{} // a mutex that can be awaited with a context: held by the committing caller
	lastNumber uint64        // number of the last commit; guarded by commitLock
	failed     error         // why the outcome of a commit is unknown; guarded by commitLock

	mu        sync.Mutex // guards all below
	waiting   *window    // committed, not handed to apply
	applying  *window    // nil if nothing is being applied
	unapplied struct {
		commits int
		bytes   int64
	}
	applied        chan struct{} // closed and replaced after each window is applied
	applyErr       error         // why the last window could not be applied; nil if it was
	storedMessages keySet        // keys of this epoch's messages that the collections may hold
	storedContents keySet        // the same for contents
	subqueues      map[engine.SubqueueID]subqueue
	staged         map[engine.Key]bool // bodies written ahead of their content
	large          map[engine.Key]largeDoc
	bodyReaders    map[engine.Key]int         // readers of large bodies
	bodiesToDelete []largeDoc                 // dropped while they were being read
	left           map[engine.Key]bool        // contents that are dropped but not yet deleted, because of a reader
	droppedSeen    map[engine.SubqueueID]bool // subqueues with documents to delete from seen
	last           version                    // version of the last commit

	readers    map[string]reader // readers of the namespace (OpenSnapshot); owned by beat
	hasReaders atomic.Bool       // there is or may be a reader: nothing that it may need is deleted

	appliedVersion   version                         // up to where the journal is applied; owned by apply
	seenDrops        map[engine.SubqueueID]seenDrops // which documents of seen are dropped; owned by apply
	journal          []entry                         // applied and not trimmed, oldest first; owned by apply
	contentsToDelete []droppedContent                // contents to delete; owned by apply
	toApply          chan struct{}
	toSweep          chan struct{}
	garbage          chan garbage

	historyMu    sync.Mutex
	historyBytes int64 // size of the history; negative if not counted yet; guarded by historyMu
}

// Open opens the namespace in the database that url names, creating it if necessary, and owns
// it until Close, or until the store could not renew its lease in time.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	db, _, err := connect(ctx, url, o.Clients, cmp.Or(o.Logger, slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	s, err := openOn(ctx, db, db.close, o)
	if err != nil {
		parting, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
		return nil, errors.Join(err, db.close(parting))
	}
	s.tasks.Go(func() { // nothing waits for the indexes: they serve people and sweeping
		ensure := func(ctx context.Context) error { _, err := db.ensureIndexes(ctx); return err }
		if err := db.client.index(s.lifetime, ensure); err != nil && s.lifetime.Err() == nil {
			s.log.Warn("indexes are missing and will be created when the store is opened next", "namespace", s.names, "err", err)
		}
	})
	return s, nil
}

// openOn opens a store on a server. Close ends with a call of leave; if openOn fails, leave is
// not called.
func openOn(ctx context.Context, on server, leave func(context.Context) error, o Options) (*Store, error) {
	s := newStore(ctx, on, leave, o)
	if err := s.open(ctx); err != nil {
		s.end(err)
		s.tasks.Wait()
		return nil, fmt.Errorf("open namespace %s: %w", s.names, err)
	}
	return s, nil
}

func newStore(ctx context.Context, on server, leave func(context.Context) error, o Options) *Store {
	s := &Store{
		o: o, s: on, leave: leave, names: docIDs(cmp.Or(o.Namespace, "default")), token: random(),
		log:        cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		commitLock: make(chan struct{}, 1), waiting: newWindow(), applied: make(chan struct{}),
		toApply: make(chan struct{}, 1), toSweep: make(chan struct{}, 1), garbage: make(chan garbage, 1),
		subqueues: map[engine.SubqueueID]subqueue{}, staged: map[engine.Key]bool{}, large: map[engine.Key]largeDoc{}, bodyReaders: map[engine.Key]int{},
		left:        map[engine.Key]bool{},
		droppedSeen: map[engine.SubqueueID]bool{}, seenDrops: map[engine.SubqueueID]seenDrops{},
		historyBytes: -1,
	}
	s.hasReaders.Store(true) // until the readers have been looked up
	s.o.Process = cmp.Or(o.Process, s.token)
	s.lease.clock = sinceBoot
	if o.clock != nil {
		s.lease.clock = o.clock
	}
	s.lease.set(max(cmp.Or(o.Lease, DefaultLease), MinLease), o.LostOpens)
	s.lifetime, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return s
}

func (s *Store) open(ctx context.Context) error {
	if err := s.names.check(); err != nil {
		return err
	}
	if err := s.checkFormat(ctx); err != nil {
		return err
	}
	if err := s.acquire(ctx); err != nil {
		return err
	}
	s.tasks.Go(s.beat)
	ctx, done := s.withLifetime(ctx)
	defer done()
	if err := s.takeOver(ctx); err != nil {
		parting, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
		s.end(err)
		s.tasks.Wait()
		return errors.Join(err, s.release(parting))
	}
	s.tasks.Go(s.apply)
	s.tasks.Go(s.sweep)
	return nil
}

// takeOver closes the former owners' epochs, then reads the state that the store needs to
// continue.
func (s *Store) takeOver(ctx context.Context) error {
	if err := s.checkFormat(ctx); err != nil { // another server may have upgraded the format meanwhile
		return err
	}
	mark, err := s.readApplied(ctx)
	if err != nil {
		return err
	}
	for epoch := max(1, mark.V.epoch()); epoch < s.epoch; epoch++ {
		if err := s.fenceEpoch(ctx, epoch); err != nil {
			return fmt.Errorf("close epoch %d: %w", epoch, err)
		}
	}
	if err := s.replay(ctx); err != nil {
		return err
	}
	if err := s.readSubqueues(ctx); err != nil {
		return err
	}
	if err := s.readSeenDrops(ctx); err != nil {
		return err
	}
	if err := s.readLarge(ctx); err != nil {
		return err
	}
	return s.raiseFormat(ctx)
}

type formatDoc struct {
	ID     string `bson:"_id"`
	V      int64  `bson:"v"`
	Format int    `bson:"format"`
}

func (s *Store) checkFormat(ctx context.Context) error {
	id := s.names.setting("format")
	raw, err := s.s.Get(ctx, settings, id)
	if err != nil {
		return err
	}
	if raw == nil {
		raw, err = s.insertDocOrGet(ctx, settings, id, formatDoc{ID: id, V: format, Format: format})
		if err != nil || raw == nil {
			return err
		}
	}
	return readableFormat(raw)
}

// raiseFormat records that documents may now be of the current format. Documents of formats
// from oldestFormat on need no change.
func (s *Store) raiseFormat(ctx context.Context) error {
	id := s.names.setting("format")
	return s.put(ctx, settings, []change{{id: id, version: format, doc: marshal(formatDoc{ID: id, V: format, Format: format})}})
}

func readableFormat(raw bson.Raw) error {
	var d formatDoc
	if err := bson.Unmarshal(raw, &d); err != nil {
		return err
	}
	switch {
	case d.Format > format:
		return fmt.Errorf("the namespace was written by a newer Mayfly: it has format %d, and this version supports %s", d.Format, supportedFormats())
	case d.Format < oldestFormat:
		return fmt.Errorf("the namespace was written by an older Mayfly: it has format %d, and this version supports %s; upgrade it first with a version that supports formats %d and %d", d.Format, supportedFormats(), d.Format, oldestFormat)
	default:
		return nil
	}
}

func supportedFormats() string {
	if oldestFormat == format {
		return fmt.Sprintf("only format %d", format)
	}
	return fmt.Sprintf("formats %d to %d", oldestFormat, format)
}

// Epoch returns the epoch of this open.
func (s *Store) Epoch() uint64 { return s.epoch }

// Lost returns a channel that is closed by Close, when another owner's fence is found, and when
// the lease could not be renewed in time.
func (s *Store) Lost() <-chan struct{} { return s.lifetime.Done() }

// endOwnership ends the store: from now on it commits and answers nothing. why is the reason,
// which later calls return.
func (s *Store) endOwnership(why error) {
	if s.lifetime.Err() == nil {
		s.log.Warn("the namespace was lost to another server", "namespace", s.names, "epoch", s.epoch, "err", why)
	}
	s.end(why)
}

// endReason returns the reason why the store has ended, or engine.ErrFenced if its lease is over
// but the store has not been ended yet.
func (s *Store) endReason() error {
	if why := context.Cause(s.lifetime); why != nil {
		return why
	}
	return engine.ErrFenced
}

// withLifetime returns a context that also ends when the store does, and a function that releases
// it.
func (s *Store) withLifetime(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.lifetime, func() { cancel(context.Cause(s.lifetime)) })
	return ctx, func() { stop(); cancel(nil) }
}

// enter makes Close wait until leave is called. It does not wait itself, and returns an error if
// ctx has ended or the store is closed.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.closeMu.Lock()
	defer s.closeMu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	s.calls.Add(1)
	return s.calls.Done, nil
}

// applyPatience limits how long Close waits for commits to be applied, which the next open can do
// too. closePatience limits how long it then takes to release the namespace and disconnect;
// lostPatience does so if the namespace was lost or a commit has failed.
const (
	applyPatience = 3 * time.Second
	closePatience = 3 * time.Second
	lostPatience  = 500 * time.Millisecond
)

// Close waits for calls in progress, applies what it can in a few seconds, lets other servers
// take over at once and disconnects. A second Close does nothing.
func (s *Store) Close() error {
	s.closeMu.Lock()
	if s.closed {
		s.closeMu.Unlock()
		return nil
	}
	s.closed = true
	s.closeMu.Unlock()
	s.calls.Wait()
	patience := closePatience
	if s.failed != nil || s.lifetime.Err() != nil { // MongoDB seems to be unreachable: do not keep the caller waiting
		patience = lostPatience
	} else {
		s.drain(applyPatience)
	}
	lost := s.lifetime.Err() != nil
	s.end(errClosed)
	s.tasks.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.release(ctx)
	if lost { // ownership was lost before, so other servers know
		err = nil
	}
	if s.leave != nil {
		err = errors.Join(err, s.leave(ctx))
	}
	if err != nil {
		return fmt.Errorf("close namespace %s: %w", s.names, err)
	}
	return nil
}

func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return hex.EncodeToString(b[:])
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
