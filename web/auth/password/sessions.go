package password

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"
	"time"

	"mayfly/engine/shorten"
	"mayfly/web/auth"
	"mayfly/web/proxy"
)

// How long a session is valid.
const (
	IdleTimeout = 12 * time.Hour     // without a request
	Lifetime    = 7 * 24 * time.Hour // in all
)

// The most sessions of a server, and of one user. If there are more, the session that has not been
// used for the longest time ends.
const (
	maxSessions = 10_000
	maxPerUser  = 50
)

// SessionCookie is the name of the session cookie, without the port.
const SessionCookie = "mayfly_session"

// cookie returns the session cookie's name in answers to r. Sessions that servers share are valid
// at all ports of a host, because the servers may be on the same one.
func (s *Sessions) cookie(r *http.Request) string {
	if s.notes != nil {
		return SessionCookie
	}
	return auth.CookieName(r, SessionCookie)
}

// tokenSize is how long a cookie is: 130 bits, in base32.
const tokenSize = 26

// A Session is a user's session.
type Session struct {
	ID                string // to refer to it; it gives no access
	Caller            auth.Caller
	Started, LastSeen time.Time
	Address           string // the address that it was begun from
	Agent             string // the browser's User-Agent
}

// A Start has the properties of a new session.
type Start struct {
	Caller auth.Caller
	Stamp  [sha256.Size]byte // of the user's line: see Recheck
}

type session struct {
	Session
	done  chan struct{} // closed when it ends
	stamp [sha256.Size]byte

	postedAt  time.Time // when it was put in the note store; zero if it is not there
	postedUse time.Time // its last use as the note store has it
}

// Sessions are the sessions of a server, or of all servers that share a store: see Share. Make
// it with NewSessions. It is safe for concurrent use, and a Source.
type Sessions struct {
	// Base is the path that the dashboard is served under, which is not changed once in
	// use. Empty means the root.
	Base string

	shared // zero if the sessions are of this server alone

	mu  sync.Mutex
	all map[[sha256.Size]byte]*session // by the hash of the cookie; guarded by mu
}

// NewSessions returns a Sessions without any session.
func NewSessions() *Sessions { return &Sessions{all: map[[sha256.Size]byte]*session{}} }

// Begin starts a session, and sets its cookie in the browser. The browser's former session
// ends.
func (s *Sessions) Begin(w http.ResponseWriter, r *http.Request, with Start) {
	if c, err := r.Cookie(s.cookie(r)); err == nil {
		was := sha256.Sum256([]byte(c.Value))
		s.endWhere(func(key [sha256.Size]byte, _ *session) bool { return key == was })
	}
	token, now := rand.Text(), time.Now()
	is := &session{
		Session: Session{ID: rand.Text()[:12], Caller: with.Caller, Started: now, LastSeen: now, Address: ClientAddress(r), Agent: shorten.To(r.UserAgent(), 200)},
		done:    make(chan struct{}), stamp: with.Stamp,
	}
	is.Caller.ID, is.Caller.Done, is.Caller.Expires = is.ID, is.done, now.Add(Lifetime)
	key := sha256.Sum256([]byte(token))
	s.mu.Lock()
	s.evictOldest(with.Caller.Name)
	s.all[key] = is
	s.mu.Unlock()
	s.publish(r.Context())
	s.setCookie(w, r, token, int(Lifetime/time.Second))
}

// evictOldest ends the oldest sessions if there are too many. The caller holds mu.
func (s *Sessions) evictOldest(name string) {
	oldest := func(of func(*session) bool) (at [sha256.Size]byte, n int) {
		var found *session
		for key, is := range s.all {
			if !of(is) {
				continue
			}
			if n++; found == nil || is.LastSeen.Before(found.LastSeen) {
				at, found = key, is
			}
		}
		return at, n
	}
	if at, n := oldest(func(is *session) bool { return is.Caller.Name == name }); n >= maxPerUser {
		s.drop(at)
	}
	if len(s.all) < maxSessions {
		return
	}
	at, _ := oldest(func(*session) bool { return true })
	s.drop(at)
}

// drop ends a session, at other servers too: see publish. The caller holds mu.
func (s *Sessions) drop(key [sha256.Size]byte) {
	if s.notes != nil {
		s.ended[key] = time.Time{}
	}
	s.forget(key)
}

// forget ends a session at this server. The caller holds mu.
func (s *Sessions) forget(key [sha256.Size]byte) {
	close(s.all[key].done)
	delete(s.all, key)
}

// Identify returns the user of r's session cookie. It implements auth.Source.
func (s *Sessions) Identify(r *http.Request) (auth.Caller, error) {
	c, err := r.Cookie(s.cookie(r))
	if err != nil || len(c.Value) != tokenSize {
		return auth.Caller{}, auth.ErrNoCredential
	}
	now := time.Now()
	key := sha256.Sum256([]byte(c.Value))
	s.reread(r.Context(), key)
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.all[key]
	if is == nil {
		return auth.Caller{}, auth.ErrNoCredential
	}
	if is.hasExpired(now) {
		s.drop(key)
		return auth.Caller{}, auth.ErrNoCredential
	}
	is.LastSeen = now
	return is.Caller, nil
}

// hasExpired reports whether the session has expired.
func (s *session) hasExpired(now time.Time) bool {
	return !now.Before(s.LastSeen.Add(IdleTimeout)) || !now.Before(s.Started.Add(Lifetime))
}

// All returns the sessions, the last used first.
func (s *Sessions) All() (all []Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, is := range s.all {
		all = append(all, is.Session)
	}
	slices.SortFunc(all, func(a, b Session) int { return cmp.Or(b.LastSeen.Compare(a.LastSeen), cmp.Compare(a.ID, b.ID)) })
	return all
}

// endWhere ends the sessions for which `those` returns true, and returns them.
func (s *Sessions) endWhere(those func([sha256.Size]byte, *session) bool) (ended []Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, is := range s.all {
		if those(key, is) {
			ended = append(ended, is.Session)
			s.drop(key)
		}
	}
	return ended
}

// End ends the sessions for which `those` returns true, at other servers too, and returns them.
func (s *Sessions) End(ctx context.Context, those func(Session) bool) []Session {
	defer s.publish(ctx)
	return s.endWhere(func(_ [sha256.Size]byte, is *session) bool { return those(is.Session) })
}

// Recheck ends sessions that began with a password, if `stamp` returns another stamp for the user
// now, or false because the user no longer exists. It returns the ended sessions.
func (s *Sessions) Recheck(ctx context.Context, stamp func(name string) ([sha256.Size]byte, bool)) []Session {
	defer s.publish(ctx)
	return s.endWhere(func(_ [sha256.Size]byte, is *session) bool {
		if is.Caller.Method != auth.Password {
			return false
		}
		now, ok := stamp(is.Caller.Name)
		return !ok || now != is.stamp
	})
}

// sweepInterval is how often Watch checks.
const sweepInterval = time.Minute

// Watch ends expired sessions, with their open requests, until ctx ends.
func (s *Sessions) Watch(ctx context.Context) {
	look := time.NewTicker(sweepInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			s.endWhere(func(_ [sha256.Size]byte, is *session) bool { return is.hasExpired(now) })
		}
	}
}

// setCookie sets or deletes the session cookie. It is Lax so that a link from another site leads to
// its page and not to the sign-in page; package origin refuses cross-site requests that change
// something.
func (s *Sessions) setCookie(w http.ResponseWriter, r *http.Request, token string, age int) {
	auth.SetCookie(w, r, &http.Cookie{
		Name: s.cookie(r), Value: token, Path: auth.CookiePath(s.Base), MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// ClientAddress returns the address of a request's client, without the port.
func ClientAddress(r *http.Request) string {
	return proxy.Address(r)
}
