package login

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mayfly/web/identity"
)

// How long a session is good.
const (
	IdleFor  = 12 * time.Hour     // without a request
	LastsFor = 7 * 24 * time.Hour // whatever happens
)

// How many sessions there are at most: beyond that the one that was used the longest
// time ago ends.
const (
	mostSessions = 10_000
	mostOfOne    = 50
)

// Cookie is the name of the cookie that a session is known by, but for the port.
const Cookie = "mayfly_session"

// cookie is that name where r was sent to. Sessions of several servers are good at all
// ports of a host, on which these may be.
func (s *Sessions) cookie(r *http.Request) string {
	if s.board != nil {
		return Cookie
	}
	return identity.CookieName(r, Cookie)
}

// tokenSize is how long a cookie is: 130 bits, in base32.
const tokenSize = 26

// A Session is one of somebody who has signed in.
type Session struct {
	ID          string // to name it by; it opens nothing
	Who         identity.Who
	Begun, Seen time.Time
	From        string // the address that it was begun from
	Agent       string // what the browser says that it is
}

// A Start is what a session begins with.
type Start struct {
	Who   identity.Who
	Stamp [sha256.Size]byte // what who was known by: see Hold
}

type session struct {
	Session
	over  chan struct{} // closed when it ends
	stamp [sha256.Size]byte

	up     time.Time // since when it is on the board; zero: it is not
	marked time.Time // when it was used, as the board knows
}

// Sessions are those of a server, or of all servers on a store: see Share. Make it with
// NewSessions. It is safe for concurrent use, and a Source.
type Sessions struct {
	// Base is the path that the dashboard is served under, which is not changed once in
	// use. Empty: the root.
	Base string

	shared // nothing: they are of this server

	mu  sync.Mutex
	all map[[sha256.Size]byte]*session // by the hash of the cookie; guarded by mu
}

// NewSessions has none.
func NewSessions() *Sessions { return &Sessions{all: map[[sha256.Size]byte]*session{}} }

// Begin starts a session, and has the browser keep it. A session that it had before
// ends.
func (s *Sessions) Begin(w http.ResponseWriter, r *http.Request, with Start) {
	if c, err := r.Cookie(s.cookie(r)); err == nil {
		was := sha256.Sum256([]byte(c.Value))
		s.end(func(key [sha256.Size]byte, _ *session) bool { return key == was })
	}
	token, now := rand.Text(), time.Now()
	is := &session{
		Session: Session{ID: rand.Text()[:12], Who: with.Who, Begun: now, Seen: now, From: Address(r), Agent: cut(r.UserAgent(), 200)},
		over:    make(chan struct{}), stamp: with.Stamp,
	}
	is.Who.ID, is.Who.Over, is.Who.Until = is.ID, is.over, now.Add(LastsFor)
	key := sha256.Sum256([]byte(token))
	s.mu.Lock()
	s.makeRoom(with.Who.Name)
	s.all[key] = is
	s.mu.Unlock()
	s.tell(r.Context())
	s.set(w, r, token, int(LastsFor/time.Second))
}

// makeRoom ends the oldest where there are too many. The caller holds mu.
func (s *Sessions) makeRoom(name string) {
	oldest := func(of func(*session) bool) (at [sha256.Size]byte, n int) {
		var found *session
		for key, is := range s.all {
			if !of(is) {
				continue
			}
			if n++; found == nil || is.Seen.Before(found.Seen) {
				at, found = key, is
			}
		}
		return at, n
	}
	if at, n := oldest(func(is *session) bool { return is.Who.Name == name }); n >= mostOfOne {
		s.drop(at)
	}
	if len(s.all) < mostSessions {
		return
	}
	at, _ := oldest(func(*session) bool { return true })
	s.drop(at)
}

// drop ends one, at other servers too: see tell. The caller holds mu.
func (s *Sessions) drop(key [sha256.Size]byte) {
	if s.board != nil {
		s.ended[key] = time.Time{}
	}
	s.forget(key)
}

// forget ends one here. The caller holds mu.
func (s *Sessions) forget(key [sha256.Size]byte) {
	close(s.all[key].over)
	delete(s.all, key)
}

// Identify is who the cookie of r is of. It is an identity.Source.
func (s *Sessions) Identify(r *http.Request) (identity.Who, error) {
	c, err := r.Cookie(s.cookie(r))
	if err != nil || len(c.Value) != tokenSize {
		return identity.Who{}, identity.ErrNone
	}
	now := time.Now()
	key := sha256.Sum256([]byte(c.Value))
	s.lookAgain(r.Context(), key)
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.all[key]
	if is == nil {
		return identity.Who{}, identity.ErrNone
	}
	if is.past(now) {
		s.drop(key)
		return identity.Who{}, identity.ErrNone
	}
	is.Seen = now
	return is.Who, nil
}

// past tells whether it has ended by itself.
func (s *session) past(now time.Time) bool {
	return !now.Before(s.Seen.Add(IdleFor)) || !now.Before(s.Begun.Add(LastsFor))
}

// All are the sessions, those that were used last first.
func (s *Sessions) All() (all []Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, is := range s.all {
		all = append(all, is.Session)
	}
	slices.SortFunc(all, func(a, b Session) int { return cmp.Or(b.Seen.Compare(a.Seen), cmp.Compare(a.ID, b.ID)) })
	return all
}

// end ends those that it is said of, and tells which.
func (s *Sessions) end(those func([sha256.Size]byte, *session) bool) (ended []Session) {
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

// End ends the sessions that it is said of, at once, and tells which.
func (s *Sessions) End(ctx context.Context, those func(Session) bool) []Session {
	defer s.tell(ctx)
	return s.end(func(_ [sha256.Size]byte, is *session) bool { return those(is.Session) })
}

// Hold ends the sessions of those who have signed in with a password and are not known
// by the stamp any more that they had.
func (s *Sessions) Hold(ctx context.Context, stamp func(name string) ([sha256.Size]byte, bool)) []Session {
	defer s.tell(ctx)
	return s.end(func(_ [sha256.Size]byte, is *session) bool {
		if is.Who.Way != identity.Password {
			return false
		}
		now, ok := stamp(is.Who.Name)
		return !ok || now != is.stamp
	})
}

// sweep is how often Watch looks.
const sweep = time.Minute

// Watch ends sessions whose time is over, for what they have open, until ctx ends.
func (s *Sessions) Watch(ctx context.Context) {
	look := time.NewTicker(sweep)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			s.end(func(_ [sha256.Size]byte, is *session) bool { return is.past(now) })
		}
	}
}

// set has the browser keep a cookie, or forget it. Lax: a link from elsewhere leads to
// the page and not to signing in; what changes something is refused across sites by
// package access.
func (s *Sessions) set(w http.ResponseWriter, r *http.Request, token string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookie(r), Value: token, Path: identity.CookiePath(s.Base), MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	})
}

// Address is where a request comes from, without the port.
func Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
