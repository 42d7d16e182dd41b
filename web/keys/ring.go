package keys

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/web/identity"
)

// ErrNone says that there is no key of that ID, or none that the one who asks is told
// of. It is an engine.ErrNotFound.
var ErrNone error = &engine.Refusal{Kind: engine.ErrNotFound, Text: "There is no such token or link."}

// errAway is for what comes while the server's own namespace is not served or, where
// servers share a store, their board cannot be read.
var errAway error = &engine.Refusal{Kind: engine.ErrBusy, Text: "Which tokens and links there are cannot be told now: where they are kept is not to be reached."}

// Options are what a ring is of.
type Options struct {
	// Open is set on a server that asks nobody who he is.
	Open bool
	// Base is the path that the dashboard is served under. Empty: the root.
	Base string
	// Standing is which role a user has now who has signed in by way, None if he is gone,
	// and whether that is known at all. It must not wait. Zero: it never is.
	Standing func(name string, way identity.Way) (role identity.Role, known bool)
	// Gone tells whether nobody is called so any more of those who sign in by way. What they
	// made is forgotten when that has been so for a while, so that it is not somebody else's
	// who is called so later. Neither this nor Since may wait. Zero: nobody ever is.
	Gone func(name string, way identity.Way) bool
	// Since is when a namespace was made: what is older was for another one of that name.
	// Zero, or the zero time: that is not known of any, or of this one.
	Since func(namespace string) time.Time
	// Board is where servers on one store keep their keys, each good at all of them.
	// Zero: they are kept in the server's own namespace.
	Board fleet.Board
	// Remember has activity tell what was done to keys on the board. Zero: nobody is told.
	Remember func(ctx context.Context, done []broker.Deed, actor string)
	Logger   *slog.Logger // zero: slog.Default
}

// A Ring is the keys of a server. Make it with New; it knows of none until Serve or, with
// a board, Follow. It is safe for concurrent use.
type Ring struct {
	o      Options
	reader *fleet.Reader // of the board; nil: there is none

	mu    sync.RWMutex
	at    place             // where they are kept; nil: not here; guarded by mu
	byID  map[string]*entry // guarded by mu
	next  *time.Timer       // when the first of them is over; nil: none is; guarded by mu
	tells chan struct{}     // closed at the next change; guarded by mu

	altered time.Time // when one was made or revoked here, on the board; guarded by mu
}

// An entry is a key that the ring knows. Only used changes.
type entry struct {
	Key
	hash hash
	over chan struct{} // closed once it is not good any more; guarded by Ring.mu, as used is
	gone time.Time     // since when its maker is, as far as was seen; zero: he is not; likewise
}

// told is the key for those who may know of it: what was used in the minute in which it
// was made was not used before.
func (e *entry) told() Key {
	k := e.Key
	if !k.Used.IsZero() && k.Used.Before(k.Made) {
		k.Used = k.Made
	}
	return k
}

// New is a ring without keys.
func New(o Options) *Ring {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	r := &Ring{o: o, byID: map[string]*entry{}, tells: make(chan struct{})}
	if o.Board != nil {
		r.at, r.reader = onBoard{o.Board, o.Remember}, fleet.NewReader(o.Board, noteKind, r.read, o.Logger)
	}
	return r
}

const (
	usedStep  = time.Minute      // how coarse Used is
	keepEvery = 10 * time.Minute // how often that is written, where it changes
	forgetIn  = 7 * 24 * time.Hour
	goneFor   = time.Hour // of whose maker is gone; a file may be wrong for a moment
)

// Serve has the ring keep its keys in b, and returns what ends that, and waits until
// it is over. With a board they are there, and those that are in b are moved to it.
func (r *Ring) Serve(ctx context.Context, b *broker.Broker) (leave func(), err error) {
	if r.o.Board != nil {
		if err := r.move(ctx, b); err != nil {
			r.o.Logger.Warn("tokens from before servers shared them are not good yet; that is tried again when the namespace is opened", "error", err)
		}
		return func() {}, nil
	}
	kept, err := b.Settings(ctx, prefix)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	r.mu.Lock()
	r.at = b
	r.take(kept)
	r.changed()
	r.mu.Unlock()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { defer close(ended); r.tend(ctx, b) }() // waited for by leave
	return func() {
		stop()
		<-ended
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.at == b {
			r.at = nil
		}
	}, nil
}

// take has the ring know what is kept, and no more, and tells whether that is something
// else. A key that it knew already goes on as it was: what it let in is not cut off. The
// caller holds mu.
func (r *Ring) take(kept []engine.Setting) (other bool) {
	was := r.byID
	r.byID = map[string]*entry{}
	for _, s := range kept {
		k, h, err := decode(s)
		if err != nil {
			r.o.Logger.Warn("a token or link cannot be read, and lets nobody in", "error", err)
			continue
		}
		e := &entry{Key: k, hash: h, over: make(chan struct{})}
		if old := was[k.ID]; old != nil && old.hash == h {
			if k.Used.After(old.Used) {
				old.Used = k.Used // at another server
			}
			e = old
			delete(was, k.ID)
		} else {
			other = true
		}
		r.byID[k.ID] = e
	}
	for _, e := range was {
		other = true
		e.end()
	}
	return other
}

// end has what the key let in be over. The caller holds mu of its ring.
func (e *entry) end() {
	select {
	case <-e.over:
	default:
		close(e.over)
	}
}

// Changed is closed when there is a key more or less, or one is over.
func (r *Ring) Changed() <-chan struct{} {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.tells
}

// changed ends what is over by now, has this be done again when the next one is, and
// tells those who wait. The caller holds mu.
func (r *Ring) changed() {
	if r.next != nil {
		r.next.Stop()
		r.next = nil
	}
	now, first := time.Now(), time.Time{}
	for _, e := range r.byID {
		switch {
		case e.Ended(now):
			e.end()
		case !e.Until.IsZero() && (first.IsZero() || e.Until.Before(first)):
			first = e.Until
		}
	}
	if !first.IsZero() {
		r.next = time.AfterFunc(first.Sub(now), func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.changed()
		})
	}
	close(r.tells)
	r.tells = make(chan struct{})
}

// Close ends what the ring does by itself; keys stay as good as they are.
func (r *Ring) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next != nil {
		r.next.Stop()
		r.next = nil
	}
}

// Recheck ends what was let in by keys whose makers have a lower role now, or are gone:
// see Options.Standing. It comes again as what it may be now.
func (r *Ring) Recheck() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.byID {
		if role := r.standing(e.Key); role < e.Role {
			e.end()
			e.over = make(chan struct{})
		}
	}
}

// Gives is the role that a key gives now, which is never above its maker's; None: it
// lets nobody in. Whether it is over is another question.
func (r *Ring) Gives(k Key) identity.Role {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.standing(k)
}

// standing is the role that the key gives now. The caller holds mu, to read.
func (r *Ring) standing(k Key) identity.Role {
	switch {
	case k.Way == identity.Open && !r.o.Open, r.former(k):
		return identity.None
	case k.Way == identity.Open || r.o.Standing == nil:
		return k.Role
	}
	if now, known := r.o.Standing(k.By, k.Way); known {
		return min(now, k.Role)
	}
	return k.Role
}

// former tells whether the key is for a namespace that there is no longer, but for
// another of that name.
func (r *Ring) former(k Key) bool {
	return k.Namespace != "" && r.o.Since != nil && k.Made.Before(r.o.Since(k.Namespace))
}

// orphaned tells whether who made the key has been gone for long. The caller holds mu.
func (r *Ring) orphaned(e *entry, now time.Time) bool {
	switch {
	case r.o.Gone == nil || e.Way == identity.Open || !r.o.Gone(e.By, e.Way):
		e.gone = time.Time{}
		return false
	case e.gone.IsZero():
		e.gone = now
	}
	return !now.Before(e.gone.Add(goneFor))
}

// tend writes when keys were used, and forgets those that are long over or nobody's any
// more, until ctx ends.
func (r *Ring) tend(ctx context.Context, b *broker.Broker) {
	each := time.NewTicker(keepEvery)
	defer each.Stop()
	for {
		if err := r.tidy(ctx, b); err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrClosed) {
			r.o.Logger.Warn("when tokens were used cannot be written", "error", err)
		}
		select {
		case <-each.C:
		case <-b.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// tidy does what tend does, once.
func (r *Ring) tidy(ctx context.Context, b place) error {
	kept, err := b.Settings(ctx, prefix)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	for _, s := range kept {
		drop, set := r.stale(s)
		switch {
		case drop:
			err = b.DropSetting(ctx, s.Key)
		case set != s.Value: // unless it was revoked meanwhile
			_, err = b.SetSetting(ctx, s.Key, set, &s.ChangedAt)
		}
		if err != nil && !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrChanged) {
			return err //nolint:wrapcheck // it says what it is about
		}
	}
	return nil
}

// stale tells whether a key that is kept is to be so no longer, and else how it is to be
// kept.
func (r *Ring) stale(s engine.Setting) (drop bool, set string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, now := r.byID[strings.TrimPrefix(s.Key, prefix)], time.Now()
	switch {
	case e == nil: // it cannot be read, or is gone
		return false, s.Value
	case r.former(e.Key), r.orphaned(e, now):
		r.o.Logger.Info("a token or link was forgotten: who made it, or what it was for, is gone", "kind", e.Kind, "name", e.Name, "by", e.By, "namespace", e.Namespace)
		e.end()
		delete(r.byID, e.ID)
		return true, ""
	case !e.Until.IsZero() && !now.Before(e.Until.Add(forgetIn)):
		delete(r.byID, e.ID)
		return true, ""
	}
	return false, e.setting(e.hash).Value
}

// List are the keys that who may know of, the latest first: an admin all, others
// their own. The error says that they are kept elsewhere now.
func (r *Ring) List(who identity.Who) ([]Key, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.away() {
		return nil, errAway
	}
	var all []Key
	for _, e := range r.byID {
		if r.concerns(e.Key, who) {
			all = append(all, e.told())
		}
	}
	slices.SortFunc(all, latest)
	return all, nil
}

// Find is one key. The error is ErrNone, also for one that who may not know of.
func (r *Ring) Find(who identity.Who, id string) (Key, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.away() {
		return Key{}, errAway
	}
	e := r.byID[id]
	if e == nil || !r.concerns(e.Key, who) {
		return Key{}, ErrNone
	}
	return e.told(), nil
}

// LinkOf is the link that the audience of a talk was given, by the talk's id: the first
// that was made for it, as others may make more who know that. Not ok: there is none that
// is good and that who may know of.
func (r *Ring) LinkOf(who identity.Who, talk string) (first Key, ok bool) {
	now := time.Now()
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, e := range r.byID {
		if talk == "" || e.talk() != talk || e.Ended(now) || r.standing(e.Key) == identity.None || !r.concerns(e.Key, who) {
			continue
		}
		if !ok || latest(first, e.Key) < 0 {
			first, ok = e.Key, true
		}
	}
	return first, ok
}

// MadeWith are the keys that were made with a token, or with one that was: they do not
// outlive it. The latest is first.
func (r *Ring) MadeWith(id string) (all []Key) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, e := range r.byID {
		if e.ID != id && r.under(e.Key, id) {
			all = append(all, e.told())
		}
	}
	slices.SortFunc(all, latest)
	return all
}

// latest is the order of lists.
func latest(a, b Key) int { return cmp.Or(b.Made.Compare(a.Made), cmp.Compare(a.ID, b.ID)) }

// concerns tells whether who may know of a key, and revoke it. The caller holds mu, to
// read.
func (r *Ring) concerns(k Key, who identity.Who) bool {
	switch {
	case who.Role.May(identity.Admin):
		return who.Within == "" || who.Within == k.Namespace
	case who.Way == identity.Link || !who.Known():
		return false
	case who.Way == identity.Token:
		return k.ID == who.ID || r.under(k, who.ID)
	default:
		return k.madeBy(who)
	}
}

// under tells whether a key was made with the token of that ID, or with one that was.
// The caller holds mu, to read.
func (r *Ring) under(k Key, id string) bool {
	for range len(r.byID) + 1 { // no longer than a chain can be, whatever is stored
		if k.Parent == "" {
			return false
		}
		if k.Parent == id {
			return true
		}
		p := r.byID[k.Parent]
		if p == nil {
			return false
		}
		k = p.Key
	}
	return false
}
