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

// ownerDoc is a document of the collection owners: the server that took an epoch, and its latest
// beat.
type ownerDoc struct {
	ID        string    `bson:"_id"`
	V         int64     `bson:"v"` // incremented with each beat
	Namespace string    `bson:"ns"`
	Token     string    `bson:"token"`   // of one open
	Process   string    `bson:"process"` // of one process, over several opens
	Lease     int64     `bson:"leaseMs"` // silence after which another server may take over
	Dashboard string    `bson:"dashboard,omitempty"`
	Admin     string    `bson:"admin,omitempty"`
	AMQP      string    `bson:"amqp,omitempty"`
	Host      string    `bson:"host,omitempty"`
	Peer      string    `bson:"peer,omitempty"`    // for requests that other servers forward
	Heartbeat time.Time `bson:"beat"`              // by the owner's clock; only for people
	Readers   []string  `bson:"readers,omitempty"` // the readers that the owner keeps documents for
	Released  bool      `bson:"released,omitempty"`
}

func (d *ownerDoc) owner(epoch uint64) engine.Owner {
	return engine.Owner{Dashboard: d.Dashboard, Admin: d.Admin, AMQP: d.AMQP, Host: d.Host, Peer: d.Peer, Epoch: epoch}
}

// A lease is the time for which an owner may act without asking MongoDB. Its clock does not
// stop while the machine sleeps, and is never compared with another machine's.
//
// If opens were lost one after the other because they took longer than the lease, the next one
// gets a longer lease: otherwise the namespace would change hands for ever on a slow server.
// The lease returns to its usual length, step by step, once beats are quick.
type lease struct {
	base   time.Duration
	clock  func() time.Duration
	length atomic.Int64 // current length in nanoseconds
	quick  int          // quick beats in a row; owned by beat
}

// How much longer than usual a lease may get, as a power of two, and how many quick beats
// halve it again.
const (
	maxLeaseShift   = 3
	quickHeartbeats = 10
)

// set sets the lease's usual length, and its current length for an open that follows `lost` opens
// in a row that lost the namespace. Each of these doubles the current length, which is at most
// eight times the usual one.
func (l *lease) set(usual time.Duration, lost int) {
	l.base = usual
	l.length.Store(int64(usual << min(max(lost, 0), maxLeaseShift)))
}

// current returns the current length of the lease.
func (l *lease) current() time.Duration { return time.Duration(l.length.Load()) }

// deadline returns when an owner must stop if it sent its last successful beat at the time
// `heard`: a fifth of the lease before its end.
func (l *lease) deadline(heard time.Duration) time.Duration {
	return heard + l.current() - l.current()/5
}

// heartbeatInterval returns the pause between beats.
func (l *lease) heartbeatInterval() time.Duration { return l.base / 5 }

// patience returns how long one request may take before it is retried.
func (l *lease) patience() time.Duration { return max(l.current()/2, 100*time.Millisecond) }

// recordHeartbeat records how long a beat took, and reports whether it shortened the lease.
func (l *lease) recordHeartbeat(took time.Duration) (shorter bool) {
	l.quick++
	if took > l.heartbeatInterval() {
		l.quick = 0
	}
	if l.current() == l.base || l.quick < quickHeartbeats {
		return false
	}
	l.quick = 0
	l.length.Store(int64(max(l.current()/2, l.base)))
	return true
}

// An ownerHeartbeat is the latest beat of the owner that a standby server has seen.
type ownerHeartbeat struct {
	id     string
	number int64
	since  time.Duration // when the first answer with this beat arrived
}

// acquire waits until the namespace has no owner and takes its next epoch. Without Standby it
// does not wait for an owner that is alive.
func (s *Store) acquire(ctx context.Context) error {
	var seen ownerHeartbeat
	var free time.Duration // since when the namespace has had no owner, if known
	known := false
	for {
		asked := s.lease.clock()
		last, err := s.latestOwner(ctx)
		if err != nil {
			return err
		}
		epoch := uint64(0)
		if last != nil {
			if epoch, err = parseNumber(last.ID, 0); err != nil {
				return err
			}
		}
		silent := last != nil && !last.Released && seen.silent(last, asked, &s.lease)
		switch {
		case last == nil, last.Released, silent, last.Process == s.o.Process:
			if !known {
				known, free = true, asked
			}
			if !s.mayClaim(last, asked-free, silent) {
				break
			}
			known = false
			if ok, err := s.claim(ctx, epoch+1); ok || err != nil {
				return err
			}
			continue
		case seen.id != last.ID:
			known = false
			s.log.Info("another server owns the namespace", "namespace", s.names, "epoch", epoch, "dashboard", last.Dashboard)
			if s.o.Standby != nil {
				s.o.Standby(last.owner(epoch))
			}
			seen = ownerHeartbeat{last.ID, last.V, s.lease.clock()}
		case seen.number != last.V:
			if s.o.Standby == nil {
				return &engine.OwnedError{Owner: last.owner(epoch)}
			}
			known = false
			seen.number, seen.since = last.V, s.lease.clock()
		}
		if err := pause(ctx, min(s.lease.heartbeatInterval(), 500*time.Millisecond)); err != nil {
			return err
		}
	}
}

// mayClaim reports whether this server may take the namespace, which has had no live owner for
// the duration `free`. It always may if this process was the owner and could not release the
// namespace. last is the last owner, nil if there was none; silent means that its lease ran out.
func (s *Store) mayClaim(last *ownerDoc, free time.Duration, silent bool) bool {
	if s.o.Claim == nil || last != nil && last.Process == s.o.Process && !last.Released {
		return true
	}
	gone := ""
	if silent {
		gone = last.Process
	}
	return s.o.Claim(free, gone)
}

// silent reports whether the owner had been silent for its lease and a margin when the standby
// server sent its request, at asked by its own clock. The time at which the answer arrived does
// not count, because the answer may be old.
func (w ownerHeartbeat) silent(last *ownerDoc, asked time.Duration, l *lease) bool {
	length := max(l.base, time.Duration(last.Lease)*time.Millisecond)
	return w.id == last.ID && w.number == last.V && asked-w.since >= length+length/5
}

// latestOwner returns the latest owner, or nil if there was none yet.
func (s *Store) latestOwner(ctx context.Context) (*ownerDoc, error) {
	r := s.names.all()
	r.backwards, r.limit = true, 1
	for raw, err := range s.s.Range(ctx, owners, r) {
		if err != nil {
			return nil, fmt.Errorf("read the owner of the namespace: %w", err)
		}
		d := new(ownerDoc)
		if err := bson.Unmarshal(raw, d); err != nil {
			return nil, fmt.Errorf("read the owner of the namespace: %w", err)
		}
		return d, nil
	}
	return nil, nil
}

// maxEpoch is how many epochs fit into a Key.
const maxEpoch = 1<<24 - 1

// claim tries to become the owner of an epoch, and returns false if another server has taken it.
// The lease runs from before the first attempt.
func (s *Store) claim(ctx context.Context, epoch uint64) (bool, error) {
	if epoch > maxEpoch {
		return false, fmt.Errorf("the namespace was opened %d times, the maximum", maxEpoch)
	}
	heard := s.lease.clock()
	s.own = ownerDoc{
		ID: s.names.owner(epoch), V: 1, Namespace: string(s.names), Token: s.token, Process: s.o.Process,
		Lease:     s.lease.current().Milliseconds(),
		Dashboard: s.o.Owner.Dashboard, Admin: s.o.Owner.Admin, AMQP: s.o.Owner.AMQP, Host: s.o.Owner.Host, Peer: s.o.Owner.Peer, Heartbeat: wall(),
	}
	doc, err := bson.Marshal(s.own)
	if err != nil {
		return false, err
	}
	there, err := s.insertOrGet(ctx, owners, s.own.ID, doc)
	if err != nil {
		return false, fmt.Errorf("take epoch %d: %w", epoch, err)
	}
	if there != nil && textIn(there, "token") != s.token {
		return false, nil
	}
	s.epoch = epoch
	s.deadline.Store(int64(s.lease.deadline(heard)))
	return true, nil
}

// insertOrGet retries inserting a document until that document, or another one with its _id,
// is known to exist. It returns the existing document, or nil if the last attempt inserted
// doc. The existing one may be the caller's own, from an attempt whose outcome was unknown.
// insertOrGet gives up when ctx ends, and on errors that no retry can fix.
func (s *Store) insertOrGet(ctx context.Context, in collection, id string, doc bson.Raw) (there bson.Raw, err error) {
	for doubts := 0; ; doubts++ {
		err := s.attemptFor(ctx, s.lease.patience()+transferTime(len(doc)), func(ctx context.Context) error { return s.s.Insert(ctx, in, doc) })
		switch {
		case err == nil:
			return nil, nil
		case errors.Is(err, errDuplicateID):
			err = s.attempt(ctx, func(ctx context.Context) error {
				there, err = s.s.Get(ctx, in, id)
				return err
			})
			if err == nil && there != nil {
				return there, nil
			}
		case doubts > 0: // an earlier attempt may still succeed, so this refusal proves nothing
		case errors.Is(err, errUnwritable), errors.Is(err, errRefused):
			return nil, err
		}
		if err == nil {
			err = fmt.Errorf("%s was claimed, but is missing", id)
		}
		if perr := pause(ctx, retryPause); perr != nil {
			s.log.Warn("MongoDB did not write a document in time", "namespace", s.names, "in", string(in), "id", id, "err", err)
			return nil, &uncertainError{reason: perr, last: err}
		}
	}
}

// An uncertainError ends a request that may have succeeded, or may still succeed. reason is why
// it was given up; last is the error of the last attempt.
type uncertainError struct{ reason, last error }

func (e *uncertainError) Error() string {
	return "the write may or may not have happened: " + e.reason.Error()
}

// Is matches cancellation only: neither the error of one attempt nor the loss of the namespace
// says how the other attempts ended.
func (e *uncertainError) Is(target error) bool {
	return (target == context.Canceled || target == context.DeadlineExceeded) && (errors.Is(e.reason, target) || errors.Is(e.last, target))
}

// retryPause is the pause between two attempts.
const retryPause = 50 * time.Millisecond

// attempt runs one request with the time limit lease.patience.
func (s *Store) attempt(ctx context.Context, do func(context.Context) error) error {
	return s.attemptFor(ctx, s.lease.patience(), do)
}

func (s *Store) attemptFor(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return do(ctx)
}

// transferTime returns how long bytes take on a line of 2 MiB a second.
func transferTime(bytes int) time.Duration { return time.Duration(bytes) * time.Second / (2 << 20) }

// beat renews the lease periodically, and ends the store when that has failed for too long.
func (s *Store) beat() {
	for pause(s.lifetime, s.lease.heartbeatInterval()) == nil {
		s.renewLease()
		s.updateReaders()
	}
}

// renewLease beats once, retrying until that succeeds or the lease is over.
func (s *Store) renewLease() {
	for s.lifetime.Err() == nil {
		heard := s.lease.clock()
		left := time.Duration(s.deadline.Load()) - heard
		if left <= 0 && !s.o.weaken.selfFence {
			s.endOwnership(fmt.Errorf("%w: no heartbeat for %v", engine.ErrFenced, s.lease.deadline(0)))
			return
		}
		next := s.own
		next.V, next.Heartbeat, next.Readers = next.V+1, wall(), s.servedReaders()
		ctx, cancel := context.WithTimeout(s.lifetime, min(max(left, time.Millisecond), s.lease.patience()))
		err := s.putOwner(ctx, next)
		cancel()
		// Whatever the outcome, the next beat gets another version: a beat with the version of
		// an attempt that had got through would change nothing, and no other server would
		// notice it.
		s.own.V = next.V
		if err == nil {
			// Standby servers may not have seen a beat in time if its answer was late.
			if s.owned() {
				s.deadline.Store(int64(s.lease.deadline(heard)))
			}
			if s.lease.recordHeartbeat(s.lease.clock() - heard) {
				// Shorten the deadline before publishing the shorter lease, because a server
				// that has read it waits no longer than that.
				s.deadline.Store(min(s.deadline.Load(), int64(s.lease.deadline(heard))))
				s.own.Lease = s.lease.current().Milliseconds()
			}
			return
		}
		s.log.Debug("a heartbeat failed", "namespace", s.names, "err", err)
		if pause(s.lifetime, retryPause) != nil {
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

// release lets other servers take over at once. Call it when the store has ended; the outcome
// of earlier requests does not matter then.
func (s *Store) release(ctx context.Context) error {
	next := s.own
	next.V, next.Released, next.Heartbeat = next.V+2, true, wall() // overrides a beat that is still under way
	return s.putOwner(ctx, next)
}

// Owned reports whether the store still owns the namespace. While it returns true, no other
// server can have taken over: this is the self-fence.
func (s *Store) Owned() bool { return s.lifetime.Err() == nil && s.owned() }

func (s *Store) owned() bool {
	return s.o.weaken.selfFence || int64(s.lease.clock()) < s.deadline.Load()
}

// textIn returns a text field of a document, or "" if there is none.
func textIn(doc bson.Raw, field string) string {
	s, _ := doc.Lookup(field).StringValueOK()
	return s
}
