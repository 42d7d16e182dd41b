package origin_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/web/auth/origin"
)

func TestHosts(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	lan := &net.TCPAddr{IP: net.IPv4(192, 168, 1, 5), Port: 8080}
	every := &net.TCPAddr{IP: net.IPv6unspecified, Port: 8080}
	for name, tc := range map[string]struct {
		listener net.Addr
		allowed  []string
		host     string
		want     int // status; zero for allowed
	}{
		"localhost":                     {loopback, nil, "localhost:8080", 0},
		"localhost in capitals, dotted": {loopback, nil, "LocalHost.", 0},
		"below localhost":               {loopback, nil, "Shop.LocalHost:8080", 0},
		"that ends as localhost does":   {loopback, nil, "evillocalhost", 421},
		"loopback":                      {loopback, nil, "127.0.0.1:8080", 0},
		"another loopback":              {loopback, nil, "127.8.9.1", 0},
		"loopback of IPv6":              {loopback, nil, "[::1]:8080", 0},
		"loopback of IPv6, no port":     {loopback, nil, "[::1]", 0},
		"IPv4 in IPv6":                  {loopback, nil, "[::ffff:127.0.0.1]:1", 0},
		"a mapped port":                 {loopback, nil, "localhost:9999", 0},
		"no host":                       {loopback, nil, "", 400},
		"only a port":                   {loopback, nil, ":8080", 421},
		"a rebound name":                {loopback, nil, "evil.example:8080", 421},
		"a name that begins like ours":  {loopback, nil, "localhost.evil.example", 421},
		"an address like a name":        {loopback, nil, "127.0.0.1.evil.example", 421},
		"somebody else's address":       {loopback, nil, "192.168.1.5:8080", 421},
		"the listener's address":        {lan, nil, "192.168.1.5:8080", 0},
		"a neighbour of the listener":   {lan, nil, "192.168.1.6:8080", 421},
		"listening everywhere":          {every, nil, "10.0.0.7:8080", 0},
		"everywhere, but by name":       {every, nil, "mayfly:8080", 421},
		"an allowed name":               {every, []string{"Mayfly."}, "mayfly:8080", 0},
		"zero value":                    {nil, nil, "10.0.0.7", 421},
		"overlong":                      {loopback, nil, strings.Repeat("a", 1<<16), 421},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Host = tc.host
			err := origin.Hosts{Listener: tc.listener, Allowed: tc.allowed}.Check(r)
			got := 0
			if e, ok := errors.AsType[*origin.HostError](err); ok {
				got = e.Status()
				if len(e.Error()) > 300 {
					t.Errorf("the text has %d characters", len(e.Error()))
				}
			}
			if got != tc.want {
				t.Errorf("host %.40q: got %d (%v), want %d", tc.host, got, err, tc.want)
			}
		})
	}
}

func TestCrossSite(t *testing.T) {
	for name, tc := range map[string]struct {
		method, site, origin string
		refused              bool
	}{
		"curl":                              {"POST", "", "", false},
		"our own page":                      {"POST", "same-origin", "http://localhost:8080", false},
		"typed by the user":                 {"DELETE", "none", "", false},
		"another site":                      {"POST", "cross-site", "http://evil.example", true},
		"another port of this machine":      {"POST", "same-site", "http://localhost:3000", true},
		"an older browser, our page":        {"POST", "", "http://localhost:8080", false},
		"an older browser, another site":    {"PUT", "", "http://evil.example", true},
		"an older browser, another port":    {"POST", "", "http://localhost:3000", true},
		"a sandboxed page":                  {"POST", "", "null", true},
		"a word that no browser sends":      {"POST", "sure", "", true},
		"looking":                           {"GET", "cross-site", "http://evil.example", false},
		"a method that nobody has heard of": {"PURGE", "cross-site", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, "http://localhost:8080/x", nil)
			if tc.site != "" {
				r.Header.Set("Sec-Fetch-Site", tc.site)
			}
			if tc.origin != "" {
				r.Header.Set("Origin", tc.origin)
			}
			if err := origin.CrossSite(r); errors.Is(err, origin.ErrCrossSite) != tc.refused {
				t.Errorf("got %v, refused should be %t", err, tc.refused)
			}
		})
	}
}

// post returns a form as a browser with the cookies of w would send it.
func post(w *httptest.ResponseRecorder, token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(url.Values{origin.FormField: {token}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range w.Result().Cookies() {
		r.AddCookie(c)
	}
	return r
}

func TestFormToken(t *testing.T) {
	forms := origin.NewForms()
	w, get := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	token := forms.Token(w, get)
	if again := forms.Token(w, get); again != token {
		t.Error("two forms of a page have different tokens")
	}
	if n := len(w.Result().Cookies()); n != 1 {
		t.Errorf("%d cookies were set, want 1", n)
	}
	if c := w.Result().Cookies()[0]; !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookie is visible to scripts or other sites: %v", c)
	}
	for name, tc := range map[string]struct {
		forms   *origin.Forms
		request *http.Request
		want    error
	}{
		"as given":                 {forms, post(w, token), nil},
		"no token":                 {forms, post(w, ""), origin.ErrForm},
		"a wrong token":            {forms, post(w, token[1:]+"A"), origin.ErrForm},
		"no cookie":                {forms, post(httptest.NewRecorder(), token), origin.ErrForm},
		"after a restart":          {origin.NewForms(), post(w, token), origin.ErrForm},
		"neither token nor cookie": {forms, post(httptest.NewRecorder(), ""), origin.ErrForm},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.forms.Check(tc.request); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
	planted := httptest.NewRecorder()
	http.SetCookie(planted, &http.Cookie{Name: "mayfly_form", Value: w.Result().Cookies()[0].Value + "x"})
	if err := forms.Check(post(planted, token)); !errors.Is(err, origin.ErrForm) {
		t.Errorf("a planted cookie was accepted: %v", err)
	}
}

func TestNoticeIsShownOnce(t *testing.T) {
	forms := origin.NewForms()
	want := origin.Notice{Tone: "good", Text: `Deleted <b>"ä"</b>; five left`}
	left := httptest.NewRecorder()
	forms.SetNotice(left, httptest.NewRequest(http.MethodPost, "/", nil), want)

	taken := httptest.NewRecorder()
	got, ok := forms.TakeNotice(taken, post(left, ""))
	if !ok || !cmp.Equal(got, want) {
		t.Fatalf("got %+v, %t", got, ok)
	}
	if c := taken.Result().Cookies(); len(c) != 1 || c[0].MaxAge >= 0 {
		t.Errorf("the cookie was not deleted: %v", c)
	}
	if _, ok := origin.NewForms().TakeNotice(httptest.NewRecorder(), post(left, "")); ok {
		t.Error("another user's notice was shown")
	}
	if _, ok := forms.TakeNotice(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)); ok {
		t.Error("a notice was shown without a cookie")
	}
}

func TestLongNoticeIsCut(t *testing.T) {
	forms := origin.NewForms()
	w := httptest.NewRecorder()
	forms.SetNotice(w, httptest.NewRequest(http.MethodPost, "/", nil), origin.Notice{Text: strings.Repeat("é", 5000)})
	if n := len(w.Header().Get("Set-Cookie")); n > 4000 {
		t.Errorf("the cookie has %d bytes", n)
	}
	if n, ok := forms.TakeNotice(httptest.NewRecorder(), post(w, "")); !ok || !strings.HasSuffix(n.Text, "é…") {
		t.Errorf("got %.20q…, %t", n.Text, ok)
	}
}

// TestCertifiedNames: Hosts accepts the names of the server's certificate, where a wildcard stands
// for one label, and no other names except those of loopback.
func TestCertifiedNames(t *testing.T) {
	h := origin.Hosts{Certified: func() []string { return []string{"*.servicebus.windows.net", "Broker", "10.0.0.1"} }}
	for host, want := range map[string]bool{
		"shop.servicebus.windows.net": true, "SHOP.ServiceBus.Windows.net:443": true, "broker": true, "10.0.0.1:443": true, "localhost": true,
		"servicebus.windows.net": false, "a.shop.servicebus.windows.net": false, "evil.example": false, "xbroker": false, "": false, ".servicebus.windows.net": false,
	} {
		if err := h.Check(&http.Request{Host: host}); (err == nil) != want {
			t.Errorf("%q: got %v", host, err)
		}
		if (origin.Hosts{}).Check(&http.Request{Host: host}) == nil && host != "localhost" {
			t.Errorf("%q is allowed without a certificate", host)
		}
	}
}

// TestCookiesOverTLS: cookies of forms and notices are Secure if the dashboard has TLS. Each
// port of a host has its own cookie, because a port without TLS cannot replace a Secure one.
func TestCookiesOverTLS(t *testing.T) {
	forms := origin.NewForms()
	for at, want := range map[string]bool{"http://bus.example/": false, "https://bus.example/": true} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, at, nil)
		forms.Token(w, r)
		forms.SetNotice(w, r, origin.Notice{Text: "done"})
		kept := w.Result().Cookies()
		if len(kept) != 2 {
			t.Fatalf("at %s: %v", at, kept)
		}
		r.AddCookie(kept[1])
		again := httptest.NewRecorder()
		forms.TakeNotice(again, r)
		for _, c := range append(kept, again.Result().Cookies()...) {
			if c.Secure != want || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
				t.Errorf("at %s: %v", at, c)
			}
		}
	}
	one, two := httptest.NewRecorder(), httptest.NewRecorder()
	forms.Token(one, httptest.NewRequest(http.MethodGet, "https://bus.example:8443/", nil))
	forms.Token(two, httptest.NewRequest(http.MethodGet, "http://bus.example:8080/", nil))
	if a, b := one.Result().Cookies()[0].Name, two.Result().Cookies()[0].Name; a == b {
		t.Errorf("two ports share the cookie %s", a)
	}
}
