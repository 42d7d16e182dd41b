package keys_test

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
	"mayfly/web/identity"
	"mayfly/web/keys"
)

// TestWhoKnowsOfWhat: an admin of all, others of their own, a token of what was made
// with it.
func TestWhoKnowsOfWhat(t *testing.T) {
	w := start(t, keys.Options{})
	w.token(ana, keys.Wish{Name: "of ana", Role: identity.Admin})
	of, secret := w.token(ben, keys.Wish{Name: "of ben", Role: identity.Operator, For: time.Hour})
	w.token(eva, keys.Wish{Name: "of eva", Role: identity.Viewer})
	token, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	child, _ := w.token(token, keys.Wish{Name: "child", Role: identity.Viewer})
	if !child.Until.Equal(of.Until) || child.By != "ben" || child.Parent != of.ID {
		t.Errorf("a token outlives what it was made with: %+v", child)
	}
	_, path := w.link(ben, keys.Wish{Name: "link", Namespace: "default"})
	link := w.opened(path, "h:1")
	names := func(who identity.Who) (all []string) {
		t.Helper()
		list, err := w.List(who)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range list {
			all = append(all, k.Name)
		}
		slices.Sort(all)
		return all
	}
	namesake := identity.Who{Name: "ben", Role: identity.Operator, Way: identity.OIDC}
	for name, tc := range map[string]struct {
		who  identity.Who
		want []string
	}{
		"an admin":                          {ana, []string{"child", "link", "of ana", "of ben", "of eva"}},
		"an operator":                       {ben, []string{"child", "link", "of ben"}},
		"a viewer":                          {eva, []string{"of eva"}},
		"who is called so, of the provider": {namesake, nil},
		"a token":                           {token, []string{"child", "of ben"}},
		"a link":                            {link, nil},
		"nobody":                            {identity.Who{}, nil},
		"an admin of one namespace":         {identity.Who{Name: "x", Role: identity.Admin, Way: identity.Token, Within: "default"}, []string{"link"}},
	} {
		if d := cmp.Diff(tc.want, names(tc.who)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if _, err := w.Revoke(t.Context(), eva, "", of.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Error("another's is revoked:", err)
	}
	if _, err := w.Revoke(t.Context(), token, "", of.ID); err != nil { // one's own
		t.Error(err)
	}
}

// TestNamesakes: of those whom a provider knows, who made what is not a question of what
// they have themselves be called.
func TestNamesakes(t *testing.T) {
	w := start(t, keys.Options{})
	one := identity.Who{Name: "eva", Role: identity.Viewer, Way: identity.OIDC, Subject: "https://a 1"}
	other, renamed := one, one
	other.Subject, renamed.Name = "https://a 2", "evelyn"
	k, secret := w.token(one, keys.Wish{Name: "ci", Role: identity.Viewer})
	token, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	w.token(token, keys.Wish{Name: "child", Role: identity.Viewer})
	w.leave()
	w.Ring = keys.New(keys.Options{Logger: slog.New(slog.DiscardHandler)}) // after a restart
	w.serve()
	for name, tc := range map[string]struct {
		who  identity.Who
		many int
	}{"the maker": {one, 2}, "the maker by another name": {renamed, 2}, "a namesake": {other, 0}, "a namesake in the file": {identity.Who{Name: "eva", Role: identity.Viewer, Way: identity.Password}, 0}} {
		if all, err := w.List(tc.who); len(all) != tc.many || err != nil {
			t.Errorf("%s is told of %d: %v", name, len(all), err)
		}
	}
	if _, err := w.Revoke(t.Context(), other, "", k.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Error("a namesake revokes:", err)
	}
	if _, err := w.Revoke(t.Context(), renamed, "", k.ID); err != nil {
		t.Error(err)
	}
}

// TestStanding: a token is never more than who made it is now.
func TestStanding(t *testing.T) {
	now := map[string]identity.Role{"ben": identity.Operator}
	w := start(t, keys.Options{Standing: func(name string, way identity.Way) (identity.Role, bool) {
		return now[name], way == identity.Password
	}})
	_, secret := w.token(ben, keys.Wish{Name: "ci", Role: identity.Operator})
	_, far := w.token(eva, keys.Wish{Name: "far", Role: identity.Viewer})
	who, err := w.Tokens().Identify(bearing(secret))
	if err != nil {
		t.Fatal(err)
	}
	w.Recheck()
	select {
	case <-who.Over:
		t.Error("nothing has changed")
	default:
	}
	now["ben"] = identity.Viewer
	w.Recheck()
	select {
	case <-who.Over:
	default:
		t.Error("what it let in goes on")
	}
	if who, err = w.Tokens().Identify(bearing(secret)); who.Role != identity.Viewer || err != nil {
		t.Error(who, err)
	}
	select {
	case <-who.Over:
		t.Error("it is over as soon as it begins")
	default:
	}
	delete(now, "ben")
	if who, err = w.Tokens().Identify(bearing(secret)); refused(err) == "" {
		t.Error(who, err)
	}
	if who, err = w.Tokens().Identify(bearing(far)); err != nil { // of whom nobody knows now
		t.Error(who, err)
	}
}

// TestGone: what somebody made is not that of whoever is called so long after.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool // ben and eva are
		gone := func(name string) bool { return away.Load() && (name == "ben" || name == "eva") }
		w := start(t, keys.Options{
			Standing: func(name string, _ identity.Way) (identity.Role, bool) {
				if gone(name) {
					return identity.None, true
				}
				return identity.Admin, true
			},
			Gone: func(name string, way identity.Way) bool { return gone(name) && way == identity.Password },
		})
		_, bens := w.token(ben, keys.Wish{Name: "ci", Role: identity.Operator})
		_, evas := w.token(eva, keys.Wish{Name: "far", Role: identity.Viewer})
		_, anas := w.token(ana, keys.Wish{Name: "hers", Role: identity.Admin})
		for i, d := range []time.Duration{50 * time.Minute, 50 * time.Minute, 80 * time.Minute} { // a while, twice, and then for good
			away.Store(true)
			time.Sleep(d)
			synctest.Wait()
			if who, err := w.Tokens().Identify(bearing(bens)); refused(err) == "" {
				t.Error(who, err)
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
			t.Errorf("%d are kept", len(kept))
		}
	})
}

// TestAnotherNamespace: what was for one that was removed is not for the next that is
// called so.
func TestAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var since atomic.Value // when shop was made
		since.Store(time.Now())
		w := start(t, keys.Options{Since: func(name string) time.Time {
			if name != "shop" {
				return time.Time{}
			}
			return since.Load().(time.Time)
		}})
		_, path := w.link(ben, keys.Wish{Name: "demo", Namespace: "shop"})
		_, of := w.token(ben, keys.Wish{Name: "ci", Role: identity.Viewer, Namespace: "shop"})
		_, other := w.token(ben, keys.Wish{Name: "other", Role: identity.Viewer, Namespace: "default"})
		_, all := w.token(ben, keys.Wish{Name: "all", Role: identity.Viewer})
		c, _, err := w.follow(path, "h")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		since.Store(time.Time{})
		if _, err := w.Links().Identify(looking("h", c)); err != nil {
			t.Error("where it is not known:", err)
		}
		since.Store(time.Now())
		if _, err := w.Links().Identify(looking("h", c)); !strings.Contains(refused(err), "another namespace 'shop'") {
			t.Error("the link:", err)
		}
		if _, _, err := w.follow(path, "h"); refused(err) == "" {
			t.Error("the link can be opened")
		}
		if _, err := w.Tokens().Identify(bearing(of)); refused(err) == "" {
			t.Error("the token is good")
		}
		_, next := w.token(ben, keys.Wish{Name: "next", Role: identity.Viewer, Namespace: "shop"})
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		for _, secret := range []string{other, all, next} {
			if _, err := w.Tokens().Identify(bearing(secret)); err != nil {
				t.Error(err)
			}
		}
		if kept := w.kept(); len(kept) != 3 {
			t.Errorf("%d are kept", len(kept))
		}
	})
}

// TestNoLongerOpen: what anybody could make is good while anybody may come.
func TestNoLongerOpen(t *testing.T) {
	w := start(t, keys.Options{Open: true})
	_, secret := w.token(identity.Anybody(), keys.Wish{Name: "ci", Role: identity.Admin})
	if who, err := w.Tokens().Identify(bearing(secret)); err != nil || who.Name != "token ci" {
		t.Error(who, err)
	}
	closed := keys.New(keys.Options{Logger: slog.New(slog.DiscardHandler)})
	leave, err := closed.Serve(t.Context(), w.b)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if who, err := closed.Tokens().Identify(bearing(secret)); !strings.Contains(refused(err), "open to everybody") {
		t.Error(who, err)
	}
}
