package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/websocket"

	"mayfly/engine"
	"mayfly/views/view"
	"mayfly/web/auth"
)

// A world replaces the broker: it has pages made of rows, and a log.
type world struct {
	mu     sync.Mutex
	epoch  uint64
	opened map[string]int
	pages  map[string]*sheet
	events []engine.Event
	lost   uint64
	more   chan struct{} // closed when events grow
	pace   ClockState
}

// A sheet is a page with one slot, "sum", and one list, "rows".
type sheet struct {
	watches []string
	sum     string
	order   []string
	rows    map[string]string
	every   time.Duration
	wait    chan struct{} // blocks Open until it is closed; nil if Open does not block
	err     error
	panics  bool
}

func newWorld() *world {
	return &world{epoch: 1, opened: map[string]int{}, pages: map[string]*sheet{}, more: make(chan struct{})}
}

func (s *sheet) Full() templ.Component  { return templ.Raw("") }
func (s *sheet) Watches() []string      { return s.watches }
func (s *sheet) Refresh() time.Duration { return s.every }

func (s *sheet) Parts() []view.Part {
	rows := []view.Row{}
	for _, k := range s.order {
		rows = append(rows, view.Row{Key: k, Content: templ.Raw(s.rows[k])})
	}
	return []view.Part{{Name: "sum", Slot: templ.Raw(s.sum)}, {Name: "rows", Rows: rows}}
}

func (w *world) open(ctx context.Context, url string) (view.Page, uint64, error) {
	if !view.ClocksFrozen(ctx) {
		return nil, 0, errors.New("clocks run in the hub")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened[url]++
	p := w.pages[url]
	if p == nil {
		return nil, 0, errors.New("no such page")
	}
	if p.panics {
		panic("a view with a mistake")
	}
	if wait := p.wait; wait != nil {
		w.mu.Unlock()
		<-wait
		w.mu.Lock()
	}
	c := *p
	c.order = slices.Clone(p.order)
	c.rows = map[string]string{}
	maps.Copy(c.rows, p.rows)
	return &c, uint64(len(w.events)), p.err
}

func (w *world) follow(ctx context.Context, after uint64, _ []engine.Event) ([]engine.Event, uint64, error) {
	for {
		w.mu.Lock()
		events, lost, more := slices.Clone(w.events[min(after, uint64(len(w.events))):]), w.lost, w.more
		w.lost = 0
		w.mu.Unlock()
		if len(events) > 0 || lost > 0 {
			return events, lost, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

func (w *world) hello() Greeting {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Greeting{Build: "b1", Epoch: w.epoch, N: uint64(len(w.events)), Now: time.UnixMilli(1784023452345), Clock: w.pace}
}

// turn changes the clock's pace.
func (w *world) turn(p ClockState) {
	w.mu.Lock()
	w.pace = p
	w.mu.Unlock()
	w.set("/page", func(*sheet) {}, engine.Event{Kind: engine.EventClockTurned})
}

// set changes the sheet at url, which it creates if needed, and publishes events in the same
// step.
func (w *world) set(url string, change func(*sheet), events ...engine.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pages[url] == nil {
		w.pages[url] = &sheet{watches: []string{"orders"}, rows: map[string]string{}}
	}
	change(w.pages[url])
	for _, e := range events {
		e.N = uint64(len(w.events) + 1)
		w.events = append(w.events, e)
	}
	close(w.more)
	w.more = make(chan struct{})
}

func (w *world) openings(url string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened[url]
}

// put returns a function that adds or changes a row.
func put(key, html string) func(*sheet) {
	return func(s *sheet) {
		if _, ok := s.rows[key]; !ok {
			s.order = append(s.order, key)
		}
		s.rows[key] = html
	}
}

func drop(key string) func(*sheet) {
	return func(s *sheet) {
		delete(s.rows, key)
		s.order = slices.DeleteFunc(s.order, func(k string) bool { return k == key })
	}
}

func event(kind engine.EventKind, path engine.Path, key engine.Key) engine.Event {
	return engine.Event{Kind: kind, Path: path, Message: engine.Message{Key: key}}
}

// roleHeader is the request header with the caller's role; without it, the caller is an admin.
const roleHeader = "Test-Role"

// withinHeader is the request header with the only namespace that the caller may see; without
// it, all.
const withinHeader = "Test-Within"

// ended, when it is closed, ends the sessions of callers with a roleHeader.
type ended chan struct{}

// known identifies the caller of a request, as package web does.
func known(next http.Handler) http.Handler { return knownUntil(next, nil) }

func knownUntil(next http.Handler, over ended) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller := auth.OpenCaller()
		caller.Namespace = r.Header.Get(withinHeader)
		if role, err := auth.ParseRole(r.Header.Get(roleHeader)); err == nil {
			caller.Role, caller.Done = role, over
		}
		next.ServeHTTP(w, r.WithContext(auth.WithCaller(r.Context(), caller)))
	})
}

// serveHub runs a hub on w; change may adjust its options.
func serveHub(t *testing.T, w *world, change func(*Options)) (*Hub, *httptest.Server) {
	t.Helper()
	opts := Options{Open: w.open, Follow: w.follow, Greeting: w.hello, Interval: 5 * time.Millisecond}
	if change != nil {
		change(&opts)
	}
	h := Open(opts)
	server := httptest.NewServer(known(h.Handler()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Errorf("close the hub: %v", err)
		}
		server.Close()
	})
	return h, server
}

// A tab is a browser from the hub's view.
type tab struct {
	t    *testing.T
	conn *websocket.Conn
}

// A heard is a frame from the hub.
type heard struct {
	parts   parts
	control control
	raw     int // bytes
}

func dial(t *testing.T, server *httptest.Server, header http.Header) *tab {
	t.Helper()
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), header)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // it is often closed already
	tab := &tab{t, conn}
	if f := tab.next(); f.control.T != "hello" {
		t.Fatalf("the first frame is %+v, want hello", f)
	}
	return tab
}

func (b *tab) send(op, topic string, n uint64) {
	b.t.Helper()
	if err := b.conn.WriteJSON(command{Op: op, Topic: topic, N: n}); err != nil {
		b.t.Fatalf("send %s: %v", op, err)
	}
}

// next waits for a frame that is not a heartbeat.
func (b *tab) next() heard {
	b.t.Helper()
	for {
		f, err := b.hear()
		if err != nil {
			b.t.Fatalf("wait for a frame: %v", err)
		}
		if f.control.T != "ping" {
			return f
		}
	}
}

func (b *tab) hear() (f heard, err error) {
	if err := b.conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return f, err
	}
	_, raw, err := b.conn.ReadMessage()
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(raw, &f.parts); err != nil {
		return f, fmt.Errorf("%s: %w", raw, err)
	}
	if err := json.Unmarshal(raw, &f.control); err != nil {
		return f, fmt.Errorf("%s: %w", raw, err)
	}
	f.raw = len(raw)
	return f, nil
}

// closed waits for the end of the socket and returns its code.
func (b *tab) closed() int {
	b.t.Helper()
	for {
		_, err := b.hear()
		if e, ok := errors.AsType[*websocket.CloseError](err); ok {
			return e.Code
		}
		if err != nil {
			b.t.Fatalf("the socket ended with %v, want a close frame", err)
		}
	}
}

// acted waits until the hub has carried out all earlier commands, by sending an invalid one and
// waiting for its error.
func (b *tab) acted() {
	b.t.Helper()
	b.send("sub", "nonsense", 0)
	if f := b.next(); f.control.T != "error" || f.control.Topic != "nonsense" {
		b.t.Fatalf("after the commands, received %+v", f)
	}
}

// model is the page that a browser builds from the frames.
type model struct {
	sum  string
	rows map[string]string
	list []string
}

func (m *model) apply(f parts) {
	if f.Full {
		*m = model{sum: m.sum, rows: m.rows} // rows are merged, not dropped
	}
	if html, ok := f.Slots["sum"]; ok {
		m.sum = html
	}
	l, ok := f.Lists["rows"]
	if !ok {
		return
	}
	was := m.rows
	m.rows, m.list = map[string]string{}, l.Order
	for _, k := range l.Order {
		if html, ok := was[k]; ok {
			m.rows[k] = html
		}
	}
	maps.Copy(m.rows, l.Put)
}
