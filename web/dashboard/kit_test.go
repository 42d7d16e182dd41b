package dashboard_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/demo"
	"mayfly/engine/job"
	"mayfly/engine/namespaces"
	"mayfly/storage/memory"
	"mayfly/web/auth"
	"mayfly/web/auth/token"
	"mayfly/web/connections/connectionstest"
	"mayfly/web/dashboard"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/route"
	"mayfly/web/exchange"
	"mayfly/web/webhook"
)

// A world is a dashboard on a real broker, in a bubble where time passes only when all
// goroutines wait for it. Its visitor is a browser without scripts.
type world struct {
	*testing.T
	b        *brokertest.Broker
	pages    *pages.Pages
	jobs     *job.Jobs
	manager  *namespaces.Manager // namespaces of another server; nil if there is one namespace
	scenes   *demo.Player        // player of scenes in those namespaces; nil if there are none
	uploads  *exchange.Uploads
	rules    *alert.Rules
	webhooks *webhook.Sender
	tokens   *token.Registry
	leave    func()      // stops storing keys in this world
	caller   auth.Caller // the visitor; zero if unknown
	handler  http.Handler
	store    *breakable
	jar      sync.Mutex // guards cookies
	cookies  map[string]*http.Cookie
	remote   string
	clients  connectionstest.Source
	safe     bool   // Safe mode of the next start, or reopening
	undo     string // undoes the last operation; empty if it cannot be undone
	largest  int64  // bytes of a message, from the next start on; zero means the default
}

// breakable is a store that can be set to refuse writes, or to write and not answer.
type breakable struct {
	*memory.Store
	broken  atomic.Bool
	mute    atomic.Bool
	damaged []engine.Damaged // messages that the next start finds damaged
}

func (s *breakable) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for r, err := range s.Store.Load(ctx) {
			if !yield(r, err) {
				return
			}
		}
		for _, d := range s.damaged {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func (s *breakable) Commit(ctx context.Context, b *engine.Batch) error {
	if s.broken.Load() {
		return engine.ErrUnwritable
	}
	if s.mute.Load() {
		return errors.Join(s.Store.Commit(ctx, b), errors.New("no answer"))
	}
	return s.Store.Commit(ctx, b)
}

func within(t *testing.T, f func(w *world)) {
	t.Helper()
	withinNamespaces(t, func(*testing.T) *namespaces.Manager { return nil }, f)
}

// withinNamespaces is within, with namespaces beside the world's.
func withinNamespaces(t *testing.T, open func(t *testing.T) *namespaces.Manager, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, store: &breakable{Store: new(memory.Store)}, cookies: map[string]*http.Cookie{}, remote: "127.0.0.1:50000", manager: open(t)}
		w.start()
		defer func() { w.stop() }()
		f(w)
	})
}

func (w *world) start() {
	w.Helper()
	logger := slog.New(slog.DiscardHandler)
	limits := engine.DefaultLimits()
	limits.MinAutoDelete = time.Second
	limits.MessageSize = cmp.Or(w.largest, limits.MessageSize)
	opened := false
	w.b = brokertest.OpenWith(w, func(context.Context) (engine.Store, error) {
		if opened && w.store.mute.Load() {
			return nil, errors.New("no answer")
		}
		if opened {
			w.store.Store = w.store.Reopen()
		}
		opened = true
		return w.store, nil
	}, broker.Options{Limits: &limits})
	var err error
	w.jobs, err = job.Open(w.Context(), w.b.Broker, logger)
	w.must(err)
	w.uploads = exchange.NewUploads()
	w.webhooks = webhook.New(webhook.Options{Logger: logger, Transport: nowhere{}})
	w.rules, err = alert.Open(w.Context(), w.b.Broker, alert.Options{Logger: logger, Send: w.webhooks.Offer, AllowURL: w.webhooks.CheckAddress})
	w.must(err)
	w.tokens = token.New(token.Options{Logger: logger})
	w.leave, err = w.tokens.Serve(w.Context(), w.b.Broker)
	w.must(err)
	if w.scenes = nil; w.manager != nil {
		library, err := demo.Open()
		w.must(err)
		w.scenes = demo.NewPlayer(demo.Options{Namespaces: w.manager, Library: library, Logger: logger})
		w.must(w.scenes.LoadSaved(w.Context(), w.b.Broker))
	}
	w.pages = route.Start(w.b.Broker, pages.Options{API: "http://127.0.0.1:8080/api/v1", Connection: "Endpoint=sb://localhost:5672/", REST: "http://127.0.0.1:5300", Build: "test", HistoryFor: 7 * 24 * time.Hour, Clients: &w.clients, Jobs: w.jobs, AlertRules: w.rules, Webhooks: w.webhooks, Uploads: w.uploads, Scenes: w.scenes, Namespaces: pages.NamespaceInfo{Namespaces: w.manager}, Logger: logger})
	w.reopen()
}

// newDoor returns a dashboard on the world's services.
func (w *world) newDoor() *dashboard.Handler {
	return dashboard.New(dashboard.Options{Broker: w.b.Broker, Namespaces: w.manager, Scenes: w.scenes, Pages: w.pages, Clients: &w.clients, Jobs: w.jobs, Uploads: w.uploads, AlertRules: w.rules, Tokens: w.tokens, Safe: w.safe, Logger: slog.New(slog.DiscardHandler)})
}

// reopen replaces the dashboard. Forms of the former one have to be loaded again.
func (w *world) reopen() {
	e, d := echo.New(), w.newDoor()
	d.Mount(e.Group(""))
	e.HTTPErrorHandler = d.Error
	w.handler = e
}

// all returns the entities of a kind.
func (w *world) all(kind engine.EntityKind) (all []engine.EntityState) {
	w.Helper()
	w.must(w.b.Read(w.Context(), func(r broker.Reader) error {
		all = r.States(kind)
		return nil
	}))
	return all
}

func (w *world) stop() {
	w.Helper()
	if w.scenes != nil {
		w.scenes.Close()
	}
	w.leave()
	w.tokens.Close()
	w.jobs.Close()
	w.rules.Close()
	w.webhooks.Close()
	w.uploads.Close()
	w.pages.Close()
	w.b.Close()
}

// restart ends the process and starts the next one on the same store. The browser keeps its
// cookies, but its forms have to be loaded again.
func (w *world) restart() {
	w.Helper()
	w.stop()
	w.store = &breakable{Store: w.store.Reopen()}
	w.start()
}

// pass lets time pass in the bubble, and waits until all work that is due by then is done.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// An answer is a response that the browser got.
type answer struct {
	*goquery.Document
	t      *testing.T
	header http.Header
	status int
	to     string // of a redirect
	text   string
}

func (w *world) do(r *http.Request) answer {
	w.Helper()
	body, err := io.ReadAll(r.Body)
	w.must(err)
	r.Body = io.NopCloser(bytes.NewReader(body))
	a := w.once(r)
	w.inCzech(r, body, a.status)
	return a
}

// once sends a request and stores the cookies of the response. Unlike do, it does not repeat the
// request in Czech.
func (w *world) once(r *http.Request) answer {
	w.Helper()
	r.RemoteAddr = w.remote
	if w.caller.IsKnown() {
		r = r.WithContext(auth.WithCaller(r.Context(), w.caller))
	}
	w.jar.Lock()
	for _, c := range w.cookies {
		r.AddCookie(c)
	}
	w.jar.Unlock()
	rec := w.answer(r)
	res := rec.Result()
	w.jar.Lock()
	for _, c := range res.Cookies() {
		if w.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(w.cookies, c.Name)
		}
	}
	w.jar.Unlock()
	a := answer{t: w.T, header: res.Header, status: res.StatusCode, to: res.Header.Get("Location"), text: rec.Body.String()}
	var err error
	a.Document, err = goquery.NewDocumentFromReader(strings.NewReader(a.text))
	w.must(err)
	return a
}

func (w *world) answer(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec
}

func (w *world) get(to string) answer {
	w.Helper()
	return w.do(httptest.NewRequest(http.MethodGet, to, nil))
}

// see gets a page that must exist.
func (w *world) see(to string) answer {
	w.Helper()
	a := w.get(to)
	if a.status != http.StatusOK {
		w.Fatalf("GET %s: %d: %s", to, a.status, a.Find("main").Text())
	}
	return a
}

// token returns the token of the visitor's forms.
func (w *world) token() string {
	w.Helper()
	return w.tokenAt("")
}

// tokenAt returns the token at the server that an address names: each port of a host has
// its own.
func (w *world) tokenAt(to string) string {
	w.Helper()
	origin := ""
	if u, err := url.Parse(to); err == nil && u.Host != "" {
		origin = u.Scheme + "://" + u.Host
	}
	a := w.once(httptest.NewRequest(http.MethodGet, origin+"/n/default/templates", nil)) // a short page
	token, _ := a.Find("input[name=csrf]").First().Attr("value")
	return token
}

// post sends fields: pairs of name and value.
func (w *world) post(to string, pairs ...string) answer {
	w.Helper()
	form := url.Values{"csrf": {w.tokenAt(to)}}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return w.send(to, form)
}

func (w *world) send(to string, form url.Values) answer {
	w.Helper()
	r := httptest.NewRequest(http.MethodPost, to, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.do(r)
}

// done is a post whose response has to be a redirect. It returns the text of the notice on the
// target page, and that page's address, and keeps the address of the notice's undo button in
// w.undo.
func (w *world) done(to string, pairs ...string) (says string, at string) {
	w.Helper()
	w.undo = ""
	a := w.post(to, pairs...)
	if a.status != http.StatusSeeOther {
		w.Fatalf("POST %s: %d: %s", to, a.status, a.Find("main").Text())
	}
	page := w.get(a.to)
	if page.status != http.StatusOK {
		w.Fatalf("POST %s redirected to %s: %d", to, a.to, page.status)
	}
	page.Find("[data-notice] [formaction]").Each(func(_ int, undo *goquery.Selection) {
		w.undo, _ = undo.Attr("formaction")
		undo.Remove()
	})
	return strings.TrimSpace(page.Find("[data-notice]").Text()), a.to
}

func (w *world) fill(path engine.Path, all ...engine.Content) {
	w.Helper()
	w.b.SendContents(path, `{"customer":{"id":4417},"total":129.90}`, all...)
}

// first returns the address of the first message of a path.
func (w *world) first(path engine.Path, class engine.Class) string {
	w.Helper()
	rows := w.b.RowsOf(path, class)
	if len(rows) == 0 {
		w.Fatalf("%s is empty", path)
	}
	return w.pages.MessageURL(rows[0].Message.Key)
}

func (a answer) wants(status int, texts ...string) {
	a.t.Helper()
	if a.status != status {
		a.t.Errorf("status %d, want %d: %s", a.status, status, strings.Join(strings.Fields(a.Find("main").Text()), " "))
	}
	for _, s := range texts {
		if !strings.Contains(a.Find("main").Text(), s) {
			a.t.Errorf("the page lacks %q: %s", s, strings.Join(strings.Fields(a.Find("main").Text()), " "))
		}
	}
}

func (a answer) lacks(texts ...string) {
	a.t.Helper()
	for _, s := range texts {
		if strings.Contains(a.Find("main").Text(), s) {
			a.t.Errorf("the page has %q", s)
		}
	}
}
