package login_test

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

	"mayfly/engine/fleet/fleettest"
	"mayfly/web/identity"
	"mayfly/web/login"
)

// A crowd is servers on one board, whose users' stamps are as each knows them.
type crowd struct {
	*testing.T
	board fleettest.Board
	all   []*login.Sessions

	mu    sync.Mutex
	known []map[string][32]byte // guarded by mu
}

// knows has a server know a user by another stamp, or not at all.
func (c *crowd) knows(at int, name string, stamp byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stamp == 0 {
		delete(c.known[at], name)
		return
	}
	c.known[at][name] = [32]byte{stamp}
}

func (c *crowd) stamp(at int, name string) ([32]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stamp, ok := c.known[at][name]
	return stamp, ok
}

func together(t *testing.T, servers int) *crowd {
	t.Helper()
	return gathered(&crowd{T: t}, servers)
}

func gathered(c *crowd, servers int) *crowd {
	t := c.T
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for at := range servers {
		s := login.NewSessions()
		s.Share(&c.board, func(name string) ([32]byte, bool) { return c.stamp(at, name) }, slog.New(slog.DiscardHandler))
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

// begins has somebody sign in at a server, and returns who the cookie is of at another.
func (c *crowd) begins(at int, name string, way identity.Way) (is func(at int) identity.Who) {
	c.Helper()
	rec := httptest.NewRecorder()
	stamp, _ := c.stamp(at, name)
	subject := ""
	if way == identity.OIDC {
		subject = "https://a " + name
	}
	c.all[at].Begin(rec, httptest.NewRequest(http.MethodGet, fmt.Sprintf("http://localhost:808%d/", at), nil), login.Start{Who: identity.Who{Name: name, Subject: subject, Role: identity.Operator, Way: way}, Stamp: stamp})
	time.Sleep(time.Millisecond)
	cookie := rec.Result().Cookies()[0]
	return func(at int) identity.Who {
		c.Helper()
		r := httptest.NewRequest(http.MethodGet, fmt.Sprintf("http://localhost:808%d/", at), nil) // servers of one machine
		r.AddCookie(cookie)
		who, _ := c.all[at].Identify(r) //nolint:errcheck // nobody is the zero value
		return who
	}
}

// TestSignedInEverywhere: who has signed in at one server has done so at all, at once; who
// signs out at one is out at all within two seconds, with what is open.
func TestSignedInEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 3)
		ana, eva := c.begins(0, "ana", identity.Password), c.begins(1, "eva", identity.OIDC)
		var anas []identity.Who
		for at := range c.all {
			who := ana(at)
			if who.Name != "ana" || who.Role != identity.Operator || who.Way != identity.Password || who.ID != ana(0).ID || who.Until.IsZero() {
				t.Errorf("at server %d it is %+v", at, who)
			}
			if who := eva(at); who.Name != "eva" || who.Way != identity.OIDC || who.Subject != "https://a eva" {
				t.Errorf("at server %d it is %+v", at, who)
			}
			if n := len(c.all[at].All()); n != 2 {
				t.Errorf("server %d knows of %d", at, n)
			}
			anas = append(anas, who)
		}
		if ended := c.all[2].End(t.Context(), func(s login.Session) bool { return s.ID == anas[0].ID }); len(ended) != 1 {
			t.Errorf("ended are %v", ended)
		}
		if !over(anas[2]) || ana(2).Known() {
			t.Error("it goes on where it was ended")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for at, who := range anas {
			if !over(who) || ana(at).Known() {
				t.Errorf("it goes on at server %d", at)
			}
			if !eva(at).Known() {
				t.Errorf("another's has ended at server %d", at)
			}
		}
	})
}

// TestSessionsOutOfReach: while the board cannot be reached everybody goes on who is in,
// and what begins and ends then is known everywhere afterwards.
func TestSessionsOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		before, ended := c.begins(0, "ana", identity.Password), c.begins(0, "ben", identity.Password)
		if !before(1).Known() || !ended(1).Known() {
			t.Fatal("they are not known")
		}
		c.board.Fail(true)
		during := c.begins(0, "ana", identity.Password)
		c.all[0].End(t.Context(), func(s login.Session) bool { return s.Who.Name == "ben" })
		time.Sleep(time.Minute)
		if !before(0).Known() || !before(1).Known() || !during(0).Known() || during(1).Known() || ended(0).Known() {
			t.Error("it is not as it was")
		}
		c.board.Fail(false)
		for range 30 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if ended(0).Known() {
				t.Fatal("what has ended rises again")
			}
		}
		for at := range c.all {
			if !before(at).Known() || !during(at).Known() || ended(at).Known() {
				t.Errorf("server %d: %v %v %v", at, before(at).Known(), during(at).Known(), ended(at).Known())
			}
		}
	})
}

// TestOfAnotherFile: a session of a password is good at a server that has the same line,
// and ends everywhere where the line goes.
func TestOfAnotherFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		c.knows(1, "ana", 7)
		c.knows(1, "ben", 0)
		ana, ben := c.begins(0, "ana", identity.Password), c.begins(0, "ben", identity.Password)
		time.Sleep(2 * time.Second)
		if ana(1).Known() || ben(1).Known() || !ana(0).Known() || !ben(0).Known() {
			t.Error("another file counts")
		}
		c.knows(1, "ana", 1)
		time.Sleep(2 * time.Second)
		if !ana(1).Known() || ben(1).Known() {
			t.Error("the same line does not")
		}
		c.all[1].Hold(t.Context(), func(string) ([32]byte, bool) { return [32]byte{8}, true })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if ana(0).Known() || ana(1).Known() {
			t.Error("a session outlives its line")
		}
	})
}

// TestUsedAtOneServer: a session that is used at one server is not idle at another.
func TestUsedAtOneServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		ana, ben := c.begins(0, "ana", identity.Password), c.begins(0, "ben", identity.Password)
		bens := ben(1)
		for range 20 {
			time.Sleep(time.Hour)
			if !ana(1).Known() {
				t.Fatal("it has ended")
			}
		}
		time.Sleep(time.Minute)
		if !ana(0).Known() || ben(0).Known() || ben(1).Known() || !over(bens) {
			t.Errorf("used: %v; idle: %v %v", ana(0).Known(), ben(0).Known(), ben(1).Known())
		}
	})
}

// TestBegunAsTheBoardIsRead: who signs in while the board is read is not signed out by what
// was read before.
func TestBegunAsTheBoardIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := gathered(&crowd{T: t, board: fleettest.Board{Lag: 500 * time.Millisecond}}, 1)
		time.Sleep(1200 * time.Millisecond)
		ana := c.begins(0, "ana", identity.Password)
		who := ana(0)
		time.Sleep(time.Second)
		if !who.Known() || over(who) {
			t.Error("it has ended")
		}
	})
}
