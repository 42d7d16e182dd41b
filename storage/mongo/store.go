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

// DefaultLease is how long an owner may be silent before another server takes
// over, unless Options say otherwise. LeastLease is the shortest there is.
const (
	DefaultLease = 5 * time.Second
	LeastLease   = 300 * time.Millisecond
)

// format is the version of what the documents are like. A newer one is refused.
const format = 4

// Options are what a store is opened with. The zero value is right for one
// server.
type Options struct {
	Logger    *slog.Logger  // of what no caller can be told; nil: nobody hears of it
	Namespace string        // one of several in a database; zero: "default"
	Clients   *Clients      // what it connects by; nil: by one of its own
	Lease     time.Duration // zero: DefaultLease
	// Lost is how many opens in a row were lost before they came to anything. This one
	// has a longer lease for it, up to eight times, until MongoDB is quick again.
	Lost  int
	Owner engine.Owner // what other servers are told of this one; its epoch is filled in
	// Process is the same for every open of one process: a store that it closed
	// without being able to say so need not be waited for. Zero: of its own.
	Process string
	// Standby is called when another server owns the namespace, once for each
	// owner; Open then waits as long as it takes. Nil: Open does not wait for an
	// owner that is alive, and fails with an *engine.OwnedError.
	Standby func(engine.Owner)
	// Claim, if there is one, is asked before the namespace is taken, which nobody has
	// owned for so long as far as this server has seen; while it says no, that is left to
	// others. gone is the Process of a former owner that has been silent for too long;
	// empty: it let go. It must return quickly. What the process owned itself and could
	// not release it is not asked for.
	Claim func(free time.Duration, gone string) bool
	// HistoryFor is the age at which the owner forgets events. The server may
	// delete by itself those that are a day older, a backstop; zero: none.
	HistoryFor time.Duration

	clock  func() time.Duration // of tests
	weaken weaken
	kept   int // of applied commits, in the journal; zero: keptEntries
}

// weaken switches off what protects the protocol, one by one, to show in a test
// that each is needed.
type weaken struct {
	fence     bool // the former epoch is not closed
	selfFence bool // the owner never thinks that its time is over
	forgotten bool // it is not said what of what was seen is gone
}

// A Store is a namespace in a database. All methods may be called by many
// goroutines; commits wait for each other.
type Store struct {
	o     Options
	log   *slog.Logger
	s     server
	leave func(context.Context) error // disconnects
	names names
	token string // of this open
	lease lease
	epoch uint64

	own      ownerDoc      // as it was put last; owned by acquire, then by beat
	attempts atomic.Uint64 // to keep a large body, or a batch
	deadline atomic.Int64  // by the lease's clock: this store owns nothing afterwards

	life  context.Context //nolint:containedctx // it is the store's own: ended by Close, or when ownership is over
	end   context.CancelCauseFunc
	tasks sync.WaitGroup // beat, apply and sweep

	doors  sync.Mutex
	closed bool           // guarded by doors
	inside sync.WaitGroup // callers; none enters once closed

	turn   chan struct{} // holds one: who commits
	n      uint64        // of the last commit; whoever has the turn owns it
	failed error         // likewise: the outcome of a commit is not known

	mu        sync.Mutex // guards all below
	waiting   *window    // committed, not handed to who applies
	applying  *window    // nil: nothing is being applied
	unapplied struct {
		commits int
		bytes   int64
	}
	applied  chan struct{} // closed when something was applied, and made anew
	stuck    error         // why the last window was not applied; nil: it was
	handed   keyset        // messages of this epoch that the collections may hold
	kept     keyset        // contents likewise
	holders  map[engine.HolderID]place
	staged   map[engine.Key]bool // bodies ahead of their content
	large    map[engine.Key]largeDoc
	reading  map[engine.Key]int       // readers of large bodies
	unwanted []largeDoc               // dropped while they were read
	left     map[engine.Key]bool      // contents that are gone and not deleted yet, for somebody looks
	forgets  map[engine.HolderID]bool // who has seen what is to be deleted
	last     version                  // of the last commit

	readers map[string]reader // who looks at the namespace; owned by beat
	looked  atomic.Bool       // somebody does, or may: nothing is deleted that it may need

	mark      version                         // what is applied; owned by apply
	forgotten map[engine.HolderID]forgettings // what of what was seen is gone; likewise
	journal   []entry                         // applied and not trimmed, oldest first; likewise
	leaving   []leaving                       // contents to delete; likewise
	toApply   chan struct{}
	toSweep   chan struct{}
	garbage   chan sweeping

	pastMu    sync.Mutex
	pastBytes int64 // of the history; negative: not counted yet; guarded by pastMu
}

// Open opens the namespace in the database that url names and takes it for this
// process until Close, or until it is not heard of for its lease. A namespace
// that is not there is made.
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
	s.tasks.Go(func() { // nothing waits for them: they are for people and for the broom
		ensure := func(ctx context.Context) error { _, err := db.ensureIndexes(ctx); return err }
		if err := db.client.index(s.life, ensure); err != nil && s.life.Err() == nil {
			s.log.Warn("Indexes are missing; they are made at the next open.", "namespace", s.names, "err", err)
		}
	})
	return s, nil
}

// openOn opens a store on a server. leave is called at the end of Close; if
// openOn fails it is not.
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
		o: o, s: on, leave: leave, names: names(cmp.Or(o.Namespace, "default")), token: random(),
		log:  cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		turn: make(chan struct{}, 1), waiting: newWindow(), applied: make(chan struct{}),
		toApply: make(chan struct{}, 1), toSweep: make(chan struct{}, 1), garbage: make(chan sweeping, 1),
		holders: map[engine.HolderID]place{}, staged: map[engine.Key]bool{}, large: map[engine.Key]largeDoc{}, reading: map[engine.Key]int{},
		left:    map[engine.Key]bool{},
		forgets: map[engine.HolderID]bool{}, forgotten: map[engine.HolderID]forgettings{},
		pastBytes: -1,
	}
	s.looked.Store(true) // until it was seen who does
	s.o.Process = cmp.Or(o.Process, s.token)
	s.lease.clock = sinceBoot
	if o.clock != nil {
		s.lease.clock = o.clock
	}
	s.lease.set(max(cmp.Or(o.Lease, DefaultLease), LeastLease), o.Lost)
	s.life, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
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
	ctx, done := s.tied(ctx)
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

// takeOver closes what the former owners had, then reads what it needs to go on
// from there.
func (s *Store) takeOver(ctx context.Context) error {
	if err := s.checkFormat(ctx); err != nil { // whoever had it meanwhile may have been newer
		return err
	}
	mark, err := s.readMark(ctx)
	if err != nil {
		return err
	}
	for epoch := max(1, mark.V.epoch()); epoch < s.epoch; epoch++ {
		if err := s.closeEpoch(ctx, epoch); err != nil {
			return fmt.Errorf("close epoch %d: %w", epoch, err)
		}
	}
	if err := s.replay(ctx); err != nil {
		return err
	}
	if err := s.readHolders(ctx); err != nil {
		return err
	}
	if err := s.readForgotten(ctx); err != nil {
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
		raw, err = s.insistOn(ctx, settings, id, formatDoc{ID: id, V: format, Format: format})
		if err != nil || raw == nil {
			return err
		}
	}
	return readableFormat(raw)
}

// raiseFormat says that from now on there may be what older versions do not know.
// What they have written is as it would be now.
func (s *Store) raiseFormat(ctx context.Context) error {
	id := s.names.setting("format")
	return s.put(ctx, settings, []change{{id: id, version: format, doc: marshal(formatDoc{ID: id, V: format, Format: format})}})
}

func readableFormat(raw bson.Raw) error {
	var d formatDoc
	if err := bson.Unmarshal(raw, &d); err != nil {
		return err
	}
	if d.Format > format {
		return fmt.Errorf("it was written by a newer Mayfly: it has format %d, and this version knows formats up to %d", d.Format, format)
	}
	return nil
}

// Epoch is that of this open.
func (s *Store) Epoch() uint64 { return s.epoch }

// Lost is closed by Close, when another owner's fence was met, and when this
// store could not say for too long that it lives.
func (s *Store) Lost() <-chan struct{} { return s.life.Done() }

// lose ends the store: from here on it changes and tells nothing.
func (s *Store) lose(why error) {
	if s.life.Err() == nil {
		s.log.Warn("The namespace is lost.", "namespace", s.names, "epoch", s.epoch, "err", why)
	}
	s.end(why)
}

// over says why there is nothing more to be had.
func (s *Store) over() error {
	if why := context.Cause(s.life); why != nil {
		return why
	}
	return engine.ErrFenced
}

// tied is ctx, ended when the store is.
func (s *Store) tied(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })
	return ctx, func() { stop(); cancel(nil) }
}

// enter keeps Close waiting until leave is called.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.doors.Lock()
	defer s.doors.Unlock()
	if s.closed {
		return nil, errClosed
	}
	s.inside.Add(1)
	return s.inside.Done, nil
}

// How long Close waits for what is good to have, and for what is under way.
const (
	applyPatience = 3 * time.Second
	closePatience = 3 * time.Second
	lostPatience  = 500 * time.Millisecond
)

// Close waits for what is under way, applies what it can in a few seconds, lets
// other servers take over at once and disconnects. A second Close does nothing.
func (s *Store) Close() error {
	s.doors.Lock()
	if s.closed {
		s.doors.Unlock()
		return nil
	}
	s.closed = true
	s.doors.Unlock()
	s.inside.Wait()
	patience := closePatience
	if s.failed != nil || s.life.Err() != nil { // MongoDB is not there, as it seems: others are not to wait for it
		patience = lostPatience
	} else {
		s.drain(applyPatience)
	}
	lost := s.life.Err() != nil
	s.end(errClosed)
	s.tasks.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.release(ctx)
	if lost { // it was gone before, and others know
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
