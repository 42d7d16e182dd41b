package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/static"
	"mayfly/web"
	"mayfly/web/webtest"
)

// A world is a server with both ports.
type world struct {
	*testing.T
	broker           *brokertest.Broker
	server           *web.Server
	dashboard, admin string            // addresses with port
	ports            map[string]string // addresses with port, of one namespace each
	served           chan error
}

func open(t *testing.T) *brokertest.Broker {
	t.Helper()
	b := brokertest.Open(t, broker.Options{})
	b.CreateQueue("q", engine.Config{})
	return b
}

func serve(t *testing.T, o web.Options, d web.Services, namespaces ...string) *world {
	t.Helper()
	b := open(t)
	d.Broker = b.Broker
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w := &world{T: t, broker: b, server: web.New(o), served: make(chan error, 1)}
	w.server.Open(d)
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	dashboard, admin := listen(), listen()
	w.dashboard, w.admin = dashboard.Addr().String(), admin.Addr().String()
	admins := []net.Listener{admin}
	w.ports = map[string]string{}
	for _, name := range namespaces {
		l := listen()
		w.ports[name] = l.Addr().String()
		admins = append(admins, web.Port{Listener: l, Namespace: name})
	}
	go func() { w.served <- w.server.Serve(dashboard, admins...) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		w.server.Shutdown(ctx)
	})
	return w
}

// ask sends a request to an address.
func (w *world) ask(method, address, path string, headers ...string) (webtest.Answer, string) {
	w.Helper()
	a := (&webtest.Client{T: w.T, URL: "http://" + address}).Ask(method, path, "{}", headers...)
	return a, a.Body
}

// TestEveryPortIsGuarded sends each API and page the requests of a page of another site, and
// of a name that was rebound.
func TestEveryPortIsGuarded(t *testing.T) {
	live := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, "live") })
	w := serve(t, web.Options{Hosts: []string{"bus.example"}}, web.Services{Live: live, Pages: func(g *echo.Group) {
		g.GET("/n/:ns", func(c echo.Context) error { return c.String(200, "page") })
		g.POST("/n/:ns", func(c echo.Context) error { return c.String(200, "done") })
	}})
	const xml, problem, text = "application/xml; charset=utf-8", "application/problem+json", "text/plain; charset=UTF-8"
	for _, target := range []struct {
		name, address, method, path, errors string
		ok                                  int
	}{
		{"page", w.dashboard, "GET", "/n/default", text, 200},
		{"form", w.dashboard, "POST", "/n/default", text, 200},
		{"socket", w.dashboard, "GET", "/live", text, 200},
		{"static", w.dashboard, "GET", static.URL("app.css"), text, 200},
		{"health", w.dashboard, "GET", "/healthz", text, 200},
		{"ready", w.dashboard, "GET", "/readyz", text, 200},
		{"API, looking", w.dashboard, "GET", "/api/v1/entities", problem, 200},
		{"API, sending", w.dashboard, "POST", "/api/v1/send/q", problem, 201},
		{"API, nowhere", w.dashboard, "POST", "/api/v1/nowhere", problem, 404},
		{"REST, sending", w.admin, "POST", "/q/messages", xml, 201},
		{"REST, receiving", w.admin, "DELETE", "/q/messages/head?timeout=0", xml, 200},
		{"emulator's health", w.admin, "GET", "/health", xml, 200},
		{"REST, nowhere", w.admin, "POST", "/nowhere", xml, 404},
	} {
		t.Run(target.name, func(t *testing.T) {
			w := &world{T: t, broker: w.broker}
			port := target.address[strings.LastIndex(target.address, ":")+1:]
			for name, tc := range map[string]struct {
				headers []string
				status  int
				text    string
			}{
				"as curl":               {nil, target.ok, ""},
				"from our page":         {[]string{"Sec-Fetch-Site", "same-origin", "Origin", "http://" + target.address}, target.ok, ""},
				"by an allowed name":    {[]string{"Host", "bus.example"}, target.ok, ""},
				"by localhost":          {[]string{"Host", "localhost:" + port}, target.ok, ""},
				"by a rebound name":     {[]string{"Host", "evil.example:" + port}, 421, "does not answer to the host"},
				"from another site":     {[]string{"Sec-Fetch-Site", "cross-site", "Origin", "http://evil.example"}, 403, "comes from a page of another site"},
				"from another port":     {[]string{"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:1"}, 403, "comes from a page of another site"},
				"by an older browser":   {[]string{"Origin", "http://evil.example"}, 403, "comes from a page of another site"},
				"from a sandboxed page": {[]string{"Origin", "null"}, 403, "comes from a page of another site"},
			} {
				if tc.status == 403 && target.method == "GET" {
					tc.status, tc.text = target.ok, ""
				}
				got, text := w.ask(target.method, target.address, target.path, tc.headers...)
				if target.name == "REST, receiving" && got.StatusCode == 204 {
					got.StatusCode = 200 // it is gone by now
				}
				if got.StatusCode != tc.status || !strings.Contains(text, tc.text) {
					t.Errorf("%s: got %d %q, want %d %q", name, got.StatusCode, text, tc.status, tc.text)
				}
				if tc.status >= 400 && got.Header.Get("Content-Type") != target.errors {
					t.Errorf("%s: the error is %s, want %s", name, got.Header.Get("Content-Type"), target.errors)
				}
				if csp := got.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; ") || !strings.Contains(csp, "frame-ancestors 'none'") ||
					got.Header.Get("X-Content-Type-Options") != "nosniff" || got.Header.Get("X-Request-Id") == "" {
					t.Errorf("%s: headers are missing: %v", name, got.Header)
				}
			}
		})
	}
}

// TestForeignHostsLearnNothing: an error's page names the namespace and the reason why the
// store cannot write, so foreign hosts must not get it.
func TestForeignHostsLearnNothing(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{PageError: func(_ error, c echo.Context) { fmt.Fprint(c.Response().Writer, "a page of the namespace") }})
	if _, text := w.ask("GET", w.dashboard, "/nowhere"); text != "a page of the namespace" {
		t.Errorf("this server's own host got %q", text)
	}
	if got, text := w.ask("GET", w.dashboard, "/nowhere", "Host", "evil.example"); got.StatusCode != 421 || strings.Contains(text, "namespace") {
		t.Errorf("foreign hosts got %d %q", got.StatusCode, text)
	}
}

func TestPolicyNamesTheSocket(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{})
	got, _ := w.ask("GET", w.dashboard, "/")
	want := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' ws://" + w.dashboard + " wss://" + w.dashboard +
		"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	if csp := got.Header.Get("Content-Security-Policy"); csp != want {
		t.Errorf("got  %s\nwant %s", csp, want)
	}
	got, _ = w.ask("GET", w.dashboard, "/", "Host", "x; script-src *")
	if csp := got.Header.Get("Content-Security-Policy"); strings.Contains(csp, "script-src *") {
		t.Errorf("a host name can change the policy: %s", csp)
	}
}

func TestErrorsHaveTheRequestsID(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{})
	shape := regexp.MustCompile(` TrackingId:([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}), SystemTracker:default, Timestamp:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d</Detail></Error>$`)
	for name, tc := range map[string]struct {
		status       int
		method, path string
		headers      []string
	}{
		"ERR-5 no such entity":     {410, "POST", "/nope/messages", nil},
		"ERR-5 no such address":    {404, "POST", "/nope", nil},
		"ERR-5 no such method":     {405, "GET", "/q/messages", nil},
		"ERR-5 a bad request":      {400, "POST", "/q/messages/head?timeout=x", nil},
		"ERR-5 by a rebound name":  {421, "POST", "/q/messages", []string{"Host", "evil.example"}},
		"ERR-5 from another site":  {403, "POST", "/q/messages", []string{"Sec-Fetch-Site", "cross-site"}},
		"ERR-5 a lock that is bad": {400, "PUT", "/q/messages/1/x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{T: t, admin: w.admin}
			got, text := w.ask(tc.method, w.admin, tc.path, tc.headers...)
			if m := shape.FindStringSubmatch(text); got.StatusCode != tc.status || m == nil || m[1] != got.Header.Get("X-Request-Id") {
				t.Errorf("got %d %s, id %s", got.StatusCode, text, got.Header.Get("X-Request-Id"))
			}
		})
	}
}

func TestPanicIsOneRequestsError(t *testing.T) {
	var log strings.Builder
	w := serve(t, web.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, web.Services{Pages: func(g *echo.Group) {
		g.GET("/boom", func(echo.Context) error { panic("secret") })
	}})
	got, text := w.ask("GET", w.dashboard, "/boom")
	if got.StatusCode != 500 || strings.Contains(text, "secret") || !strings.Contains(text, got.Header.Get("X-Request-Id")) {
		t.Errorf("got %d %s", got.StatusCode, text)
	}
	if !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), got.Header.Get("X-Request-Id")) {
		t.Errorf("the log has %s", log.String())
	}
}

// TestBrokenAnswerDoesNotLookWhole: an error after an answer has begun cuts it off, whether
// part of it was sent already or not.
func TestBrokenAnswerDoesNotLookWhole(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{Pages: func(g *echo.Group) {
		for at, flush := range map[string]bool{"/begun": false, "/sent": true} {
			g.GET(at, func(c echo.Context) error {
				if err := c.String(http.StatusOK, "half of "); err != nil {
					return err
				}
				if flush {
					c.Response().Flush()
				}
				return engine.ErrClosed
			})
		}
	}})
	for _, at := range []string{"/begun", "/sent"} {
		got, err := http.Get("http://" + w.dashboard + at)
		if err == nil {
			_, err = io.ReadAll(got.Body)
			got.Body.Close()
		}
		if err == nil {
			t.Errorf("%s: an interrupted response was complete", at)
		}
	}
}

// TestShutdownEndsWaitingRequests stops the server during a long poll and a send: the poll is
// answered, the send is finished.
func TestShutdownEndsWaitingRequests(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{})
	polled := make(chan string, 1)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.admin+"/q/messages/head?timeout=60", http.NoBody)
		if err != nil {
			panic(err)
		}
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			polled <- err.Error()
			return
		}
		got.Body.Close()
		polled <- got.Status
	}()
	for waiting := 0; waiting == 0; {
		waiting = w.broker.State("q").Receivers
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if got := <-polled; got != "503 Service Unavailable" {
		t.Errorf("the poll ended with %s", got)
	}
	if err := <-w.served; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", w.admin); err == nil {
		t.Error("the server still accepts requests")
	}
}

// TestShutdownCutsRequestsThatDoNotEnd stops the server while a client sends an endless body.
func TestShutdownCutsRequestsThatDoNotEnd(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{})
	conn, err := net.Dial("tcp", w.admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatal(line, err) // it reads
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := w.server.Shutdown(ctx); err == nil {
		t.Error("Shutdown returned no error though it cut off a request")
	}
	if err := <-w.served; err != nil {
		t.Error(err)
	}
}

func TestReadiness(t *testing.T) {
	w := serve(t, web.Options{}, web.Services{})
	if got, text := w.ask("GET", w.dashboard, "/readyz"); got.StatusCode != 200 || text != "ready\n" {
		t.Errorf("got %d %s", got.StatusCode, text)
	}
	if got, text := w.ask("HEAD", w.dashboard, "/readyz"); got.StatusCode != 200 || text != "" || got.ContentLength != 6 {
		t.Errorf("HEAD is %d %q, %d bytes", got.StatusCode, text, got.ContentLength)
	}
	w.broker.Close()
	if got, text := w.ask("GET", w.dashboard, "/readyz"); got.StatusCode != 503 || !strings.Contains(text, "stopped") {
		t.Errorf("got %d %s", got.StatusCode, text)
	}
	if got, _ := w.ask("GET", w.dashboard, "/healthz"); got.StatusCode != 200 {
		t.Errorf("the server is not alive: %d", got.StatusCode)
	}
}
