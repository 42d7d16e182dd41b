package keys_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet/fleettest"
	"mayfly/web/identity"
	"mayfly/web/keys"
)

// A crowd is servers on one board.
type crowd struct {
	*testing.T
	board fleettest.Board
	all   []*keys.Ring

	mu   sync.Mutex
	told []string // what was done to keys, by whom; guarded by mu
}

func together(t *testing.T, servers int) *crowd {
	t.Helper()
	c := &crowd{T: t}
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for range servers {
		r := keys.New(keys.Options{Board: &c.board, Logger: slog.New(slog.DiscardHandler), Remember: func(_ context.Context, done []broker.Deed, actor string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, d := range done {
				c.told = append(c.told, fmt.Sprintf("%s %s %s", actor, d.Kind, d.About))
			}
		}})
		c.all = append(c.all, r)
		following.Go(func() { r.Follow(ctx) })
	}
	t.Cleanup(func() {
		stop()
		following.Wait()
		for _, r := range c.all {
			r.Close()
		}
	})
	synctest.Wait()
	return c
}

func (c *crowd) good(at int, secret string) (identity.Who, bool) {
	c.Helper()
	who, err := c.all[at].Tokens().Identify(bearing(secret))
	if err != nil && refused(err) == "" {
		c.Error(err)
	}
	return who, err == nil
}

// TestTokensOfAllServers: what one makes is good at all at once, and what one revokes is
// over at all within two seconds, with what it let in and what was made with it.
func TestTokensOfAllServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 3)
		k, secret, err := c.all[0].MakeToken(t.Context(), ana, "ana", keys.Wish{Name: "ci", Role: identity.Operator})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		var let []identity.Who
		for at := range c.all {
			who, ok := c.good(at, secret)
			if !ok || who.Role != identity.Operator || who.ID != k.ID || who.Name != "token ci of ana" {
				t.Errorf("at server %d it lets in %+v", at, who)
			}
			let = append(let, who)
		}
		// Made with it at another, and a link at the third.
		_, childs, err := c.all[1].MakeToken(t.Context(), let[1], "ci", keys.Wish{Name: "child", Role: identity.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		if _, ok := c.good(2, childs); !ok {
			t.Error("what was made with it is not good")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for at, r := range c.all {
			if all, err := r.List(ana); err != nil || len(all) != 2 {
				t.Errorf("server %d lists %v, %v", at, all, err)
			}
		}
		if _, err := c.all[2].Revoke(t.Context(), ana, "ana", k.ID); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.good(2, secret); ok {
			t.Error("it is good where it was revoked")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for at, who := range let {
			select {
			case <-who.Over:
			default:
				t.Errorf("what it let in at server %d goes on", at)
			}
			for _, secret := range []string{secret, childs} {
				if _, ok := c.good(at, secret); ok {
					t.Errorf("at server %d it is still good", at)
				}
			}
		}
		slices.Sort(c.told[min(2, len(c.told)):])
		if want := []string{"ana token-made ci (operator)", "ci token-made child (viewer)", "ana token-revoked child (viewer)", "ana token-revoked ci (operator)"}; !slices.Equal(c.told, want) {
			t.Errorf("told is %q, not %q", c.told, want)
		}
	})
}

// TestWhatGoesOnIsNotCut: a server that reads the board again lets those go on who are in.
func TestWhatGoesOnIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		_, secret, err := c.all[0].MakeToken(t.Context(), ana, "ana", keys.Wish{Name: "ci", Role: identity.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		here, _ := c.good(0, secret)
		there, _ := c.good(1, secret)
		for range 20 {
			if _, _, err := c.all[0].MakeToken(t.Context(), ana, "ana", keys.Wish{Name: "another", Role: identity.Viewer}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(700 * time.Millisecond)
		}
		for _, who := range []identity.Who{here, there} {
			select {
			case <-who.Over:
				t.Error("it was cut off")
			default:
			}
		}
	})
}

// TestBoardOutOfReach: keys that are known are good for a moment; then nobody is let in,
// for nobody would know of a revocation, and all is well again by itself.
func TestBoardOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 1)
		r := c.all[0]
		_, secret, err := r.MakeToken(t.Context(), ana, "ana", keys.Wish{Name: "ci", Role: identity.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		c.board.Fail(true)
		time.Sleep(8 * time.Second)
		if _, ok := c.good(0, secret); !ok {
			t.Error("it is not good at once")
		}
		time.Sleep(4 * time.Second)
		if _, err := r.Tokens().Identify(bearing(secret)); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("after a while: %v", err)
		}
		if _, err := r.List(ana); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("they are listed: %v", err)
		}
		if _, _, err := r.MakeToken(t.Context(), ana, "ana", keys.Wish{Name: "x", Role: identity.Viewer}); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("one is made: %v", err)
		}
		c.board.Fail(false)
		time.Sleep(2 * time.Second)
		if _, ok := c.good(0, secret); !ok {
			t.Error("it does not come back")
		}
	})
}

// TestStrangersAreNoBurden: those who guess at tokens have the board read a few times a
// second, and nobody else waits for them.
func TestStrangersAreNoBurden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 1)
		_, secret, err := c.all[0].MakeToken(t.Context(), ana, "ana", keys.Wish{Name: "ci", Role: identity.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		before, began := c.board.Reads(), time.Now()
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() { c.good(0, "mft_aaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAA") })
		}
		if _, ok := c.good(0, secret); !ok || time.Since(began) > 0 {
			t.Error("who has a token waits for those who have none")
		}
		all.Wait()
		if n := c.board.Reads() - before; n > 3 {
			t.Errorf("it was read %d times", n)
		}
		c.good(0, "no token at all")
	})
}

// TestKeysMoveToTheBoard: what was kept in the server's own namespace is good on, once.
func TestKeysMoveToTheBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, keys.Options{})
		_, secret := w.token(ana, keys.Wish{Name: "ci", Role: identity.Viewer})
		w.leave()
		c := together(t, 2)
		for range 2 {
			leave, err := c.all[0].Serve(t.Context(), w.b)
			if err != nil {
				t.Fatal(err)
			}
			leave()
		}
		time.Sleep(time.Millisecond)
		for at := range c.all {
			if _, ok := c.good(at, secret); !ok {
				t.Errorf("it is not good at server %d", at)
			}
		}
		if kept := w.kept(); len(kept) != 0 {
			t.Errorf("there is still %v", kept)
		}
	})
}

// TestUsedAnywhere: when a token was good last is known at all servers, in the end.
func TestUsedAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		_, secret, err := c.all[0].MakeToken(t.Context(), ana, "ana", keys.Wish{Name: "ci", Role: identity.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		used := time.Now().UTC().Truncate(time.Minute)
		c.good(1, secret)
		time.Sleep(11 * time.Minute)
		all, err := c.all[0].List(ana)
		if err != nil || len(all) != 1 || !all[0].Used.Equal(used) {
			t.Errorf("it was used %v, want %v, %v", all, used, err)
		}
	})
}

// TestOldReading: what is made here while the board is read is not undone by what was read
// before.
func TestOldReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{T: t, board: fleettest.Board{Lag: 500 * time.Millisecond}}
		r := keys.New(keys.Options{Board: &c.board, Logger: slog.New(slog.DiscardHandler)})
		c.all = []*keys.Ring{r}
		ctx, stop := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { r.Follow(ctx) })
		defer following.Wait()
		defer stop()
		time.Sleep(600 * time.Millisecond)
		_, secret, err := r.MakeToken(t.Context(), ana, "ana", keys.Wish{Name: "ci", Role: identity.Viewer}) // at 1.1 s; the board is read from 1 s to 1.5 s
		if err != nil {
			t.Fatal(err)
		}
		who, ok := c.good(0, secret)
		time.Sleep(time.Second)
		select {
		case <-who.Over:
			ok = false
		default:
		}
		if !ok {
			t.Error("it was cut off")
		}
	})
}

// TestMadeAsItIsRevoked: what was made with a key at one server as another revoked that is
// good for nothing.
func TestMadeAsItIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		k, secret, err := c.all[0].MakeToken(t.Context(), ana, "ana", keys.Wish{Name: "ci", Role: identity.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		who, _ := c.good(0, secret)
		_, childs, err := c.all[0].MakeToken(t.Context(), who, "ci", keys.Wish{Name: "child", Role: identity.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.board.TakeDown(t.Context(), "key", k.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		for at := range c.all {
			if _, ok := c.good(at, childs); ok {
				t.Errorf("it is good at server %d", at)
			}
		}
	})
}
