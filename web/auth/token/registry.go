package token

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
	"mayfly/engine/namespaces"
	"mayfly/web/auth"
)

// ErrNotFound is returned if there is no key of that ID, or none that the caller may see. It is an
// engine.ErrNotFound.
var ErrNotFound error = engine.Refuse(engine.ErrNotFound, "The token or link does not exist.")

// errUnavailable is returned while the server's own namespace is not served or, if servers share a
// store, while their note store cannot be read.
var errUnavailable error = engine.Refuse(engine.ErrBusy, "Tokens and links are unavailable, because the server cannot reach the store that holds them. Try again later.")

// Options configure a Registry.
type Options struct {
	// Open is set on a server that requires no authentication.
	Open bool
	// Base is the path that the dashboard is served under. Empty means the root.
	Base string
	// CurrentRole returns the current role of the user who signed in with the method `way`, or None
	// if the user no longer exists, and whether the role is known. It must not block. If CurrentRole
	// is nil, no role is known.
	CurrentRole func(name string, way auth.Method) (role auth.Role, known bool)
	// UserGone reports whether the user of that name who signed in with the method `way` no longer
	// exists. The keys of such a user are removed after an hour, so that they do not pass to a later
	// user of the same name. Neither UserGone nor NamespaceCreated may block. If UserGone is nil, all
	// users exist.
	UserGone func(name string, way auth.Method) bool
	// NamespaceCreated returns when a namespace was created: older keys were for a former one of that
	// name. If NamespaceCreated is nil or returns the zero time, that is unknown.
	NamespaceCreated func(namespace string) time.Time
	// Notes stores the keys of servers that share a store, each valid at all of them. Zero
	// means that they are stored in the server's own namespace.
	Notes namespaces.NoteStore
	// RecordAudit records operations on the shared keys in activity. Zero means that they are
	// not recorded.
	RecordAudit func(ctx context.Context, done []broker.AuditEntry, actor string)
	Logger      *slog.Logger // zero means slog.Default
}

// A Registry holds the keys of a server. Make it with New; it is empty until Serve or, with a note
// store, Follow. It is safe for concurrent use.
type Registry struct {
	o      Options
	reader *namespaces.NoteReader // of the note store; nil if there is none

	mu          sync.RWMutex
	store       keyStore          // where keys are stored; nil while they are not stored here; guarded by mu
	byID        map[string]*entry // guarded by mu
	expiryTimer *time.Timer       // fires when the next key expires; nil if none does; guarded by mu
	changes     chan struct{}     // closed at the next change; guarded by mu

	lastChange time.Time // when a key was last made or revoked here, in the note store; guarded by mu
}

// An entry is a key in a Registry. Only its LastUsed changes.
type entry struct {
	Key
	hash           hash
	done           chan struct{} // closed once it is no longer valid; guarded by Registry.mu, as LastUsed is
	makerGoneSince time.Time     // when its maker was first seen to be gone; zero if not; guarded by Registry.mu
}

// view returns the key for the Registry's callers. LastUsed is rounded down, so view sets it to
// Made if it would be earlier.
func (e *entry) view() Key {
	k := e.Key
	if !k.LastUsed.IsZero() && k.LastUsed.Before(k.Made) {
		k.LastUsed = k.Made
	}
	return k
}

// New returns a Registry without keys.
func New(o Options) *Registry {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	r := &Registry{o: o, byID: map[string]*entry{}, changes: make(chan struct{})}
	if o.Notes != nil {
		r.store, r.reader = noteKeyStore{o.Notes, o.RecordAudit}, namespaces.NewNoteReader(o.Notes, noteKind, r.readNotes, o.Logger)
	}
	return r
}

const (
	usedResolution      = time.Minute      // the resolution of LastUsed
	saveUsedInterval    = 10 * time.Minute // how often LastUsed is written if it has changed
	forgetExpiredAfter  = 7 * 24 * time.Hour
	forgetOrphanedAfter = time.Hour // how long keys are kept after their maker is gone, because a users file may be wrong for a moment
)

// Serve stores the Registry's keys in b, and returns a function that stops that and waits until
// it has stopped. With a note store, the keys stay there, and those in b are moved to it.
func (r *Registry) Serve(ctx context.Context, b *broker.Broker) (leave func(), err error) {
	if r.o.Notes != nil {
		if err := r.moveToNotes(ctx, b); err != nil {
			r.o.Logger.Warn("the tokens of this server are not shared with other servers yet; retrying when the namespace is opened", "err", err)
		}
		return func() {}, nil
	}
	kept, err := b.Settings(ctx, settingPrefix)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.store = b
	r.replaceKeys(kept)
	r.changed()
	r.mu.Unlock()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { defer close(ended); r.maintain(ctx, b) }() // leave waits for it
	return func() {
		stop()
		<-ended
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.store == b {
			r.store = nil
		}
	}, nil
}

// replaceKeys replaces the Registry's keys with the stored ones, and reports whether they
// differ. A key that the Registry already has is kept, so requests that it let in are not cut
// off. The caller holds mu.
func (r *Registry) replaceKeys(kept []engine.Setting) (other bool) {
	was := r.byID
	r.byID = map[string]*entry{}
	for _, s := range kept {
		k, h, err := decode(s)
		if err != nil {
			r.o.Logger.Warn("a stored token or link cannot be read and is not accepted", "err", err)
			continue
		}
		e := &entry{Key: k, hash: h, done: make(chan struct{})}
		if old := was[k.ID]; old != nil && old.hash == h {
			if k.LastUsed.After(old.LastUsed) {
				old.LastUsed = k.LastUsed // it was used at another server
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

// end ends the requests that the key let in. The caller holds Registry.mu.
func (e *entry) end() {
	select {
	case <-e.done:
	default:
		close(e.done)
	}
}

// Changed returns a channel that is closed when a key is added or removed, or expires.
func (r *Registry) Changed() <-chan struct{} {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.changes
}

// changed ends expired keys, schedules itself for the next expiry, and wakes the callers that
// wait for Changed. The caller holds mu.
func (r *Registry) changed() {
	if r.expiryTimer != nil {
		r.expiryTimer.Stop()
		r.expiryTimer = nil
	}
	now, first := time.Now(), time.Time{}
	for _, e := range r.byID {
		switch {
		case e.HasExpired(now):
			e.end()
		case !e.Expires.IsZero() && (first.IsZero() || e.Expires.Before(first)):
			first = e.Expires
		}
	}
	if !first.IsZero() {
		r.expiryTimer = time.AfterFunc(first.Sub(now), func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.changed()
		})
	}
	close(r.changes)
	r.changes = make(chan struct{})
}

// Close stops the Registry's timer. Keys stay valid.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.expiryTimer != nil {
		r.expiryTimer.Stop()
		r.expiryTimer = nil
	}
}

// Recheck ends the requests that were let in by keys whose makers have a lower role now, or
// are gone: see Options.CurrentRole. New requests get the lower role.
func (r *Registry) Recheck() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.byID {
		if role := r.currentRole(e.Key); role < e.Role {
			e.end()
			e.done = make(chan struct{})
		}
	}
}

// RoleOf returns the role that a key gives now, which is never above its maker's. None means
// that it lets no request in. It does not look at the key's expiry.
func (r *Registry) RoleOf(k Key) auth.Role {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.currentRole(k)
}

// currentRole returns the role that the key gives now. The caller holds mu, to read.
func (r *Registry) currentRole(k Key) auth.Role {
	switch {
	case k.Method == auth.Open && !r.o.Open, r.isForFormerNamespace(k):
		return auth.None
	case k.Method == auth.Open || r.o.CurrentRole == nil:
		return k.Role
	}
	if now, known := r.o.CurrentRole(k.MadeBy, k.Method); known {
		return min(now, k.Role)
	}
	return k.Role
}

// isForFormerNamespace reports whether the key is older than its namespace: it is for a removed one
// of the same name.
func (r *Registry) isForFormerNamespace(k Key) bool {
	return k.Namespace != "" && r.o.NamespaceCreated != nil && k.Made.Before(r.o.NamespaceCreated(k.Namespace))
}

// isOrphaned reports whether the key's maker has been gone for forgetOrphanedAfter. The caller holds mu.
func (r *Registry) isOrphaned(e *entry, now time.Time) bool {
	switch {
	case r.o.UserGone == nil || e.Method == auth.Open || !r.o.UserGone(e.MadeBy, e.Method):
		e.makerGoneSince = time.Time{}
		return false
	case e.makerGoneSince.IsZero():
		e.makerGoneSince = now
	}
	return !now.Before(e.makerGoneSince.Add(forgetOrphanedAfter))
}

// maintain writes when keys were used, and forgets keys that expired long ago or whose maker is
// gone, until ctx ends.
func (r *Registry) maintain(ctx context.Context, b *broker.Broker) {
	each := time.NewTicker(saveUsedInterval)
	defer each.Stop()
	for {
		if err := r.maintainOnce(ctx, b); err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrClosed) {
			r.o.Logger.Warn("the last use of tokens cannot be stored", "err", err)
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

// maintainOnce runs one round of maintain.
func (r *Registry) maintainOnce(ctx context.Context, b keyStore) error {
	kept, err := b.Settings(ctx, settingPrefix)
	if err != nil {
		return err
	}
	for _, s := range kept {
		drop, set := r.stale(s)
		switch {
		case drop:
			err = b.DropSetting(ctx, s.Key)
		case set != s.Value: // unless it was revoked in the meantime
			_, err = b.SetSetting(ctx, s.Key, set, &s.ChangedAt)
		}
		if err != nil && !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrChanged) {
			return err
		}
	}
	return nil
}

// stale reports whether a stored key is to be dropped. If not, it returns the value to store, which
// is s.Value if nothing has changed.
func (r *Registry) stale(s engine.Setting) (drop bool, set string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, now := r.byID[strings.TrimPrefix(s.Key, settingPrefix)], time.Now()
	switch {
	case e == nil: // it cannot be read, or is gone
		return false, s.Value
	case r.isForFormerNamespace(e.Key), r.isOrphaned(e, now):
		r.o.Logger.Info("a token or link was removed, because its creator or its namespace no longer exists", "kind", e.Kind, "name", e.Name, "actor", e.MadeBy, "namespace", e.Namespace)
		e.end()
		delete(r.byID, e.ID)
		return true, ""
	case !e.Expires.IsZero() && !now.Before(e.Expires.Add(forgetExpiredAfter)):
		delete(r.byID, e.ID)
		return true, ""
	}
	return false, e.setting(e.hash).Value
}

// List returns the keys visible to caller, the latest first: all for an admin, else their own. It
// returns an error if they are stored elsewhere now.
func (r *Registry) List(caller auth.Caller) ([]Key, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.isUnavailable() {
		return nil, errUnavailable
	}
	var all []Key
	for _, e := range r.byID {
		if r.mayManage(e.Key, caller) {
			all = append(all, e.view())
		}
	}
	slices.SortFunc(all, latest)
	return all, nil
}

// Find returns one key. The error is ErrNotFound, also for a key that is not visible to caller.
func (r *Registry) Find(caller auth.Caller, id string) (Key, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.isUnavailable() {
		return Key{}, errUnavailable
	}
	e := r.byID[id]
	if e == nil || !r.mayManage(e.Key, caller) {
		return Key{}, ErrNotFound
	}
	return e.view(), nil
}

// PresentationLink returns the link that the audience of a presentation was given, by the
// presentation's id. It is the first one made for it, because others who know the id may make more.
// ok is false if there is none that is valid and visible to caller.
func (r *Registry) PresentationLink(caller auth.Caller, presentation string) (first Key, ok bool) {
	now := time.Now()
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, e := range r.byID {
		if presentation == "" || e.presentation() != presentation || e.HasExpired(now) || r.currentRole(e.Key) == auth.None || !r.mayManage(e.Key, caller) {
			continue
		}
		if !ok || latest(first, e.Key) < 0 {
			first, ok = e.Key, true
		}
	}
	return first, ok
}

// Descendants returns the keys that were made with a token, directly or through others: they do
// not outlive it. The latest is first.
func (r *Registry) Descendants(id string) (all []Key) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, e := range r.byID {
		if e.ID != id && r.isDescendant(e.Key, id) {
			all = append(all, e.view())
		}
	}
	slices.SortFunc(all, latest)
	return all
}

// latest compares keys for sorting, the latest first.
func latest(a, b Key) int { return cmp.Or(b.Made.Compare(a.Made), cmp.Compare(a.ID, b.ID)) }

// mayManage reports whether caller may see and revoke a key. The caller of the function holds mu,
// to read.
func (r *Registry) mayManage(k Key, caller auth.Caller) bool {
	switch {
	case caller.Role.Includes(auth.Admin):
		return caller.Namespace == "" || caller.Namespace == k.Namespace
	case caller.Method == auth.Link || !caller.IsKnown():
		return false
	case caller.Method == auth.Token:
		return k.ID == caller.ID || r.isDescendant(k, caller.ID)
	default:
		return k.madeBy(caller)
	}
}

// isDescendant reports whether a key was made with the token of that ID, directly or through others.
// The caller holds mu, to read.
func (r *Registry) isDescendant(k Key, id string) bool {
	for range len(r.byID) + 1 { // a chain cannot be longer, even if the stored keys form a circle
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
