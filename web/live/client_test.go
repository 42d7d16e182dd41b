package live

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"mayfly/engine"
)

func TestOrigin(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]bool{
		"":                           true,
		"http://localhost:8080":      true,
		"https://LOCALHOST:8080":     true, // behind a proxy that ends TLS
		"http://localhost":           false,
		"http://localhost:8081":      false,
		"http://evil.example":        false,
		"http://evil.localhost:8080": false,
		"null":                       false,
		"://":                        false,
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost:8080/live", nil)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if got := SameHost(r); got != want {
			t.Errorf("Origin %q: %v, want %v", origin, got, want)
		}
	}
}

func TestAForeignPageIsRefused(t *testing.T) {
	t.Parallel()
	_, server := serveHub(t, newWorld(), nil)
	_, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), http.Header{"Origin": {"http://evil.example"}})
	if err == nil || answer == nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("dial from elsewhere: %v, want status 403", err)
	}
}

func TestCaps(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"sockets":             func(o *Options) { o.MaxSockets = 2 },
		"sockets per address": func(o *Options) { o.MaxPerAddress = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, server := serveHub(t, newWorld(), change)
			first := dial(t, server, nil)
			dial(t, server, nil)
			_, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
			if err == nil || answer == nil || answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
				t.Fatalf("the third socket: %v, want status 503 with Retry-After", err)
			}
			h.mu.Lock()
			for c := range h.clients { // one of the two
				c.end(closeGoingAway, "")
				break
			}
			h.mu.Unlock()
			_ = first // either may be the one that ended; there is room for one again
			for {
				conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
				if err == nil {
					_ = conn.Close()
					return
				}
				if t.Context().Err() != nil {
					t.Fatal("there is no room after a socket ended")
				}
			}
		})
	}
}

func TestPagesOfASocketAreCapped(t *testing.T) {
	t.Parallel()
	w := newWorld()
	_, server := serveHub(t, w, func(o *Options) { o.MaxPagesPerSocket = 2 })
	tab := dial(t, server, nil)
	for i := range 3 {
		url := fmt.Sprintf("/%d", i)
		w.set(url, func(*sheet) {})
		tab.send("sub", url, 0)
		if f := tab.next(); f.parts.Full != (i < 2) {
			t.Errorf("page %d: %+v", i+1, f)
		}
	}
	tab.send("unsub", "/0", 0)
	tab.send("sub", "/2", 0)
	if f := tab.next(); !f.parts.Full {
		t.Errorf("after unsub: %+v, want a snapshot", f)
	}
}

func TestBadCommandsEndTheSocket(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		code int
	}{
		"not JSON":  {"hello?", closePolicy},
		"unknown":   {`{"op":"shout"}`, closePolicy},
		"too large": {`{"op":"sub","topic":"/` + strings.Repeat("x", maxCommand) + `"}`, websocket.CloseMessageTooBig},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, server := serveHub(t, newWorld(), nil)
			tab := dial(t, server, nil)
			if err := tab.conn.WriteMessage(websocket.TextMessage, []byte(tc.text)); err != nil {
				t.Fatal(err)
			}
			if code := tab.closed(); code != tc.code {
				t.Errorf("close code %d, want %d", code, tc.code)
			}
		})
	}
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	w := newWorld()
	_, server := serveHub(t, w, func(o *Options) { o.Heartbeat = time.Millisecond })
	tab := dial(t, server, nil)
	f, err := tab.hear()
	if err != nil || f.control.T != "ping" || f.control.Now != "2026-07-14T10:04:12.345Z" {
		t.Errorf("received %+v, %v, want a ping with the broker's clock", f, err)
	}
}

// TestClockTurned: when the clock changes, every browser gets the new clock state at once, and all
// pages are rendered again.
func TestClockTurned(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set("/page", put("1", "one"))
	_, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)
	tab.send("sub", "/page", 0)
	if f := tab.next(); f.parts.Topic != "/page" {
		t.Fatalf("received %+v", f)
	}
	was := w.openings("/page")
	w.turn(ClockState{Manual: true, Rate: 60, Until: time.UnixMilli(1784023512345)})
	f, err := tab.hear()
	if err != nil || f.control.T != "clock" || *f.control.Rate != 60 || f.control.Until != "2026-07-14T10:05:12.345Z" || f.control.Now != "2026-07-14T10:04:12.345Z" {
		t.Errorf("received %+v, %v, want the clock", f, err)
	}
	w.set("/page", put("1", "two"))
	w.turn(ClockState{Manual: true})
	for f, err = tab.hear(); err == nil && f.control.T != "clock"; f, err = tab.hear() {
		continue
	}
	if err != nil || *f.control.Rate != 0 {
		t.Errorf("received %+v, %v, want a stopped clock", f, err)
	}
	for f, err = tab.hear(); err == nil && f.parts.Topic == ""; f, err = tab.hear() {
		continue
	}
	if err != nil || w.openings("/page") == was {
		t.Errorf("received %+v, %v, but the page was not rendered again", f, err)
	}
}

// TestASilentBrowserIsCut: a browser that answers no ping is disconnected.
func TestASilentBrowserIsCut(t *testing.T) {
	t.Parallel()
	_, server := serveHub(t, newWorld(), func(o *Options) { o.Heartbeat, o.StallTimeout = 10*time.Millisecond, 20*time.Millisecond })
	tab := dial(t, server, nil)
	tab.conn.SetPingHandler(func(string) error { return nil })
	if code := tab.closed(); code != closeTryAgain {
		t.Errorf("close code %d, want %d", code, closeTryAgain)
	}
}

// TestAStuckBrowserIsCut: a browser that stops reading is disconnected after StallTimeout. Others
// are not affected.
func TestAStuckBrowserIsCut(t *testing.T) {
	t.Parallel()
	w := newWorld()
	big := strings.Repeat("x", 1<<20)
	w.set(page, put("1", "0"+big))
	h, server := serveHub(t, w, func(o *Options) { o.StallTimeout = 5 * time.Second }) // longer than the other tab, which reads, may take
	stuck := dialNarrow(t, server)
	defer stuck.Close()
	if err := stuck.WriteJSON(command{Op: "sub", Topic: page}); err != nil {
		t.Fatal(err)
	}
	tab := dial(t, server, nil)
	tab.send("sub", page, 0)
	tab.next()
	for i := 0; ; i++ {
		if i > 10000 {
			t.Fatal("the stuck browser was never disconnected")
		}
		h.mu.Lock()
		n := len(h.clients)
		h.mu.Unlock()
		if n == 1 {
			return
		}
		w.set(page, put("1", fmt.Sprint(i)+big), event(engine.EventRenewed, "orders", 1))
		tab.next()
	}
}

// dialNarrow opens a socket with small buffers for unread data.
func dialNarrow(t *testing.T, server *httptest.Server) *websocket.Conn {
	t.Helper()
	dialer := websocket.Dialer{NetDial: func(network, address string) (net.Conn, error) {
		conn, err := net.Dial(network, address)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		}
		return conn, err
	}}
	conn, _, err := dialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestABacklogBecomesASnapshot: unsent changes are replaced by a snapshot, not queued.
func TestABacklogBecomesASnapshot(t *testing.T) {
	t.Parallel()
	h := &Hub{}
	c := &client{wake: make(chan struct{}, 1)}
	s := &pageViewer{client: c, page: &livePage{}, rendering: 2}
	frames, err := (&snapshot{}).since(page, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		rendering uint64
		change    bool
		want      due
	}{
		{1, true, nothingDue}, // older than the page
		{2, false, snapshotDue},
		{3, true, snapshotDue}, // the snapshot is taken when the socket is ready for it
	} {
		if step.change {
			h.offerRendering(s, step.rendering, frames)
		} else {
			h.offerRendering(s, step.rendering, nil)
		}
		if s.due != step.want {
			t.Errorf("step %d: %d is due, want %d", i, s.due, step.want)
		}
	}
	s.due = nothingDue // taken
	for i, want := range []due{changesDue, snapshotDue, snapshotDue} {
		h.offerRendering(s, uint64(4+i), frames)
		if s.due != want {
			t.Errorf("change %d: %d is due, want %d", i, s.due, want)
		}
	}
	if len(c.queue) != 1 {
		t.Errorf("the viewer is in the queue %d times", len(c.queue))
	}
}

func TestPagesAreCapped(t *testing.T) {
	t.Parallel()
	w := newWorld()
	_, server := serveHub(t, w, func(o *Options) { o.MaxPages = 1 })
	w.set("/1", func(*sheet) {})
	w.set("/2", func(*sheet) {})
	one, other := dial(t, server, nil), dial(t, server, nil)
	one.send("sub", "/1", 0)
	if f := one.next(); !f.parts.Full {
		t.Fatalf("the first page: %+v", f)
	}
	other.send("sub", "/2", 0)
	if f := other.next(); f.control.T != "error" || f.control.Topic != "/2" {
		t.Errorf("one page too many: %+v", f)
	}
	other.send("sub", "/1", 0)
	if f := other.next(); !f.parts.Full {
		t.Errorf("an existing page: %+v", f)
	}
}

// TestPagesHaveOneAddress: all spellings of an address are one page; invalid addresses are
// refused.
func TestPagesHaveOneAddress(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h, server := serveHub(t, w, func(o *Options) {
		o.PageURL = func(url string) (string, error) {
			if strings.HasSuffix(url, "/edit") {
				return "", errors.New("a form")
			}
			return strings.ToLower(url), nil
		}
	})
	w.set("/a", func(*sheet) {})
	tab := dial(t, server, nil)
	for _, url := range []string{"/a", "/A"} {
		tab.send("sub", url, 0)
		if f := tab.next(); !f.parts.Full || f.parts.Topic != "/a" {
			t.Errorf("%s: %+v", url, f)
		}
	}
	tab.send("sub", "/a/edit", 0)
	if f := tab.next(); f.control.T != "error" || f.control.Topic != "/a/edit" {
		t.Errorf("the page of a form: %+v", f)
	}
	tab.send("unsub", "/A", 0)
	tab.acted()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pages) != 0 {
		t.Errorf("%d pages are left", len(h.pages))
	}
}
