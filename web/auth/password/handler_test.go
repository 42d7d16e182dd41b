package password_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/crypto/bcrypt"

	"mayfly/engine"
	"mayfly/views/page"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/password"
	"mayfly/web/auth/users"
)

// A world is a Handler with two users, ana and ben, whose passwords are "password of …".
type world struct {
	*testing.T
	sessions *password.Sessions
	file     *users.File
	handler  *password.Handler
	echo     *echo.Echo
	path     string
	audited  string // recorded events, a line each; guarded by mu
	mu       sync.Mutex
	there    page.SignInProvider // where a user signs out of the provider, too
	silent   error               // the error if that address is unknown
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, sessions: password.NewSessions(), path: filepath.Join(t.TempDir(), "users.txt")}
	w.write(w.line("ana", auth.Admin) + w.line("ben", auth.Viewer))
	var err error
	if w.file, err = users.Open(w.path, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	w.mount(origin.NewForms())
	return w
}

// mount makes a new Handler with the same sessions and file.
func (w *world) mount(forms *origin.Forms) {
	w.handler = password.New(password.Options{
		Sessions: w.sessions, Users: w.file, Forms: forms, Logger: slog.New(slog.DiscardHandler),
		RecordAudit: func(_ context.Context, kind engine.EventKind, about, actor string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.audited += strings.TrimSpace(actor+": "+kind.String()+" "+about) + "\n"
		},
		ProviderSignOut: func(_ http.ResponseWriter, r *http.Request, caller auth.Caller) (page.SignInProvider, error) {
			if again, err := w.sessions.Identify(r); err == nil || caller.Name != "ana" {
				w.Errorf("%+v signs out at the provider, but here the caller is %+v", caller, again)
			}
			return w.there, w.silent
		},
	})
	w.echo = echo.New()
	w.echo.Use(func(next echo.HandlerFunc) echo.HandlerFunc { // as package web does
		return func(c echo.Context) error {
			caller, _ := w.sessions.Identify(c.Request()) //nolint:errcheck // unknown callers get the zero value
			needs, ok := w.handler.RequiredRole(c.Request().Method, c.Path())
			if err := auth.Authorize(caller, needs); !ok || err != nil {
				return echo.NewHTTPError(http.StatusForbidden, "")
			}
			c.SetRequest(c.Request().WithContext(auth.WithCaller(c.Request().Context(), caller)))
			return next(c)
		}
	})
	w.handler.Mount(w.echo.Group(""))
}

func (w *world) line(name string, role auth.Role) string {
	w.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("password of "+name), bcrypt.MinCost) // at the least cost, because tests try many
	if err != nil {
		w.Fatal(err)
	}
	return users.FormatLine(name, role, string(hash)) + "\n"
}

func (w *world) write(text string) {
	w.Helper()
	if err := os.WriteFile(w.path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *world) remembered() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.audited
}

// A browserID is a browser, which keeps cookies.
type browserID struct {
	*world
	from    string
	cookies map[string]string
}

func (w *world) browser() *browserID {
	return &browserID{world: w, from: "192.0.2.1:1234", cookies: map[string]string{}}
}

func (b *browserID) ask(method, at string, form url.Values) (*http.Response, string) {
	b.Helper()
	r := httptest.NewRequest(method, at, strings.NewReader(form.Encode()))
	r.RemoteAddr = b.from
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	rec := httptest.NewRecorder()
	b.echo.ServeHTTP(rec, r)
	res := rec.Result()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range res.Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return res, string(body)
}

var csrf = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// post sends a form with the token of the sign-in page.
func (b *browserID) post(at string, form url.Values) (*http.Response, string) {
	b.Helper()
	kept := b.cookies[password.SessionCookie]
	delete(b.cookies, password.SessionCookie)
	_, page := b.ask(http.MethodGet, password.SignInPath, nil)
	if kept != "" {
		b.cookies[password.SessionCookie] = kept
	}
	token := csrf.FindStringSubmatch(page)
	if token == nil {
		b.Fatalf("the page has no token: %s", page)
	}
	form.Set("csrf", token[1])
	return b.ask(http.MethodPost, at, form)
}

func (b *browserID) signIn(name, pass, to string) (*http.Response, string) {
	b.Helper()
	return b.post(password.SignInPath, url.Values{"user": {name}, "password": {pass}, "to": {to}})
}

// caller returns the user that the browser is signed in as.
func (b *browserID) caller() auth.Caller {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: password.SessionCookie, Value: b.cookies[password.SessionCookie]})
	caller, _ := b.sessions.Identify(r) //nolint:errcheck // unknown callers get the zero value
	return caller
}

func over(caller auth.Caller) bool {
	select {
	case <-caller.Done:
		return true
	default:
		return false
	}
}

func TestSignInAndOut(t *testing.T) {
	w := start(t)
	b := w.browser()
	if res, page := b.signIn("ana", "wrong password", "/n/x"); res.StatusCode != http.StatusUnprocessableEntity || b.caller().IsKnown() || !strings.Contains(page, `value="ana"`) || !strings.Contains(page, `value="/n/x"`) || strings.Contains(page, "wrong password") {
		t.Fatalf("a wrong password: %d, %+v", res.StatusCode, b.caller())
	}
	res, _ := b.signIn(" ANA ", "password of ana", "/n/default/queues?x=1#y")
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/n/default/queues?x=1#y" {
		t.Fatalf("got %d to %q", res.StatusCode, res.Header.Get("Location"))
	}
	for _, c := range res.Cookies() {
		if c.Name == password.SessionCookie && (!c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure || c.Path != "/") {
			t.Errorf("the cookie is %v", c)
		}
	}
	caller := b.caller()
	if caller.Name != "ana" || caller.Role != auth.Admin || caller.Method != auth.Password || over(caller) {
		t.Fatalf("got %+v", caller)
	}
	first := b.cookies[password.SessionCookie]
	b.signIn("ana", "password of ana", "/")
	if now := b.cookies[password.SessionCookie]; now == first || !over(caller) || len(w.sessions.All()) != 1 {
		t.Errorf("the former session still exists: %d sessions", len(w.sessions.All()))
	}
	caller = b.caller()
	if res, _ := b.ask(http.MethodPost, password.SignOutPath, url.Values{"csrf": {"forged"}}); res.StatusCode == http.StatusSeeOther || over(caller) {
		t.Error("a forged form signed out")
	}
	if res, _ := b.post(password.SignOutPath, url.Values{}); res.StatusCode != http.StatusSeeOther || !over(caller) || b.caller().IsKnown() || b.cookies[password.SessionCookie] != "" {
		t.Errorf("signing out: %d, ended %t", res.StatusCode, over(caller))
	}
	want := "dashboard 192.0.2.1: sign-in-failed ana\n" + strings.Repeat("ana: signed-in admin · password · 192.0.2.1\n", 2) + "ana: signed-out\n"
	if got := w.remembered(); got != want {
		t.Errorf("audited:\n%s\nwant:\n%s", got, want)
	}
}

// TestSignsOutElsewhere: a user who signs out is redirected to the provider's sign-out, and sees a
// notice if its address is unknown.
func TestSignsOutElsewhere(t *testing.T) {
	w := start(t)
	out := func() (res *http.Response, text string) {
		t.Helper()
		b := w.browser()
		b.signIn("ana", "password of ana", "/")
		res, text = b.post(password.SignOutPath, url.Values{})
		if res.StatusCode == http.StatusSeeOther {
			_, text = b.ask(http.MethodGet, res.Header.Get("Location"), nil)
		}
		return res, text
	}
	w.there = page.SignInProvider{Label: "the company", Href: "https://company.example/end?x=y"}
	if res, text := out(); res.StatusCode != http.StatusOK || res.Header.Get("Refresh") != "0; url="+w.there.Href || !strings.Contains(text, `href="`+w.there.Href+`"`) {
		t.Errorf("%d, %v: %s", res.StatusCode, res.Header, text)
	}
	w.there.Href, w.silent = "", errors.New("it is down")
	if res, text := out(); res.StatusCode != http.StatusSeeOther || !strings.Contains(text, "You are signed out here. the company does not answer") {
		t.Errorf("%d: %s", res.StatusCode, text)
	}
	w.silent = nil
	if res, text := out(); res.StatusCode != http.StatusSeeOther || !strings.Contains(text, "You are signed out.") {
		t.Errorf("%d: %s", res.StatusCode, text)
	}
}

func TestForgedSignIn(t *testing.T) {
	b := start(t).browser()
	if res, _ := b.ask(http.MethodPost, password.SignInPath, url.Values{"user": {"ana"}, "password": {"password of ana"}}); res.StatusCode == http.StatusSeeOther || b.caller().IsKnown() {
		t.Error("a form without a token signed in")
	}
	if res, _ := b.post(password.SignInPath, url.Values{"user": {strings.Repeat("x", 1<<20)}}); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form is answered with %d", res.StatusCode)
	}
}

func TestSecureCookie(t *testing.T) {
	rec, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "https://x/", nil)
	password.NewSessions().Begin(rec, r, password.Start{Caller: auth.Caller{Name: "ana", Role: auth.Viewer}})
	if c := rec.Result().Cookies()[0]; !c.Secure {
		t.Errorf("with TLS the cookie is %v", c)
	}
}

func TestWithin(t *testing.T) {
	for to, want := range map[string]string{
		"/n/default": "/n/default", "/n/default/queues?a=b&c=%2F": "/n/default/queues?a=b&c=%2F", "/": "/", "": "/",
		"//evil.example": "/", "https://evil.example": "/", "/\\evil.example": "/", "\\\\evil.example": "/", "/\t/evil.example": "/",
		"evil.example": "/", "javascript:alert(1)": "/", "/login?to=/login": "/", "/logout": "/", "/api/v1/entities": "/", "/%": "/",
		"/" + strings.Repeat("a", 3000): "/",
	} {
		if got := password.ReturnPath("", to); got != want {
			t.Errorf("%.40q redirects to %q, want %q", to, got, want)
		}
	}
	for to, want := range map[string]string{
		"/bus/n/default?a=b": "/bus/n/default?a=b", "/bus": "/bus", "/bus/": "/bus/", "/bus/n/../n/default": "/bus/n/../n/default", "": "/bus/", "/": "/bus/",
		"/n/default": "/bus/", "/busy": "/bus/", "/bus/../n": "/bus/", "/bus/%2e%2E/n": "/bus/", "/bus/./../n": "/bus/", "/bus//evil.example": "/bus/",
		"/bus/login": "/bus/", "/bus/logout": "/bus/", "/bus/api/v1/entities": "/bus/", "//bus/": "/bus/", "/BUS/": "/bus/", "/%62us/": "/%62us/",
	} {
		if got := password.ReturnPath("/bus", to); got != want {
			t.Errorf("below /bus, %.40q redirects to %q, want %q", to, got, want)
		}
	}
}

// TestTriesAreLimited: tries are limited by name from anywhere, and by address for any name;
// the answers reveal nothing about names.
func TestTriesAreLimited(t *testing.T) {
	synctest.Test(t, triesAreLimited) // no try is given back while it runs
}

func triesAreLimited(t *testing.T) {
	w := start(t)
	tries := func(name string, from func(i int) string) (n int, res *http.Response, page string) {
		b := w.browser()
		for ; n < 100; n++ {
			b.from = from(n)
			if res, page = b.signIn(name, "wrong password", "/"); res.StatusCode == http.StatusTooManyRequests {
				return n, res, page
			}
		}
		return n, res, page
	}
	anywhere := func(i int) string { return "198.51.100." + string(rune('0'+i%10)) + string(rune('0'+i/10)) + ":1" }
	n, res, page := tries("ana", anywhere)
	if n != 10 || res.Header.Get("Retry-After") == "" || !strings.Contains(page, "Too many tries") {
		t.Errorf("for a name: %d tries, then %d with Retry-After %q", n, res.StatusCode, res.Header.Get("Retry-After"))
	}
	if n, _, _ := tries("nobody", anywhere); n != 10 {
		t.Errorf("for an unknown name: %d tries", n)
	}
	b := w.browser()
	b.from = "203.0.113.9:5"
	if res, _ := b.signIn("ana", "password of ana", "/"); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the right password was accepted in spite of the limit: %d", res.StatusCode)
	}
	i := 0
	if n, _, _ := tries("x", func(n int) string { i++; return "[2001:db8::" + string(rune('a'+n%6)) + "]:9" }); n != 8 {
		t.Errorf("for one name from one network: %d tries", n)
	}
	for n := range 40 {
		b.from = "[2001:db8::1]:9"
		if res, _ := b.signIn("name"+string(rune('a'+n)), "wrong password", "/"); res.StatusCode == http.StatusTooManyRequests {
			if n != 11 { // nine tries were used for x
				t.Errorf("for a network: %d tries", n)
			}
			break
		} else if n == 39 {
			t.Error("an address is never limited")
		}
	}
	if n := strings.Count(w.remembered(), "sign-in failed"); n > 20 {
		t.Errorf("%d failures were audited", n)
	}
	if strings.Contains(w.remembered(), "namea") {
		t.Error("text typed as a name was audited, though it may be a password")
	}
}

// TestAChangedFileEndsSessions: a changed users file ends the sessions of users whose line has
// changed, at once.
func TestAChangedFileEndsSessions(t *testing.T) {
	w := start(t)
	ana, ben := w.browser(), w.browser()
	ana.signIn("ana", "password of ana", "/")
	ben.signIn("ben", "password of ben", "/")
	was, hers := ben.caller(), ana.caller()
	text, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	change := func(text string) {
		w.write(text)
		later := time.Now().Add(time.Duration(len(text)) * time.Second)
		if err := os.Chtimes(w.path, later, later); err != nil {
			t.Fatal(err)
		}
		if !w.file.Reload() {
			t.Fatal("the file has not changed")
		}
		w.handler.UsersChanged(t.Context())
	}
	change(string(text) + "# a word\n")
	if over(was) || over(hers) {
		t.Error("a new comment in the file ended sessions")
	}
	change(strings.Replace(string(text), "ben:viewer:", "ben:operator:", 1))
	if !over(was) || ben.caller().IsKnown() || over(hers) {
		t.Errorf("another role: ended %t, of ana %t", over(was), over(hers))
	}
	change(strings.Split(string(text), "\n")[1] + "\n")
	if !over(hers) || ana.caller().IsKnown() {
		t.Error("a session of a removed user continues")
	}
}

func TestAdminsEndSessions(t *testing.T) {
	w := start(t)
	ana, ben, again := w.browser(), w.browser(), w.browser()
	ana.signIn("ana", "password of ana", "/")
	ben.signIn("ben", "password of ben", "/")
	again.signIn("ben", "password of ben", "/")
	if res, _ := ben.ask(http.MethodGet, password.SessionsPath, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer sees the sessions: %d", res.StatusCode)
	}
	if res, _ := ben.post("/sessions/end", url.Values{"all": {"ana"}}); res.StatusCode != http.StatusForbidden || !ana.caller().IsKnown() {
		t.Errorf("a viewer may end sessions: %d", res.StatusCode)
	}
	_, page := ana.ask(http.MethodGet, password.SessionsPath, nil)
	if strings.Count(page, "<tr role") != 4 || !strings.Contains(page, "192.0.2.1") || strings.Contains(page, ben.cookies[password.SessionCookie]) {
		t.Errorf("the page: %s", page)
	}
	id := ben.caller().ID
	if res, _ := ana.post("/sessions/end", url.Values{"session": {id}}); res.StatusCode != http.StatusSeeOther || ben.caller().IsKnown() || !again.caller().IsKnown() {
		t.Errorf("ending one of ben's sessions: %d", res.StatusCode)
	}
	if res, _ := ana.post("/sessions/end", url.Values{}); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a form without a session returned %d", res.StatusCode)
	}
	if ana.post("/sessions/end", url.Values{"all": {"ben"}}); again.caller().IsKnown() || !ana.caller().IsKnown() {
		t.Error("not all of ben's sessions have ended, or others have")
	}
	if !strings.Contains(w.remembered(), "ana: sign-ins-ended ben\n") {
		t.Errorf("audited: %s", w.remembered())
	}
}

func TestSessionsEndByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := password.NewSessions()
		ctx, stop := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		watch.Go(func() { s.Watch(ctx) })
		defer watch.Wait()
		defer stop()
		begin := func() func() auth.Caller {
			rec := httptest.NewRecorder()
			s.Begin(rec, httptest.NewRequest(http.MethodGet, "/", nil), password.Start{Caller: auth.Caller{Name: "ana", Role: auth.Viewer, Method: auth.Password}})
			return func() auth.Caller {
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.AddCookie(rec.Result().Cookies()[0])
				caller, _ := s.Identify(r) //nolint:errcheck // unknown callers get the zero value
				return caller
			}
		}
		idle, used := begin(), begin()
		first := idle()
		for range 14 {
			time.Sleep(12*time.Hour - time.Minute)
			if !used().IsKnown() {
				t.Fatal("a session in use has ended")
			}
		}
		if idle().IsKnown() || !over(first) {
			t.Error("an unused session has not ended")
		}
		caller := used()
		time.Sleep(15 * time.Minute) // seven days have passed since the sign-in
		if !over(caller) || used().IsKnown() {
			t.Error("a session never ends")
		}
	})
}

// TestSessionsAreBounded: a user has at most 50 sessions; the least recently used one is dropped.
func TestSessionsAreBounded(t *testing.T) {
	s := password.NewSessions()
	for range 60 {
		s.Begin(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), password.Start{Caller: auth.Caller{Name: "ana", Role: auth.Viewer}})
	}
	if n := len(s.All()); n != 50 {
		t.Errorf("one user has %d sessions", n)
	}
}

// TestTwoServersOnOneMachine: a browser can be signed in at two ports of a host at once, although
// it sends all cookies of the host to both.
func TestTwoServersOnOneMachine(t *testing.T) {
	one, two := password.NewSessions(), password.NewSessions()
	jar := map[string]*http.Cookie{}
	visit := func(at string) (*httptest.ResponseRecorder, *http.Request) {
		r := httptest.NewRequest(http.MethodGet, at, nil)
		for _, c := range jar {
			r.AddCookie(c)
		}
		return httptest.NewRecorder(), r
	}
	begin := func(s *password.Sessions, at string) {
		rec, r := visit(at)
		s.Begin(rec, r, password.Start{Caller: auth.Caller{Name: "ana", Role: auth.Viewer}})
		for _, c := range rec.Result().Cookies() {
			jar[c.Name] = c
		}
	}
	begin(one, "http://localhost:8080/")
	begin(two, "http://localhost:8081/")
	for at, s := range map[string]*password.Sessions{"http://localhost:8080/": one, "http://localhost:8081/": two} {
		_, r := visit(at)
		if caller, err := s.Identify(r); !caller.IsKnown() {
			t.Errorf("at %s no user is signed in: %v", at, err)
		}
	}
}
