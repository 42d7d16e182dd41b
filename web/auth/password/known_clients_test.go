package password_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/password"
)

const familiar = "mayfly_familiar"

// tries sends wrong passwords for a name until the browser must wait, and returns how many
// it could send.
func (b *browserID) tries(name string) (n int) {
	b.Helper()
	for ; n < 60; n++ {
		if res, _ := b.signIn(name, "wrong password", "/"); res.StatusCode == http.StatusTooManyRequests {
			return n
		}
	}
	b.Fatalf("%s can be tried without limit", name)
	return 0
}

// signsIn reports whether the right password of a user is accepted.
func (b *browserID) signsIn(name string) bool {
	b.Helper()
	res, _ := b.signIn(name, "password of "+name, "/")
	return res.StatusCode == http.StatusSeeOther
}

// at returns a new browser at an address.
func (w *world) at(address string) *browserID {
	b := w.browser()
	b.from = address + ":1"
	return b
}

// TestOneAddressDoesNotKeepOthersOut: one address that keeps trying locks no user out, even one
// who has never signed in.
func TestOneAddressDoesNotKeepOthersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		attacker := w.at("192.0.2.200")
		for range 60 {
			attacker.signIn("ana", "x", "/")
			time.Sleep(500 * time.Millisecond)
		}
		for i := range 8 {
			if !w.at(fmt.Sprint("198.51.100.", i)).signsIn("ana") {
				t.Errorf("ana was locked out at her address %d", i)
			}
			for range 6 {
				attacker.signIn("ana", "x", "/")
				time.Sleep(500 * time.Millisecond)
			}
		}
	})
}

// TestManyAddressesAreSlowedTogether: many addresses share a limit of tries, but cannot lock ana
// out where she has signed in before: at an address, or with a browser at any address, also after a
// restart.
func TestManyAddressesAreSlowedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		mine, home := w.at("198.51.100.1"), "198.51.100.2"
		if !mine.signsIn("ana") || !w.at(home).signsIn("ana") {
			t.Fatal("ana cannot sign in")
		}
		attack := func(most int) {
			t.Helper()
			n := 0
			for i := range 40 {
				if res, _ := w.at(fmt.Sprint("203.0.113.", i)).signIn("ana", "x", "/"); res.StatusCode != http.StatusTooManyRequests {
					n++
				}
			}
			if n > most {
				t.Errorf("many addresses had %d tries", n)
			}
		}
		attack(10)
		if w.at("198.51.100.3").signsIn("ana") {
			t.Error("the right password was accepted at an unknown address")
		}
		mine.from = "198.51.100.4:1"
		if !mine.signsIn("ana") {
			t.Error("a familiar browser is locked out")
		}
		if !w.at(home).signsIn("ana") {
			t.Error("a familiar address is locked out")
		}
		w.again()
		attack(10)
		if !mine.signsIn("ana") {
			t.Error("a familiar browser is locked out after a restart")
		}
		if w.at("198.51.100.9").signsIn("ana") {
			t.Error("an address never expires")
		}
	})
}

// again restarts the server.
func (w *world) again() {
	w.sessions = password.NewSessions()
	w.mount(origin.NewForms())
}

// TestAFamiliarBrowserAmongOthers: a familiar browser signs in while other clients use up
// the tries of its address, which all clients of an untrusted proxy share.
func TestAFamiliarBrowserAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		mine := w.browser()
		if !mine.signsIn("ben") {
			t.Fatal("ben cannot sign in")
		}
		rude := w.browser()
		for i := range 22 {
			rude.signIn(fmt.Sprint("somebody", i), "x", "/")
		}
		if w.browser().signsIn("ben") {
			t.Error("the address is not slowed down")
		}
		for range 20 {
			if !mine.signsIn("ben") {
				t.Fatal("a familiar browser waits because of others at its address")
			}
		}
		if n := mine.tries("ana"); n != 0 {
			t.Errorf("a browser familiar to ben got %d tries for ana", n)
		}
	})
}

// TestAFamiliarBrowserIsSlowedToo: a thief with a browser's stolen cookie can try ten passwords
// more for its user than a client without one, however many addresses the thief has.
func TestAFamiliarBrowserIsSlowedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		mine := w.at("198.51.100.1")
		mine.signsIn("ana")
		n := 0
		for i := range 60 {
			thief := w.at(fmt.Sprint("203.0.113.", i))
			thief.cookies = maps.Clone(mine.cookies)
			delete(thief.cookies, password.SessionCookie)
			if res, _ := thief.signIn("ana", "x", "/"); res.StatusCode != http.StatusTooManyRequests {
				n++
			}
		}
		if n != 10+10 { // the tries of the browser, and those of the name
			t.Errorf("a stolen cookie gives %d tries", n)
		}
	})
}

// TestMarks: the cookie contains no name, is bound to the name and the password, and cannot
// be forged.
func TestMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		mine := w.at("198.51.100.1")
		res, _ := mine.signIn("ana", "password of ana", "/")
		var c *http.Cookie
		for _, one := range res.Cookies() {
			if one.Name == familiar {
				c = one
			}
		}
		if c == nil || !c.HttpOnly || c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != password.SignInPath || c.MaxAge < 100*24*60*60 || strings.Contains(c.Value, "ana") {
			t.Fatalf("the cookie is %v", c)
		}
		for i := range 21 { // uses up the tries of the address of all further browsers
			w.at("203.0.113.1").signIn(fmt.Sprint("somebody", i), "x", "/")
		}
		passes := func(value string) bool {
			b := w.at("203.0.113.1")
			b.cookies[familiar] = value
			return b.signsIn("ana")
		}
		parts := strings.Split(c.Value, ".")
		for name, value := range map[string]string{
			"another id": "x" + parts[0][1:] + "." + parts[1] + "." + parts[2], "a later time": parts[0] + "." + fmt.Sprint(time.Now().Unix()+1) + "." + parts[2],
			"no signature": parts[0] + "." + parts[1] + ".", "none": "", "much": strings.Repeat(c.Value+"x~", 40), "behind many": strings.Repeat("a.1.b~", 4) + c.Value,
		} {
			if passes(value) {
				t.Errorf("%s is familiar", name)
			}
		}
		if !passes(c.Value) || !passes("a.1.b~"+c.Value) {
			t.Error("the cookie is not familiar")
		}
		time.Sleep(181 * 24 * time.Hour)
		for i := range 21 {
			w.at("203.0.113.1").signIn(fmt.Sprint("somebody", i), "x", "/")
		}
		if passes(c.Value) {
			t.Error("the cookie never expires")
		}

		// After a change of password the browser is unknown.
		b := w.at("198.51.100.7")
		b.signsIn("ana")
		text, err := os.ReadFile(w.path)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\n")
		w.write(w.line("ana", auth.Admin) + rest)
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(w.path, later, later); err != nil || !w.file.Reload() {
			t.Fatal("the file has not changed", err)
		}
		for i := range 21 {
			w.at("203.0.113.2").signIn(fmt.Sprint("somebody", i), "x", "/")
		}
		b.from = "203.0.113.2:1"
		if b.signsIn("ana") {
			t.Error("a browser is still familiar after a change of password")
		}
		if b.from = "198.51.100.7:1"; !b.signsIn("ana") {
			t.Error("ana cannot sign in any more")
		}
	})
}

// TestABrowserOfSeveral: a browser is familiar to the last four users who signed in with it.
func TestABrowserOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		b := w.browser()
		for _, name := range []string{"ana", "ben", "ana", "ben", "ben"} {
			if !b.signsIn(name) {
				t.Fatal(name)
			}
		}
		if n := strings.Count(b.cookies[familiar], "~"); n != 1 {
			t.Errorf("two users have left %d marks", n+1)
		}
		for i := range 22 {
			w.browser().signIn(fmt.Sprint("somebody", i), "x", "/")
		}
		if !b.signsIn("ana") || !b.signsIn("ben") {
			t.Error("the browser is not familiar to one of its users")
		}
	})
}

// TestOtherWaysHaveTheirOwnLine: wrong passwords from an address do not limit its sign-ins with a
// provider. Failed sign-ins with a provider do not limit a browser that has signed in with it
// before.
func TestOtherWaysHaveTheirOwnLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for i := range 22 {
			w.browser().signIn(fmt.Sprint("somebody", i), "x", "/")
		}
		ask := func(c *http.Cookie) *http.Request {
			r := httptest.NewRequest(http.MethodGet, "/login/openid", nil)
			if c != nil {
				r.AddCookie(c)
			}
			return r
		}
		for range 2 {
			if w.handler.Throttle(ask(nil)) > 0 {
				t.Fatal("wrong passwords limit sign-ins with the provider")
			}
		}
		rec := httptest.NewRecorder()
		w.handler.Succeeded(rec, ask(nil))
		mark := rec.Result().Cookies()[0]
		n := 0
		for w.handler.Throttle(ask(nil)) == 0 {
			if n++; n > 100 {
				t.Fatal("sign-ins are never limited")
			}
		}
		if n != 20 {
			t.Errorf("an address has %d tries", n)
		}
		for range 30 {
			for range 2 {
				if w.handler.Throttle(ask(mark)) > 0 {
					t.Fatal("a familiar browser is locked out")
				}
			}
			w.handler.Succeeded(httptest.NewRecorder(), ask(mark))
		}
		if w.at("192.0.2.1").signsIn("ana") {
			t.Error("the address has no limit for passwords")
		}
	})
}
