package live

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/gorilla/websocket"

	"mayfly/engine/longtest"
)

// browser starts a Chromium that ends with the test. If there is none the test is skipped,
// unless MAYFLY_BROWSER=require.
func browser(t *testing.T) context.Context {
	t.Helper()
	longtest.Require(t, "live.js in a browser")
	path := ""
	for _, name := range []string{"chromium-headless-shell", "headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("MAYFLY_BROWSER") == "require" {
			t.Fatal("MAYFLY_BROWSER=require, but there is no Chromium in PATH")
		}
		t.Skip("browser test skipped: no Chromium in PATH")
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1000, 700),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("allow-pre-commit-input", true), // otherwise clicks and keys before the first frame of a page are lost
	)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// A stage serves one page with live.js, and sends the server's frames as the test says.
type stage struct {
	t      *testing.T
	tab    context.Context
	server *httptest.Server
	did    chan command // commands of the browser

	mu     sync.Mutex
	page   string // the body of the page
	closed bool   // answer 503 to sockets
	broken bool   // answer 500 to the page
	conn   *websocket.Conn
	errors []string // from the console
}

// t0 is the time of the stage's stopped clock.
var t0 = time.Date(2026, 7, 14, 10, 4, 12, 0, time.UTC)

// in returns the time d after t0 in the format of markup.
func in(d time.Duration) string { return formatTime(t0.Add(d)) }

const around = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>stage</title>
<link rel="icon" href="data:,"><script src="/live.js" defer></script></head>
<body data-live="/page" data-n="5" data-epoch="1" data-now="%s" data-build="b1" data-base="" data-low="60" data-crit="10"
 data-words='{"live":"Live","paused":"Paused","pausedNew":"Paused ({n} new)","reconnecting":"Reconnecting {n}s","polling":"Polling {n}s",
 "stale":"Stale since {n}","lost":"The connection was lost","expiring":"expiring…","expired":"EXPIRED","ago":"{n} ago",
 "newRows":"{n} new while you are here","came":"{n} new","went":"{n} gone","copied":"Copied","reload":"Mayfly was updated: reload the page",
 "leaves":"{name} deletes itself in {n}","span.s":"{n}s","span.m":"{n}m","span.h":"{n}h","span.d":"{n}d"}'>
<fieldset><input type="radio" name="time" value="rel" checked><input type="radio" name="time" value="local"><input type="radio" name="time" value="utc"></fieldset>
<button type="button" data-act="theme">theme</button>
<button type="button" data-pill hidden><i data-when="live">●</i><b>Connecting…</b></button>
<a href="#" data-reload hidden>reload</a><input id="typing">
%s</body></html>`

// play opens a tab on a page with this body.
func play(t *testing.T, browser context.Context, body string) *stage {
	t.Helper()
	s := &stage{t: t, page: body, did: make(chan command, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("/page", s.servePage)
	mux.HandleFunc("/live", s.serveSocket)
	mux.HandleFunc("/live.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "../../static/live.js") })
	mux.HandleFunc("/metrics.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "../../static/metrics.js") })
	mux.HandleFunc("/n/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<title>"+r.URL.Path+"</title>") })
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.Close)
	tab, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	if err := chromedp.Listen(tab, s.listen); err != nil { // outside the timeout, which would close the tab
		t.Fatalf("open a tab: %v", err)
	}
	var stop context.CancelFunc
	s.tab, stop = context.WithTimeout(tab, time.Minute)
	t.Cleanup(stop)
	s.run(chromedp.Navigate(s.server.URL + "/page"))
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, e := range s.errors {
			t.Errorf("console: %s", e)
		}
	})
	return s
}

func (s *stage) servePage(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if strings.HasPrefix(s.page, "<!DOCTYPE") {
		fmt.Fprint(w, s.page)
		return
	}
	fmt.Fprintf(w, around, in(0), s.page)
}

func (s *stage) serveSocket(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		http.Error(w, "too many", http.StatusServiceUnavailable)
		return
	}
	conn, err := (&websocket.Upgrader{CheckOrigin: SameHost}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	s.mu.Lock()
	s.conn = conn
	err = conn.WriteJSON(control{T: "hello", Proto: 1, Build: "b1", Epoch: 1, N: 5, Now: in(0), Rate: new(1)})
	s.mu.Unlock()
	for err == nil {
		var c command
		if err = conn.ReadJSON(&c); err == nil {
			s.did <- c
		}
	}
}

// listen collects errors from the console. Some tests expect refused connections, which it
// ignores.
func (s *stage) listen(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			text = fmt.Sprint(e.Args)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			text = e.Entry.Text
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != "" && !(s.closed && strings.Contains(text, "WebSocket connection to")) {
		s.errors = append(s.errors, text)
	}
}

// send sends a frame.
func (s *stage) send(frame any) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.WriteJSON(frame); err != nil {
		s.t.Fatalf("send a frame: %v", err)
	}
}

// asked waits for a command of the browser and checks it.
func (s *stage) asked(op string, n uint64) {
	s.t.Helper()
	late := time.NewTimer(20 * time.Second) // less than the silence after which the browser reconnects
	defer late.Stop()
	select {
	case c := <-s.did:
		if c.Op != op || c.N != n || op == "sub" && c.Topic != "/page" {
			s.t.Fatalf("the browser sent %+v, want %s with n=%d", c, op, n)
		}
	case <-late.C:
		s.t.Fatalf("the browser never sent %s", op)
	}
}

func (s *stage) run(actions ...chromedp.Action[chromedp.Void]) {
	s.t.Helper()
	if err := chromedp.Do(s.tab, actions...); err != nil {
		s.t.Fatal(err)
	}
}

// js evaluates an expression; a statement needs a block. Undefined is returned as nil, too.
func (s *stage) js(expression string) any {
	s.t.Helper()
	value, err := chromedp.Run(s.tab, chromedp.Evaluate[any](expression))
	if err != nil {
		s.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// want waits until the expression is true in the page.
func (s *stage) want(expression string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.tab, 15*time.Second)
	defer cancel()
	look := `new Promise((done) => { const look = () => (` + expression + `) ? done(true) : setTimeout(look, 10); look(); })`
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](look, chromedp.EvalAwaitPromise)); err != nil {
		s.t.Fatalf("not in time: %s (%v)\n%s\n%s", expression, err, s.js(`document.body.innerHTML.slice(0, 4000)`), s.js(`JSON.stringify(mayfly)`))
	}
}

// equal compares a value now.
func (s *stage) equal(expression string, want any) {
	s.t.Helper()
	got, err := json.Marshal(s.js(expression))
	if err != nil {
		s.t.Fatal(err)
	}
	wanted, err := json.Marshal(want)
	if err != nil {
		s.t.Fatal(err)
	}
	if string(got) != string(wanted) {
		s.t.Errorf("%s is %s, want %s", expression, got, wanted)
	}
}

// point moves the pointer over the element, or away from everything.
func (s *stage) point(selector string) {
	s.t.Helper()
	x, y := 990.0, 690.0
	if selector != "" {
		at := s.js(`(() => { const r = document.querySelector("` + selector + `").getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`).([]any)
		x, y = at[0].(float64), at[1].(float64)
	}
	s.run(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
}

// full returns a snapshot of the list "rows" without slots.
func full(n uint64, order []string, put map[string]string) parts {
	return parts{T: "parts", Topic: "/page", N: n, Full: true, Lists: map[string]listPart{"rows": {Order: order, Put: put}}}
}

// delta returns a change of the list "rows".
func delta(n uint64, order []string, put, gone map[string]string) parts {
	return parts{T: "parts", Topic: "/page", N: n, Lists: map[string]listPart{"rows": {Order: order, Put: put, Gone: gone}}}
}
