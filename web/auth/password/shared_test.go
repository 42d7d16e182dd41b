package password_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine/namespaces/namespacestest"
	"mayfly/web/auth"
	"mayfly/web/auth/password"
)

// A serverGroup is several servers that share a note store; each has its own stamps of users.
type serverGroup struct {
	*testing.T
	notes namespacestest.NoteStore
	all   []*password.Sessions

	mu    sync.Mutex
	known []map[string][32]byte // guarded by mu
}

// knows sets the stamp that the server `at` has for a user; zero removes the user there.
func (c *serverGroup) knows(at int, name string, stamp byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stamp == 0 {
		delete(c.known[at], name)
		return
	}
	c.known[at][name] = [32]byte{stamp}
}

func (c *serverGroup) stamp(at int, name string) ([32]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stamp, ok := c.known[at][name]
	return stamp, ok
}

func together(t *testing.T, servers int) *serverGroup {
	t.Helper()
	return startServers(&serverGroup{T: t}, servers)
}

func startServers(c *serverGroup, servers int) *serverGroup {
	t := c.T
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for at := range servers {
		s := password.NewSessions()
		s.Share(&c.notes, func(name string) ([32]byte, bool) { return c.stamp(at, name) }, slog.New(slog.DiscardHandler))
		c.all, c.known = append(c.all, s), append(c.known, map[string][32]byte{"ana": {1}, "ben": {2}})
	}
	for _, s := range c.all {
		following.Go(func() { s.Follow(ctx) })
		following.Go(func() { s.Watch(ctx) })
	}
	t.Cleanup(func() { stop(); following.Wait() })
	synctest.Wait()
	return c
}

// begins signs a user in at a server, and returns a function that identifies the cookie's user
// at another.
func (c *serverGroup) begins(at int, name string, way auth.Method) (is func(at int) auth.Caller) {
	c.Helper()
	rec := httptest.NewRecorder()
	stamp, _ := c.stamp(at, name)
	subject := ""
	if way == auth.OIDC {
		subject = "https://a " + name
	}
	c.all[at].Begin(rec, httptest.NewRequest(http.MethodGet, fmt.Sprintf("http://localhost:808%d/", at), nil), password.Start{Caller: auth.Caller{Name: name, Subject: subject, Role: auth.Operator, Method: way}, Stamp: stamp})
	time.Sleep(time.Millisecond)
	cookie := rec.Result().Cookies()[0]
	return func(at int) auth.Caller {
		c.Helper()
		r := httptest.NewRequest(http.MethodGet, fmt.Sprintf("http://localhost:808%d/", at), nil) // servers of one machine
		r.AddCookie(cookie)
		caller, _ := c.all[at].Identify(r) //nolint:errcheck // unknown callers get the zero value
		return caller
	}
}

// TestSignedInEverywhere: a user who signs in at one server is signed in at all at once. A user who
// signs out at one is signed out of all within two seconds, and open requests end.
func TestSignedInEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 3)
		ana, eva := c.begins(0, "ana", auth.Password), c.begins(1, "eva", auth.OIDC)
		var anas []auth.Caller
		for at := range c.all {
			caller := ana(at)
			if caller.Name != "ana" || caller.Role != auth.Operator || caller.Method != auth.Password || caller.ID != ana(0).ID || caller.Expires.IsZero() {
				t.Errorf("at server %d the caller is %+v", at, caller)
			}
			if caller := eva(at); caller.Name != "eva" || caller.Method != auth.OIDC || caller.Subject != "https://a eva" {
				t.Errorf("at server %d the caller is %+v", at, caller)
			}
			if n := len(c.all[at].All()); n != 2 {
				t.Errorf("server %d has %d sessions", at, n)
			}
			anas = append(anas, caller)
		}
		if ended := c.all[2].End(t.Context(), func(s password.Session) bool { return s.ID == anas[0].ID }); len(ended) != 1 {
			t.Errorf("the ended sessions are %v", ended)
		}
		if !over(anas[2]) || ana(2).IsKnown() {
			t.Error("the session continues where it was ended")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for at, caller := range anas {
			if !over(caller) || ana(at).IsKnown() {
				t.Errorf("the session continues at server %d", at)
			}
			if !eva(at).IsKnown() {
				t.Errorf("another user's session has ended at server %d", at)
			}
		}
	})
}

// TestSessionsOutOfReach: while the note store cannot be reached, sessions stay valid; sessions
// that begin and end then are known everywhere afterwards.
func TestSessionsOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		before, ended := c.begins(0, "ana", auth.Password), c.begins(0, "ben", auth.Password)
		if !before(1).IsKnown() || !ended(1).IsKnown() {
			t.Fatal("the sessions are unknown")
		}
		c.notes.Fail(true)
		during := c.begins(0, "ana", auth.Password)
		c.all[0].End(t.Context(), func(s password.Session) bool { return s.Caller.Name == "ben" })
		time.Sleep(time.Minute)
		if !before(0).IsKnown() || !before(1).IsKnown() || !during(0).IsKnown() || during(1).IsKnown() || ended(0).IsKnown() {
			t.Error("the sessions have changed")
		}
		c.notes.Fail(false)
		for range 30 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if ended(0).IsKnown() {
				t.Fatal("an ended session is valid again")
			}
		}
		for at := range c.all {
			if !before(at).IsKnown() || !during(at).IsKnown() || ended(at).IsKnown() {
				t.Errorf("server %d: %v %v %v", at, before(at).IsKnown(), during(at).IsKnown(), ended(at).IsKnown())
			}
		}
	})
}

// TestOfAnotherFile: a session that began with a password is valid at servers whose users file has
// the same line, and ends everywhere when the line is removed.
func TestOfAnotherFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		c.knows(1, "ana", 7)
		c.knows(1, "ben", 0)
		ana, ben := c.begins(0, "ana", auth.Password), c.begins(0, "ben", auth.Password)
		time.Sleep(2 * time.Second)
		if ana(1).IsKnown() || ben(1).IsKnown() || !ana(0).IsKnown() || !ben(0).IsKnown() {
			t.Error("a session is valid at a server with another users file")
		}
		c.knows(1, "ana", 1)
		time.Sleep(2 * time.Second)
		if !ana(1).IsKnown() || ben(1).IsKnown() {
			t.Error("a session is invalid at a server with the same line")
		}
		c.all[1].Recheck(t.Context(), func(string) ([32]byte, bool) { return [32]byte{8}, true })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if ana(0).IsKnown() || ana(1).IsKnown() {
			t.Error("a session is valid after its line was removed")
		}
	})
}

// TestUsedAtOneServer: a session that is used at one server is not idle at another.
func TestUsedAtOneServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		ana, ben := c.begins(0, "ana", auth.Password), c.begins(0, "ben", auth.Password)
		bens := ben(1)
		for range 20 {
			time.Sleep(time.Hour)
			if !ana(1).IsKnown() {
				t.Fatal("the session has ended")
			}
		}
		time.Sleep(time.Minute)
		if !ana(0).IsKnown() || ben(0).IsKnown() || ben(1).IsKnown() || !over(bens) {
			t.Errorf("in use: %v; unused: %v %v", ana(0).IsKnown(), ben(0).IsKnown(), ben(1).IsKnown())
		}
	})
}

// TestSessionBeginsWhileNotesAreRead: a session that begins while the note store is read is not ended by
// that reading.
func TestSessionBeginsWhileNotesAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startServers(&serverGroup{T: t, notes: namespacestest.NoteStore{Lag: 500 * time.Millisecond}}, 1)
		time.Sleep(1200 * time.Millisecond)
		ana := c.begins(0, "ana", auth.Password)
		caller := ana(0)
		time.Sleep(time.Second)
		if !caller.IsKnown() || over(caller) {
			t.Error("the session has ended")
		}
	})
}
