package route_test

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/storage/memory"
	"mayfly/views/view"
	"mayfly/web/connections/connectionstest"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/route"
)

// A world is a broker and its pages in a synctest bubble, where time passes only while all
// goroutines wait.
type world struct {
	*testing.T
	b       *brokertest.Broker
	pages   *pages.Pages
	store   *memory.Store
	clients *connectionstest.Source          // nil means no connections
	wrap    func(*memory.Store) engine.Store // nil means the store as it is
	more    func(*pages.Options)             // nil means no further options
}

func isConfined(t *testing.T, f func(w *world)) {
	t.Helper()
	inside(t, &world{}, f)
}

// inside is within for a prepared world.
func inside(t *testing.T, w *world, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w.T, w.store = t, new(memory.Store)
		w.start()
		defer func() { w.stop() }()
		f(w)
	})
}

func (w *world) start() {
	w.Helper()
	limits := engine.DefaultLimits()
	limits.MinAutoDelete = time.Second
	opened := false
	w.b = brokertest.OpenWith(w, func(context.Context) (engine.Store, error) {
		if opened {
			w.store = w.store.Reopen()
		}
		opened = true
		if w.wrap != nil {
			return w.wrap(w.store), nil
		}
		return w.store, nil
	}, broker.Options{Limits: &limits})
	o := pages.Options{REST: "http://127.0.0.1:5300", Build: "test", HistoryFor: 7 * 24 * time.Hour, Logger: slog.New(slog.DiscardHandler)}
	if w.clients != nil {
		o.Clients = w.clients
	}
	if w.more != nil {
		w.more(&o)
	}
	w.pages = route.Start(w.b.Broker, o)
}

func (w *world) stop() {
	w.Helper()
	w.pages.Close()
	w.b.Close()
}

// restart ends the process and starts the next one on the same store.
func (w *world) restart() {
	w.Helper()
	w.stop()
	w.store = w.store.Reopen()
	w.start()
}

// pass lets time pass, and waits until everything due is done.
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

func (w *world) create(kind engine.EntityKind, path engine.Path, c engine.Config) {
	w.Helper()
	w.b.CreateEntity(kind, path, c)
}

func (w *world) send(path engine.Path, all ...engine.Content) {
	w.Helper()
	w.b.SendContents(path, `{"customer":{"id":4417},"total":129.90}`, all...)
}

func (w *world) receive(path engine.Path) broker.Received {
	w.Helper()
	got := w.b.ReceiveMessages(broker.ReceiveRequest{Path: path, Client: "worker-1"})
	if len(got) != 1 {
		w.Fatalf("received %d messages from %s", len(got), path)
	}
	return got[0]
}

func (w *world) settle(d broker.Received, o engine.Outcome, reason string) {
	w.Helper()
	w.b.SettleMessage(engine.Settlement{Token: d.Token(), Outcome: o, Reason: reason, Client: "worker-1"})
}

func (w *world) now() engine.Instant {
	w.Helper()
	now, err := w.b.Now(w.Context())
	w.must(err)
	return now
}

// open returns a page as its model, after checking its rendering.
func (w *world) open(url string) view.Page {
	w.Helper()
	p, n, err := w.pages.Open(w.Context(), url)
	if err != nil {
		w.Fatalf("%s: %v", url, err)
	}
	if last := w.b.Events().Last(); n > last {
		w.Errorf("%s has event %d of %d", url, n, last)
	}
	return p
}

func render(ctx context.Context, t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (w *world) read(url string) *goquery.Document {
	w.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(render(w.Context(), w.T, w.open(url).Full())))
	w.must(err)
	return doc
}

var odd = regexp.MustCompile(`9999|&lt;no value&gt;|%!|\bNaN\b|<nil>|\b[a-z]+\.[a-z]+\.[a-z.]+<`)

// sound checks what holds for every page: its parts are in the document, keys are unique, and
// no template is left unfilled.
func (w *world) sound(url string) {
	w.Helper()
	still := view.WithFrozenClocks(w.Context())
	p, _, err := w.pages.Open(still, url)
	if err != nil {
		w.Errorf("%s: %v", url, err)
		return
	}
	full := render(still, w.T, p.Full())
	if m := odd.FindString(render(w.Context(), w.T, p.Full())); m != "" {
		w.Errorf("%s has %q", url, m)
	}
	for _, part := range p.Parts() {
		if part.Slot != nil {
			if !strings.Contains(full, render(still, w.T, part.Slot)) || !strings.Contains(full, `data-slot="`+part.Name+`"`) {
				w.Errorf("%s: slot %s is not in the page as it is pushed", url, part.Name)
			}
			continue
		}
		seen := map[string]bool{}
		for _, r := range part.Rows {
			if !strings.Contains(full, render(still, w.T, r.Content)) {
				w.Errorf("%s: row %s of %s is not in the page as it is pushed", url, r.Key, part.Name)
			}
			if seen[r.Key] {
				w.Errorf("%s: row %s occurs twice in %s", url, r.Key, part.Name)
			}
			seen[r.Key] = true
		}
	}
}
