package mongo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

// ownerDoc is a document of owners: who had an epoch, and whether it lives.
type ownerDoc struct {
	ID        string    `bson:"_id"`
	V         int64     `bson:"v"` // raised with each beat
	Namespace string    `bson:"ns"`
	Token     string    `bson:"token"`   // of one open
	Process   string    `bson:"process"` // of one process, over several opens
	Lease     int64     `bson:"leaseMs"` // silence after which it may be succeeded
	Dashboard string    `bson:"dashboard,omitempty"`
	Admin     string    `bson:"admin,omitempty"`
	AMQP      string    `bson:"amqp,omitempty"`
	Host      string    `bson:"host,omitempty"`
	Peer      string    `bson:"peer,omitempty"`    // where it takes what others pass on
	Beat      time.Time `bson:"beat"`              // by its own clock: for people
	Readers   []string  `bson:"readers,omitempty"` // who looks at the namespace and is heeded
	Released  bool      `bson:"released,omitempty"`
}

func (d *ownerDoc) owner(epoch uint64) engine.Owner {
	return engine.Owner{Dashboard: d.Dashboard, Admin: d.Admin, AMQP: d.AMQP, Host: d.Host, Peer: d.Peer, Epoch: epoch}
}

// A lease is the time for which an owner may act without asking. Its clock
// never stops, not even while the machine sleeps, and nobody else's is compared
// with it.
//
// Where opens were lost, one after the other, because they took longer than the lease
// had room for, the next one has a longer lease: on a slow server the namespace would
// change hands for ever. It is the usual one again, step by step, once beats are quick.
type lease struct {
	usual  time.Duration
	clock  func() time.Duration
	length atomic.Int64 // as it is now, in nanoseconds
	quick  int          // beats in a row that were; owned by beat
}

// How much longer than usual a lease gets, as a power of two, and how many quick beats
// halve it again.
const (
	mostLonger = 3
	quickBeats = 10
)

// set is the lease of an open, of which so many before were lost.
func (l *lease) set(usual time.Duration, lost int) {
	l.usual = usual
	l.length.Store(int64(usual << min(max(lost, 0), mostLonger)))
}

// now is how long it is.
func (l *lease) now() time.Duration { return time.Duration(l.length.Load()) }

// until is when an owner must stop that was last heard of at a moment.
func (l *lease) until(heard time.Duration) time.Duration { return heard + l.now() - l.now()/5 }

// beatEvery is the pause between beats.
func (l *lease) beatEvery() time.Duration { return l.usual / 5 }

// patience is how long one request may take before it is tried again.
func (l *lease) patience() time.Duration { return max(l.now()/2, 100*time.Millisecond) }

// beaten notes how long a beat took, and tells whether the lease is shorter now.
func (l *lease) beaten(took time.Duration) (shorter bool) {
	l.quick++
	if took > l.beatEvery() {
		l.quick = 0
	}
	if l.now() == l.usual || l.quick < quickBeats {
		return false
	}
	l.quick = 0
	l.length.Store(int64(max(l.now()/2, l.usual)))
	return true
}

// A watch is what a server that waits has seen of the owner.
type watch struct {
	id    string
	beat  int64
	since time.Duration // when the answer came that showed this beat first
}

// acquire waits until the namespace has no owner and takes its next epoch
// (step 1). Without Standby it does not wait for an owner that is alive.
func (s *Store) acquire(ctx context.Context) error {
	var seen watch
	var free time.Duration // since when nobody owns it, if that is known
	known := false
	for {
		asked := s.lease.clock()
		last, err := s.highest(ctx)
		if err != nil {
			return err
		}
		epoch := uint64(0)
		if last != nil {
			if epoch, err = numberIn(last.ID, 0); err != nil {
				return err
			}
		}
		silent := last != nil && !last.Released && seen.silent(last, asked, &s.lease)
		switch {
		case last == nil, last.Released, silent, last.Process == s.o.Process:
			if !known {
				known, free = true, asked
			}
			if !s.may(last, asked-free, silent) {
				break
			}
			known = false
			if ok, err := s.claim(ctx, epoch+1); ok || err != nil {
				return err
			}
			continue
		case seen.id != last.ID:
			known = false
			s.log.Info("Another server owns the namespace.", "namespace", s.names, "epoch", epoch, "dashboard", last.Dashboard)
			if s.o.Standby != nil {
				s.o.Standby(last.owner(epoch))
			}
			seen = watch{last.ID, last.V, s.lease.clock()}
		case seen.beat != last.V:
			if s.o.Standby == nil {
				return &engine.OwnedError{Owner: last.owner(epoch)}
			}
			known = false
			seen.beat, seen.since = last.V, s.lease.clock()
		}
		if err := pause(ctx, min(s.lease.beatEvery(), 500*time.Millisecond)); err != nil {
			return err
		}
	}
}

// may tells whether the namespace, which has no owner that may be alive, is this server's
// to take. What it had itself, and could not release, is.
func (s *Store) may(last *ownerDoc, free time.Duration, silent bool) bool {
	if s.o.Claim == nil || last != nil && last.Process == s.o.Process && !last.Released {
		return true
	}
	gone := ""
	if silent {
		gone = last.Process
	}
	return s.o.Claim(free, gone)
}

// silent tells whether the owner has been so for its lease and a margin, by the
// watcher's clock, up to when it asked. When the answer came does not count: it
// may be old.
func (w watch) silent(last *ownerDoc, asked time.Duration, l *lease) bool {
	length := max(l.usual, time.Duration(last.Lease)*time.Millisecond)
	return w.id == last.ID && w.beat == last.V && asked-w.since >= length+length/5
}

// highest is the latest owner; nil if there was none yet.
func (s *Store) highest(ctx context.Context) (*ownerDoc, error) {
	r := s.names.all()
	r.backwards, r.limit = true, 1
	for raw, err := range s.s.Range(ctx, owners, r) {
		if err != nil {
			return nil, fmt.Errorf("look who owns the namespace: %w", err)
		}
		d := new(ownerDoc)
		if err := bson.Unmarshal(raw, d); err != nil {
			return nil, fmt.Errorf("look who owns the namespace: %w", err)
		}
		return d, nil
	}
	return nil, nil
}

// mostEpochs is how many a Key has room for.
const mostEpochs = 1<<24 - 1

// claim tries to become the owner of an epoch. The lease runs from before the
// first attempt.
func (s *Store) claim(ctx context.Context, epoch uint64) (bool, error) {
	if epoch > mostEpochs {
		return false, fmt.Errorf("the namespace was opened %d times, which is as often as can be", mostEpochs)
	}
	heard := s.lease.clock()
	s.own = ownerDoc{
		ID: s.names.owner(epoch), V: 1, Namespace: string(s.names), Token: s.token, Process: s.o.Process,
		Lease:     s.lease.now().Milliseconds(),
		Dashboard: s.o.Owner.Dashboard, Admin: s.o.Owner.Admin, AMQP: s.o.Owner.AMQP, Host: s.o.Owner.Host, Peer: s.o.Owner.Peer, Beat: wall(),
	}
	doc, err := bson.Marshal(s.own)
	if err != nil {
		return false, err
	}
	there, err := s.insist(ctx, owners, s.own.ID, doc)
	if err != nil {
		return false, fmt.Errorf("take epoch %d: %w", epoch, err)
	}
	if there != nil && textIn(there, "token") != s.token {
		return false, nil
	}
	s.epoch = epoch
	s.deadline.Store(int64(s.lease.until(heard)))
	return true, nil
}

// insist inserts a document until it is known to be there, or another one in
// its place, which is returned; the caller tells from it whether it is its own
// from an attempt whose outcome was unknown. It ends with ctx, and with errors
// that no attempt will mend.
func (s *Store) insist(ctx context.Context, in collection, id string, doc bson.Raw) (there bson.Raw, err error) {
	for doubts := 0; ; doubts++ {
		err := s.attemptFor(ctx, s.lease.patience()+carrying(len(doc)), func(ctx context.Context) error { return s.s.Insert(ctx, in, doc) })
		switch {
		case err == nil:
			return nil, nil
		case errors.Is(err, errTaken):
			err = s.attempt(ctx, func(ctx context.Context) error {
				there, err = s.s.Get(ctx, in, id)
				return err
			})
			if err == nil && there != nil {
				return there, nil
			}
		case doubts > 0: // an earlier attempt may yet succeed, so a refusal now says nothing
		case errors.Is(err, errUnwritable), errors.Is(err, errRefused):
			return nil, err
		}
		if err == nil {
			err = fmt.Errorf("%s was taken and is not there", id)
		}
		if perr := pause(ctx, retryPause); perr != nil {
			s.log.Warn("MongoDB did not take a document in time.", "namespace", s.names, "in", string(in), "id", id, "err", err)
			return nil, &doubtError{why: perr, last: err}
		}
	}
}

// A doubtError is the end of a request that may have succeeded, or may yet. It
// says why nobody waited longer; what the driver said last is in the log.
type doubtError struct{ why, last error }

func (e *doubtError) Error() string { return "it is not known whether it was done: " + e.why.Error() }

// Is lets nobody take the last of several errors for the answer: that of one
// attempt says nothing of those before, nor does the loss of the namespace.
func (e *doubtError) Is(target error) bool {
	return (target == context.Canceled || target == context.DeadlineExceeded) && (errors.Is(e.why, target) || errors.Is(e.last, target))
}

// retryPause is between two attempts at the same thing.
const retryPause = 50 * time.Millisecond

// attempt gives one request the time that one may take.
func (s *Store) attempt(ctx context.Context, do func(context.Context) error) error {
	return s.attemptFor(ctx, s.lease.patience(), do)
}

func (s *Store) attemptFor(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return do(ctx)
}

// carrying is what so many bytes take on a line of 2 MiB a second.
func carrying(bytes int) time.Duration { return time.Duration(bytes) * time.Second / (2 << 20) }

// beat says again and again that the owner lives, and ends the store when it
// could not for too long (step 7).
func (s *Store) beat() {
	for pause(s.life, s.lease.beatEvery()) == nil {
		s.keepLease()
		s.lookForReaders()
	}
}

// keepLease beats once, and again until that succeeds or it is too late.
func (s *Store) keepLease() {
	for s.life.Err() == nil {
		heard := s.lease.clock()
		left := time.Duration(s.deadline.Load()) - heard
		if left <= 0 && !s.o.weaken.selfFence {
			s.lose(fmt.Errorf("%w: it was not heard of for %v", engine.ErrFenced, s.lease.until(0)))
			return
		}
		next := s.own
		next.V, next.Beat, next.Readers = next.V+1, wall(), s.heeded()
		ctx, cancel := context.WithTimeout(s.life, min(max(left, time.Millisecond), s.lease.patience()))
		err := s.putOwner(ctx, next)
		cancel()
		// Whatever came of it, the next one has another version: one that changed
		// nothing, because an earlier attempt had got through, was seen by nobody.
		s.own.V = next.V
		if err == nil {
			// One that was answered too late may be one that nobody saw in time.
			if s.owned() {
				s.deadline.Store(int64(s.lease.until(heard)))
			}
			if s.lease.beaten(s.lease.clock() - heard) {
				// Before anybody is told, for whoever is need not wait longer.
				s.deadline.Store(min(s.deadline.Load(), int64(s.lease.until(heard))))
				s.own.Lease = s.lease.now().Milliseconds()
			}
			return
		}
		s.log.Debug("A beat failed.", "namespace", s.names, "err", err)
		if pause(s.life, retryPause) != nil {
			return
		}
	}
}

func (s *Store) putOwner(ctx context.Context, d ownerDoc) error {
	doc, err := bson.Marshal(d)
	if err != nil {
		return err
	}
	return s.s.Apply(ctx, owners, []change{{id: d.ID, version: d.V, doc: doc}})
}

// release lets others take over at once. It is true whatever else is: this
// store has ended.
func (s *Store) release(ctx context.Context) error {
	next := s.own
	next.V, next.Released, next.Beat = next.V+2, true, wall() // over a beat that is still under way
	return s.putOwner(ctx, next)
}

// Owned is the self-fence: true as long as no other server can have taken over.
func (s *Store) Owned() bool { return s.life.Err() == nil && s.owned() }

func (s *Store) owned() bool {
	return s.o.weaken.selfFence || int64(s.lease.clock()) < s.deadline.Load()
}

// textIn is a text field of a document; empty if there is none.
func textIn(doc bson.Raw, field string) string {
	s, _ := doc.Lookup(field).StringValueOK()
	return s
}
