package token_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/web/auth"
	"mayfly/web/auth/token"
)

// TestKeysThatACallerSees: an admin sees all keys, other users their own, and a token those made
// with it.
func TestKeysThatACallerSees(t *testing.T) {
	w := start(t, token.Options{})
	w.token(ana, token.Request{Name: "of ana", Role: auth.Admin})
	of, secret := w.token(ben, token.Request{Name: "of ben", Role: auth.Operator, Lifetime: time.Hour})
	w.token(eva, token.Request{Name: "of eva", Role: auth.Viewer})
	parent, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	child, _ := w.token(parent, token.Request{Name: "child", Role: auth.Viewer})
	if !child.Expires.Equal(of.Expires) || child.MadeBy != "ben" || child.Parent != of.ID {
		t.Errorf("a token outlives its parent: %+v", child)
	}
	_, path := w.link(ben, token.Request{Name: "link", Namespace: "default"})
	link := w.opened(path, "h:1")
	names := func(caller auth.Caller) (all []string) {
		t.Helper()
		list, err := w.List(caller)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range list {
			all = append(all, k.Name)
		}
		slices.Sort(all)
		return all
	}
	namesake := auth.Caller{Name: "ben", Role: auth.Operator, Method: auth.OIDC}
	for name, tc := range map[string]struct {
		caller auth.Caller
		want   []string
	}{
		"an admin":                          {ana, []string{"child", "link", "of ana", "of ben", "of eva"}},
		"an operator":                       {ben, []string{"child", "link", "of ben"}},
		"a viewer":                          {eva, []string{"of eva"}},
		"who is called so, of the provider": {namesake, nil},
		"a token":                           {parent, []string{"child", "of ben"}},
		"a link":                            {link, nil},
		"nobody":                            {auth.Caller{}, nil},
		"an admin of one namespace":         {auth.Caller{Name: "x", Role: auth.Admin, Method: auth.Token, Namespace: "default"}, []string{"link"}},
	} {
		if d := cmp.Diff(tc.want, names(tc.caller)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if _, err := w.Revoke(t.Context(), eva, "", of.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Error("another user's token was revoked:", err)
	}
	if _, err := w.Revoke(t.Context(), parent, "", of.ID); err != nil { // a token may revoke its own tokens
		t.Error(err)
	}
}

// TestNamesakes: the makers of keys who signed in with a provider are told apart by their
// subject, not by their name.
func TestNamesakes(t *testing.T) {
	w := start(t, token.Options{})
	one := auth.Caller{Name: "eva", Role: auth.Viewer, Method: auth.OIDC, Subject: "https://a 1"}
	other, renamed := one, one
	other.Subject, renamed.Name = "https://a 2", "evelyn"
	k, secret := w.token(one, token.Request{Name: "ci", Role: auth.Viewer})
	parent, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	w.token(parent, token.Request{Name: "child", Role: auth.Viewer})
	w.leave()
	w.Registry = token.New(token.Options{Logger: slog.New(slog.DiscardHandler)}) // after a restart
	w.serve()
	for name, tc := range map[string]struct {
		caller auth.Caller
		many   int
	}{"the maker": {one, 2}, "the maker by another name": {renamed, 2}, "a namesake": {other, 0}, "a namesake in the file": {auth.Caller{Name: "eva", Role: auth.Viewer, Method: auth.Password}, 0}} {
		if all, err := w.List(tc.caller); len(all) != tc.many || err != nil {
			t.Errorf("%s sees %d tokens: %v", name, len(all), err)
		}
	}
	if _, err := w.Revoke(t.Context(), other, "", k.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Error("a user of the same name revoked:", err)
	}
	if _, err := w.Revoke(t.Context(), renamed, "", k.ID); err != nil {
		t.Error(err)
	}
}

// TestStanding: when the maker of a token loses rights, the token loses them too, and Recheck ends
// its running requests.
func TestStanding(t *testing.T) {
	now := map[string]auth.Role{"ben": auth.Operator}
	w := start(t, token.Options{CurrentRole: func(name string, way auth.Method) (auth.Role, bool) {
		return now[name], way == auth.Password
	}})
	_, secret := w.token(ben, token.Request{Name: "ci", Role: auth.Operator})
	_, far := w.token(eva, token.Request{Name: "far", Role: auth.Viewer})
	caller, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	w.Recheck()
	select {
	case <-caller.Done:
		t.Error("the request was ended without a change")
	default:
	}
	now["ben"] = auth.Viewer
	w.Recheck()
	select {
	case <-caller.Done:
	default:
		t.Error("the request was not ended")
	}
	if caller, err = w.Tokens().Identify(bearing(secret)); caller.Role != auth.Viewer || err != nil {
		t.Error(caller, err)
	}
	select {
	case <-caller.Done:
		t.Error("the request ended at its beginning")
	default:
	}
	delete(now, "ben")
	if caller, err = w.Tokens().Identify(bearing(secret)); refused(err) == "" {
		t.Error(caller, err)
	}
	if caller, err = w.Tokens().Identify(bearing(far)); err != nil { // the maker's role is unknown now
		t.Error(caller, err)
	}
}

// TestGone checks that keys of a deleted user do not pass to a later user of the same name.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool // whether ben and eva are gone
		gone := func(name string) bool { return away.Load() && (name == "ben" || name == "eva") }
		w := start(t, token.Options{
			CurrentRole: func(name string, _ auth.Method) (auth.Role, bool) {
				if gone(name) {
					return auth.None, true
				}
				return auth.Admin, true
			},
			UserGone: func(name string, way auth.Method) bool { return gone(name) && way == auth.Password },
		})
		_, bens := w.token(ben, token.Request{Name: "ci", Role: auth.Operator})
		_, evas := w.token(eva, token.Request{Name: "far", Role: auth.Viewer})
		_, anas := w.token(ana, token.Request{Name: "hers", Role: auth.Admin})
		for i, d := range []time.Duration{50 * time.Minute, 50 * time.Minute, 80 * time.Minute} { // the last time is long enough to forget the keys of a removed user
			away.Store(true)
			time.Sleep(d)
			synctest.Wait()
			if caller, err := w.Tokens().Identify(bearing(bens)); refused(err) == "" {
				t.Error(caller, err)
			}
			away.Store(false)
			if _, err := w.Tokens().Identify(bearing(bens)); (err == nil) != (i < 2) {
				t.Errorf("after %s: %v", d, err)
			}
			time.Sleep(20 * time.Minute)
			synctest.Wait()
		}
		for name, secret := range map[string]string{"of a provider's": evas, "of who was always there": anas} {
			if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
				t.Error(name, err)
			}
		}
		if kept := w.kept(); len(kept) != 2 {
			t.Errorf("%d keys are kept", len(kept))
		}
	})
}

// TestAnotherNamespace: keys of a removed namespace are not valid for a new one of the same
// name.
func TestAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var since atomic.Value // when shop was created
		since.Store(time.Now())
		w := start(t, token.Options{NamespaceCreated: func(name string) time.Time {
			if name != "shop" {
				return time.Time{}
			}
			return since.Load().(time.Time)
		}})
		_, path := w.link(ben, token.Request{Name: "demo", Namespace: "shop"})
		_, of := w.token(ben, token.Request{Name: "ci", Role: auth.Viewer, Namespace: "shop"})
		_, other := w.token(ben, token.Request{Name: "other", Role: auth.Viewer, Namespace: "default"})
		_, all := w.token(ben, token.Request{Name: "all", Role: auth.Viewer})
		c, _, err := w.follow(path, "h")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		since.Store(time.Time{})
		if _, err := w.Links().Identify(looking("h", c)); err != nil {
			t.Error("with an unknown time of creation:", err)
		}
		since.Store(time.Now())
		if _, err := w.Links().Identify(looking("h", c)); !strings.Contains(refused(err), "former namespace 'shop'") {
			t.Error("the link:", err)
		}
		if _, _, err := w.follow(path, "h"); refused(err) == "" {
			t.Error("the link can still be opened")
		}
		if _, err := w.Tokens().Identify(bearing(of)); refused(err) == "" {
			t.Error("the token is still valid")
		}
		_, next := w.token(ben, token.Request{Name: "next", Role: auth.Viewer, Namespace: "shop"})
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		for _, secret := range []string{other, all, next} {
			if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
				t.Error(err)
			}
		}
		if kept := w.kept(); len(kept) != 3 {
			t.Errorf("%d keys are kept", len(kept))
		}
	})
}

// TestNoLongerOpen: a token made while the server required no authentication is refused once it
// does.
func TestNoLongerOpen(t *testing.T) {
	w := start(t, token.Options{Open: true})
	_, secret := w.token(auth.OpenCaller(), token.Request{Name: "ci", Role: auth.Admin})
	if caller, err := w.Tokens().Identify(bearing(secret)); err != nil || caller.Name != "token ci" {
		t.Error(caller, err)
	}
	closed := token.New(token.Options{Logger: slog.New(slog.DiscardHandler)})
	leave, err := closed.Serve(t.Context(), w.b)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if caller, err := closed.Tokens().Identify(bearing(secret)); !strings.Contains(refused(err), "required no authentication") {
		t.Error(caller, err)
	}
}
