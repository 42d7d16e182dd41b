package keys_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/web/identity"
	"mayfly/web/keys"
)

// follow opens a link at a host, and returns the cookie that it was changed for.
func (w *world) follow(path, host string) (*http.Cookie, keys.Key, error) {
	w.Helper()
	r := httptest.NewRequestWithContext(context.Background(), "GET", "http://"+host+path, nil)
	answer := httptest.NewRecorder()
	k, err := w.Open(answer, r, strings.TrimPrefix(path, keys.LinkPath))
	if all := answer.Result().Cookies(); len(all) > 0 {
		return all[0], k, err
	}
	return nil, k, err
}

// looking is a request of a browser with a cookie.
func looking(host string, c *http.Cookie) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), "GET", "http://"+host+"/n/default", nil)
	r.AddCookie(c)
	return r
}

// opened is who has opened a link.
func (w *world) opened(path, host string) identity.Who {
	w.Helper()
	c, _, err := w.follow(path, host)
	if err != nil {
		w.Fatal(err)
	}
	who, err := w.Links().Identify(looking(host, c))
	if err != nil {
		w.Fatal(err)
	}
	return who
}

func TestLink(t *testing.T) {
	w := start(t, keys.Options{})
	k, path := w.link(ben, keys.Wish{Name: "monday", Namespace: "shop", Page: "/n/shop/queues", Role: identity.Admin})
	c, opened, err := w.follow(path, "h:8080")
	if err != nil || opened.Page != "/n/shop/queues" {
		t.Fatal(opened, err)
	}
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Expires.IsZero() || c.Secure {
		t.Errorf("the cookie is %s", c)
	}
	if strings.Contains(c.Value, path[len(keys.LinkPath)+15:]) {
		t.Error("the cookie has the secret")
	}
	if _, _, err := w.follow(keys.LinkPath+c.Value, "h:8080"); refused(err) == "" {
		t.Error("the cookie is a link", err)
	}
	who, err := w.Links().Identify(looking("h:8080", c))
	if err != nil || who.Role != identity.Viewer || who.Way != identity.Link || who.Within != "shop" || who.ID != k.ID || who.Name != "link monday of ben" {
		t.Errorf("%+v, %v", who, err)
	}
	if left := time.Until(who.Until); left > keys.LinkFor || left < keys.LinkFor-time.Minute {
		t.Error("it is good for", left)
	}
	// A server beside it on the same machine gets the cookie as well.
	if _, err := w.Links().Identify(looking("h:8081", c)); !errors.Is(err, identity.ErrNone) {
		t.Error(err)
	}
	if _, err := w.Tokens().Identify(bearing(strings.TrimPrefix(path, keys.LinkPath))); refused(err) == "" {
		t.Error("the link is a token", err)
	}
	w.revoke(k.ID)
	select {
	case <-who.Over:
	default:
		t.Error("what it let in goes on")
	}
	if _, err := w.Links().Identify(looking("h:8080", c)); refused(err) == "" {
		t.Error("it is still good", err)
	}
	if c, _, err := w.follow(path, "h:8080"); refused(err) == "" || c != nil {
		t.Error("it can still be opened", c, err)
	}
}

// TestForgedLinks: nobody makes a cookie of what is known of a link.
func TestForgedLinks(t *testing.T) {
	w := start(t, keys.Options{})
	k, path := w.link(ana, keys.Wish{Name: "a", Namespace: "shop"})
	_, other := w.link(ana, keys.Wish{Name: "b", Namespace: "default"})
	c, _, err := w.follow(path, "h")
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := w.follow(other, "h")
	if err != nil {
		t.Fatal(err)
	}
	_, sign, _ := strings.Cut(d.Value, ".")
	// Whoever has a token knows enough to sign for it, as a link's cookie is.
	token, secret := w.token(ana, keys.Wish{Name: "c", Role: identity.Admin})
	kept := sha256.Sum256([]byte(secret))
	of := hmac.New(sha256.New, kept[:])
	of.Write([]byte("mayfly: the cookie of a link"))
	for name, value := range map[string]string{
		"nothing": "", "the ID": k.ID, "the ID and a point": k.ID + ".", "another's signature": k.ID + "." + sign, "cut": c.Value[:len(c.Value)-1],
		"a token's": token.ID + "." + base64.RawURLEncoding.EncodeToString(of.Sum(nil)),
		"large":     strings.Repeat("a", 1<<16),
	} {
		if who, err := w.Links().Identify(looking("h", &http.Cookie{Name: c.Name, Value: value})); refused(err) == "" {
			t.Errorf("%s: %+v %v", name, who, err)
		}
	}
}

func TestLinkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, keys.Options{})
		_, path := w.link(ben, keys.Wish{Name: "a", Namespace: "shop"})
		c, _, err := w.follow(path, "h")
		if err != nil {
			t.Fatal(err)
		}
		who, err := w.Links().Identify(looking("h", c))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(who.Until))
		synctest.Wait()
		if _, err := w.Links().Identify(looking("h", c)); refused(err) == "" {
			t.Error(err)
		}
		if _, _, err := w.follow(path, "h"); refused(err) == "" {
			t.Error(err)
		}
		select {
		case <-who.Over:
		default:
			t.Error("what it let in goes on")
		}
	})
}

// TestLinkToCapitals: a namespace is the same one however its name is spelled.
func TestLinkToCapitals(t *testing.T) {
	w := start(t, keys.Options{})
	for page, namespace := range map[string]string{"/n/Shop/queues": "shop", "/n/Shop": "shop", "/n/shop?x=y": "Shop"} {
		if k, _ := w.link(ana, keys.Wish{Name: "demo", Namespace: namespace, Page: page}); k.Page != page || k.Namespace != "shop" {
			t.Errorf("%s in %s: %+v", page, namespace, k)
		}
	}
}

// TestLinkOfTalk: a talk's link is found as long as it is good, by who may take it back.
func TestLinkOfTalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, keys.Options{})
		k, _ := w.link(ben, keys.Wish{Name: "demo", Namespace: "shop", Page: "/n/shop?follow=monday", For: time.Hour})
		w.link(ben, keys.Wish{Name: "other", Namespace: "shop"})
		find := func(who identity.Who, talk, want string) {
			t.Helper()
			if got, ok := w.LinkOf(who, talk); got.ID != want || ok != (want != "") {
				t.Errorf("%s finds %q of %q, want %q", who.Name, got.ID, talk, want)
			}
		}
		find(ben, "monday", k.ID)
		find(ana, "monday", k.ID)
		find(eva, "monday", "")
		find(ben, "tuesday", "")
		find(ben, "", "")
		var more []string // which lead to the same, made by whoever knows of it
		for range 5 {
			time.Sleep(time.Minute)
			k, _ := w.link(ana, keys.Wish{Name: "more", Namespace: "shop", Page: "/n/shop?follow=monday", For: 2 * time.Hour})
			more = append(more, k.ID)
		}
		find(ana, "monday", k.ID)
		find(ben, "monday", k.ID)
		time.Sleep(time.Hour)
		find(ana, "monday", more[0])
		find(ben, "monday", "")
	})
}
