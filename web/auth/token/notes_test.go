package token_test

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
	"mayfly/engine/namespaces/namespacestest"
	"mayfly/web/auth"
	"mayfly/web/auth/token"
)

// A serverGroup is several servers that share a note store.
type serverGroup struct {
	*testing.T
	notes namespacestest.NoteStore
	all   []*token.Registry

	mu      sync.Mutex
	audited []string // operations on keys and their actors; guarded by mu
}

func together(t *testing.T, servers int) *serverGroup {
	t.Helper()
	c := &serverGroup{T: t}
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for range servers {
		r := token.New(token.Options{Notes: &c.notes, Logger: slog.New(slog.DiscardHandler), RecordAudit: func(_ context.Context, done []broker.AuditEntry, actor string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, d := range done {
				c.audited = append(c.audited, fmt.Sprintf("%s %s %s", actor, d.Kind, d.About))
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

func (c *serverGroup) good(at int, secret string) (auth.Caller, bool) {
	c.Helper()
	caller, err := c.all[at].Tokens().Identify(bearing(secret))
	if err != nil && refused(err) == "" {
		c.Error(err)
	}
	return caller, err == nil
}

// TestTokensOfAllServers: a token made at one server is valid at all of them at once. A token
// revoked at one ends at all within two seconds, with the requests that it let in and the keys
// that were made with it.
func TestTokensOfAllServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 3)
		k, secret, err := c.all[0].CreateToken(t.Context(), ana, "ana", token.Request{Name: "ci", Role: auth.Operator})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		var let []auth.Caller
		for at := range c.all {
			caller, ok := c.good(at, secret)
			if !ok || caller.Role != auth.Operator || caller.ID != k.ID || caller.Name != "token ci of ana" {
				t.Errorf("at server %d the caller is %+v", at, caller)
			}
			let = append(let, caller)
		}

		_, childs, err := c.all[1].CreateToken(t.Context(), let[1], "ci", token.Request{Name: "child", Role: auth.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		if _, ok := c.good(2, childs); !ok {
			t.Error("a key made with the token is invalid")
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
			t.Error("the token is valid where it was revoked")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for at, caller := range let {
			select {
			case <-caller.Done:
			default:
				t.Errorf("a request at server %d was not ended", at)
			}
			for _, secret := range []string{secret, childs} {
				if _, ok := c.good(at, secret); ok {
					t.Errorf("at server %d the token is still valid", at)
				}
			}
		}
		slices.Sort(c.audited[min(2, len(c.audited)):])
		if want := []string{"ana token-created ci (operator)", "ci token-created child (viewer)", "ana token-revoked child (viewer)", "ana token-revoked ci (operator)"}; !slices.Equal(c.audited, want) {
			t.Errorf("the audit events are %q, want %q", c.audited, want)
		}
	})
}

// TestRunningRequestsGoOn: a server that reads the note store again does not end running requests.
func TestRunningRequestsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		_, secret, err := c.all[0].CreateToken(t.Context(), ana, "ana", token.Request{Name: "ci", Role: auth.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		here, _ := c.good(0, secret)
		there, _ := c.good(1, secret)
		for range 20 {
			if _, _, err := c.all[0].CreateToken(t.Context(), ana, "ana", token.Request{Name: "another", Role: auth.Viewer}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(700 * time.Millisecond)
		}
		for _, caller := range []auth.Caller{here, there} {
			select {
			case <-caller.Done:
				t.Error("a running request was ended")
			default:
			}
		}
	})
}

// TestNotesUnreachable: after the note store has become unreachable, keys stay valid for about ten
// seconds. Then they are refused with engine.ErrBusy, because the server would miss a revocation,
// until the store is reachable again.
func TestNotesUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 1)
		r := c.all[0]
		_, secret, err := r.CreateToken(t.Context(), ana, "ana", token.Request{Name: "ci", Role: auth.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		c.notes.Fail(true)
		time.Sleep(8 * time.Second)
		if _, ok := c.good(0, secret); !ok {
			t.Error("the token is not valid at first")
		}
		time.Sleep(4 * time.Second)
		if _, err := r.Tokens().Identify(bearing(secret)); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("after a while: %v", err)
		}
		if _, err := r.List(ana); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("they are listed: %v", err)
		}
		if _, _, err := r.CreateToken(t.Context(), ana, "ana", token.Request{Name: "x", Role: auth.Viewer}); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("a token was made: %v", err)
		}
		c.notes.Fail(false)
		time.Sleep(2 * time.Second)
		if _, ok := c.good(0, secret); !ok {
			t.Error("the token does not become valid again")
		}
	})
}

// TestGuessedTokensCauseFewReads: clients that guess tokens cause a few reads of the note store a second,
// and other clients do not wait for those.
func TestGuessedTokensCauseFewReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 1)
		_, secret, err := c.all[0].CreateToken(t.Context(), ana, "ana", token.Request{Name: "ci", Role: auth.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		before, began := c.notes.Reads(), time.Now()
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() { c.good(0, "mft_aaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAA") })
		}
		if _, ok := c.good(0, secret); !ok || time.Since(began) > 0 {
			t.Error("a client with a token waits for clients without")
		}
		all.Wait()
		if n := c.notes.Reads() - before; n > 3 {
			t.Errorf("the note store was read %d times", n)
		}
		c.good(0, "no token at all")
	})
}

// TestKeysMoveToTheNotes: keys stored in the server's own namespace stay valid after the move.
func TestKeysMoveToTheNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, token.Options{})
		_, secret := w.token(ana, token.Request{Name: "ci", Role: auth.Viewer})
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
				t.Errorf("the token is not valid at server %d", at)
			}
		}
		if kept := w.kept(); len(kept) != 0 {
			t.Errorf("the former settings remain: %v", kept)
		}
	})
}

// TestUsedAnywhere: after a while all servers know when a token was last used.
func TestUsedAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		_, secret, err := c.all[0].CreateToken(t.Context(), ana, "ana", token.Request{Name: "ci", Role: auth.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		used := time.Now().UTC().Truncate(time.Minute)
		c.good(1, secret)
		time.Sleep(11 * time.Minute)
		all, err := c.all[0].List(ana)
		if err != nil || len(all) != 1 || !all[0].LastUsed.Equal(used) {
			t.Errorf("the last use was %v, want %v, %v", all, used, err)
		}
	})
}

// TestOldReading: a token that is made while the note store is read is not dropped when the older
// reading arrives.
func TestOldReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &serverGroup{T: t, notes: namespacestest.NoteStore{Lag: 500 * time.Millisecond}}
		r := token.New(token.Options{Notes: &c.notes, Logger: slog.New(slog.DiscardHandler)})
		c.all = []*token.Registry{r}
		ctx, stop := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { r.Follow(ctx) })
		defer following.Wait()
		defer stop()
		time.Sleep(600 * time.Millisecond)
		_, secret, err := r.CreateToken(t.Context(), ana, "ana", token.Request{Name: "ci", Role: auth.Viewer}) // at 1.1 s; the note store is read from 1 s to 1.5 s
		if err != nil {
			t.Fatal(err)
		}
		caller, ok := c.good(0, secret)
		time.Sleep(time.Second)
		select {
		case <-caller.Done:
			ok = false
		default:
		}
		if !ok {
			t.Error("a running request was ended")
		}
	})
}

// TestMadeAsItIsRevoked: a key made at one server with a token that another revokes at the
// same time is not valid.
func TestMadeAsItIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 2)
		k, secret, err := c.all[0].CreateToken(t.Context(), ana, "ana", token.Request{Name: "ci", Role: auth.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		caller, _ := c.good(0, secret)
		_, childs, err := c.all[0].CreateToken(t.Context(), caller, "ci", token.Request{Name: "child", Role: auth.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.notes.RemoveNotes(t.Context(), "key", k.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		for at := range c.all {
			if _, ok := c.good(at, childs); ok {
				t.Errorf("the key is valid at server %d", at)
			}
		}
	})
}
