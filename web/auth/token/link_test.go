package token_test

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

	"mayfly/web/auth"
	"mayfly/web/auth/token"
)

// follow opens a link at a host, and returns the cookie that it was exchanged for.
func (w *world) follow(path, host string) (*http.Cookie, token.Key, error) {
	w.Helper()
	r := httptest.NewRequestWithContext(context.Background(), "GET", "http://"+host+path, nil)
	answer := httptest.NewRecorder()
	k, err := w.OpenLink(answer, r, strings.TrimPrefix(path, token.LinkPath))
	if all := answer.Result().Cookies(); len(all) > 0 {
		return all[0], k, err
	}
	return nil, k, err
}

// looking returns the request of a browser that opens /n/default at a host with a link's cookie.
func looking(host string, c *http.Cookie) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), "GET", "http://"+host+"/n/default", nil)
	r.AddCookie(c)
	return r
}

// opened opens a link at a host, and returns the caller that the link's cookie identifies.
func (w *world) opened(path, host string) auth.Caller {
	w.Helper()
	c, _, err := w.follow(path, host)
	if err != nil {
		w.Fatal(err)
	}
	caller, err := w.Links().Identify(looking(host, c))
	if err != nil {
		w.Fatal(err)
	}
	return caller
}

func TestLink(t *testing.T) {
	w := start(t, token.Options{})
	k, path := w.link(ben, token.Request{Name: "monday", Namespace: "shop", Page: "/n/shop/queues", Role: auth.Admin})
	c, opened, err := w.follow(path, "h:8080")
	if err != nil || opened.Page != "/n/shop/queues" {
		t.Fatal(opened, err)
	}
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Expires.IsZero() || c.Secure {
		t.Errorf("the cookie is %s", c)
	}
	if strings.Contains(c.Value, path[len(token.LinkPath)+15:]) {
		t.Error("the cookie contains the secret")
	}
	if _, _, err := w.follow(token.LinkPath+c.Value, "h:8080"); refused(err) == "" {
		t.Error("the cookie works as a link", err)
	}
	caller, err := w.Links().Identify(looking("h:8080", c))
	if err != nil || caller.Role != auth.Viewer || caller.Method != auth.Link || caller.Namespace != "shop" || caller.ID != k.ID || caller.Name != "link monday of ben" {
		t.Errorf("%+v, %v", caller, err)
	}
	if left := time.Until(caller.Expires); left > token.DefaultLinkLifetime || left < token.DefaultLinkLifetime-time.Minute {
		t.Error("the link is valid for", left)
	}
	// Another server on the same machine gets the cookie as well.
	if _, err := w.Links().Identify(looking("h:8081", c)); !errors.Is(err, auth.ErrNoCredential) {
		t.Error(err)
	}
	if _, err := w.Tokens().Identify(bearing(strings.TrimPrefix(path, token.LinkPath))); refused(err) == "" {
		t.Error("the link works as a token", err)
	}
	w.revoke(k.ID)
	select {
	case <-caller.Done:
	default:
		t.Error("a request that the key authenticated was not ended")
	}
	if _, err := w.Links().Identify(looking("h:8080", c)); refused(err) == "" {
		t.Error("the cookie is still valid", err)
	}
	if c, _, err := w.follow(path, "h:8080"); refused(err) == "" || c != nil {
		t.Error("the link can still be opened", c, err)
	}
}

// TestForgedLinks: a cookie cannot be made from the public properties of a link.
func TestForgedLinks(t *testing.T) {
	w := start(t, token.Options{})
	k, path := w.link(ana, token.Request{Name: "a", Namespace: "shop"})
	_, other := w.link(ana, token.Request{Name: "b", Namespace: "default"})
	c, _, err := w.follow(path, "h")
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := w.follow(other, "h")
	if err != nil {
		t.Fatal(err)
	}
	_, sign, _ := strings.Cut(d.Value, ".")
	// The owner of a token could sign for it as for a link's cookie.
	token, secret := w.token(ana, token.Request{Name: "c", Role: auth.Admin})
	kept := sha256.Sum256([]byte(secret))
	of := hmac.New(sha256.New, kept[:])
	of.Write([]byte("mayfly: the cookie of a link"))
	for name, value := range map[string]string{
		"nothing": "", "the ID": k.ID, "the ID and a point": k.ID + ".", "another's signature": k.ID + "." + sign, "cut": c.Value[:len(c.Value)-1],
		"a token's": token.ID + "." + base64.RawURLEncoding.EncodeToString(of.Sum(nil)),
		"large":     strings.Repeat("a", 1<<16),
	} {
		if caller, err := w.Links().Identify(looking("h", &http.Cookie{Name: c.Name, Value: value})); refused(err) == "" {
			t.Errorf("%s: %+v %v", name, caller, err)
		}
	}
}

func TestLinkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, token.Options{})
		_, path := w.link(ben, token.Request{Name: "a", Namespace: "shop"})
		c, _, err := w.follow(path, "h")
		if err != nil {
			t.Fatal(err)
		}
		caller, err := w.Links().Identify(looking("h", c))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(caller.Expires))
		synctest.Wait()
		if _, err := w.Links().Identify(looking("h", c)); refused(err) == "" {
			t.Error(err)
		}
		if _, _, err := w.follow(path, "h"); refused(err) == "" {
			t.Error(err)
		}
		select {
		case <-caller.Done:
		default:
			t.Error("a request that the key authenticated was not ended")
		}
	})
}

// TestLinkToCapitals: a link may spell its namespace in any case, in the request and in the page's
// address. The key has the name in lower case.
func TestLinkToCapitals(t *testing.T) {
	w := start(t, token.Options{})
	for page, namespace := range map[string]string{"/n/Shop/queues": "shop", "/n/Shop": "shop", "/n/shop?x=y": "Shop"} {
		if k, _ := w.link(ana, token.Request{Name: "demo", Namespace: namespace, Page: page}); k.Page != page || k.Namespace != "shop" {
			t.Errorf("%s in %s: %+v", page, namespace, k)
		}
	}
}

// TestPresentationLink: PresentationLink finds the oldest valid link to a presentation that the
// caller may see: an admin all links, other users their own.
func TestPresentationLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, token.Options{})
		k, _ := w.link(ben, token.Request{Name: "demo", Namespace: "shop", Page: "/n/shop?follow=monday", Lifetime: time.Hour})
		w.link(ben, token.Request{Name: "other", Namespace: "shop"})
		find := func(caller auth.Caller, presentation, want string) {
			t.Helper()
			if got, ok := w.PresentationLink(caller, presentation); got.ID != want || ok != (want != "") {
				t.Errorf("%s finds %q of %q, want %q", caller.Name, got.ID, presentation, want)
			}
		}
		find(ben, "monday", k.ID)
		find(ana, "monday", k.ID)
		find(eva, "monday", "")
		find(ben, "tuesday", "")
		find(ben, "", "")
		var more []string // to the same page, made by others
		for range 5 {
			time.Sleep(time.Minute)
			k, _ := w.link(ana, token.Request{Name: "more", Namespace: "shop", Page: "/n/shop?follow=monday", Lifetime: 2 * time.Hour})
			more = append(more, k.ID)
		}
		find(ana, "monday", k.ID)
		find(ben, "monday", k.ID)
		time.Sleep(time.Hour)
		find(ana, "monday", more[0])
		find(ben, "monday", "")
	})
}
