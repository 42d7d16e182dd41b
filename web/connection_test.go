package web_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"mayfly/web"
	"mayfly/web/auth"
	"mayfly/web/connlimit"
	"mayfly/web/proxy"
)

// known authenticates requests that carry a name.
type known struct{}

func (known) Identify(r *http.Request) (auth.Caller, error) {
	if name := r.Header.Get("Name"); name != "" {
		return auth.Caller{Name: name, Role: auth.Admin, Method: auth.Token}, nil
	}
	return auth.Caller{}, auth.ErrNoCredential
}

// fixed returns a connection on which a client has sent a text.
type fixed struct {
	net.Conn
	r *bufio.Reader
}

func say(t *testing.T, at, text string) *fixed {
	t.Helper()
	nc, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() }) // it may be closed already
	c := &fixed{nc, bufio.NewReader(nc)}
	c.say(t, text)
	return c
}

func (c *fixed) say(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// hears reads the next response and returns its status, or zero if the connection has ended.
func (c *fixed) hears(t *testing.T) int {
	t.Helper()
	r, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, r.Body) //nolint:errcheck // only its status is checked
	return r.StatusCode
}

// TestWhichConnectionGoes checks which connection of an HTTP port is closed for a new one when the
// budget is used up.
func TestWhichConnectionGoes(t *testing.T) {
	const (
		livez    = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
		headers  = "GET /livez HTTP/1.1\r\nHost: loc"
		longPoll = "DELETE /q/messages/head?timeout=60 HTTP/1.1\r\nHost: localhost\r\n\r\n"
		halfBody = "POST /q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf"
	)
	type use struct {
		admin bool // the port
		says  string
		until connlimit.Stage // the stage that it reaches
	}
	for name, tc := range map[string]struct {
		sources    auth.Sources
		goes, stay use
	}{
		"unfinished headers before a keep-alive":    {nil, use{false, headers, connlimit.Handshake}, use{false, livez, connlimit.Unused}},
		"a keep-alive before a request":             {nil, use{false, livez, connlimit.Unused}, use{true, longPoll, connlimit.Used}},
		"unfinished headers of the next request":    {nil, use{false, livez + headers, connlimit.Unused}, use{true, longPoll, connlimit.Used}},
		"half a body before a request":              {nil, use{true, halfBody, connlimit.Unused}, use{true, longPoll, connlimit.Used}},
		"somebody unknown before a keep-alive":      {auth.Sources{known{}}, use{false, livez, connlimit.Unauthenticated}, use{true, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", connlimit.Unused}},
		"somebody unknown before one that is known": {auth.Sources{known{}}, use{false, livez, connlimit.Unauthenticated}, use{false, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nName: ana\r\n\r\n", connlimit.Unused}},
	} {
		t.Run(name, func(t *testing.T) {
			quiet := slog.New(slog.DiscardHandler)
			b := connlimit.New(connlimit.Options{Max: 2, Logger: quiet})
			s := web.New(web.Options{Logger: quiet, Auth: tc.sources})
			s.Open(web.Services{Broker: open(t).Broker})
			dashboard, admin := counted(t, b), counted(t, b)
			served := make(chan error, 1)
			go func() { served <- s.Serve(dashboard, admin) }()
			defer func() {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				_ = s.Shutdown(ctx) // it cuts off running requests
				if err := <-served; err != nil {
					t.Error(err)
				}
			}()
			begin := func(u use) *fixed {
				before := b.Counts().Open[u.until]
				at := dashboard.Addr().String()
				if u.admin {
					at = admin.Addr().String()
				}
				c := say(t, at, u.says)
				for range strings.Count(u.says, "/livez HTTP/1.1\r\nHost: localhost\r\n\r\n") + strings.Count(u.says, "/readyz") + strings.Count(u.says, "/health") {
					if status := c.hears(t); status != http.StatusOK {
						t.Fatalf("%q got %d", u.says, status)
					}
				}
				for b.Counts().Open[u.until] == before { // until the server has noticed it
					if t.Context().Err() != nil {
						t.Fatal("the connection never reached its stage")
					}
				}
				return c
			}
			stays := begin(tc.stay) // the older one
			goes := begin(tc.goes)
			third := say(t, dashboard.Addr().String(), "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			if status := third.hears(t); status != http.StatusOK {
				t.Fatalf("the new connection got %d", status)
			}
			if status := goes.hears(t); status != 0 {
				t.Errorf("the connection to be closed got %d", status)
			}
			if closed := b.Counts().Closed; closed[connlimit.OverShare] > 0 || closed[connlimit.Refused] > 0 {
				t.Errorf("the closed connections are %v", closed)
			}
			if tc.stay.until == connlimit.Unused {
				stays.say(t, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
				if status := stays.hears(t); status == 0 {
					t.Error("the connection to be kept was closed")
				}
			}
		})
	}
}

// counted returns a listener whose connections are counted.
func counted(t *testing.T, b *connlimit.Budget) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return b.Listen(l, connlimit.HTTP)
}

// TestClientsOfProxies: handlers get the client's address that a trusted proxy gives.
func TestClientsOfProxies(t *testing.T) {
	for name, tc := range map[string]struct {
		trusts []string
		want   string
	}{
		"trusted": {[]string{"127.0.0.1"}, "reset by 203.0.113.1"},
		"not":     {nil, "reset by 127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			trusted, err := proxy.Parse(tc.trusts)
			if err != nil {
				t.Fatal(err)
			}
			actor := ""
			w := serve(t, web.Options{TrustedProxies: trusted}, web.Services{Reset: func(_ context.Context, by string) (web.Reset, error) {
				actor = by
				return web.Reset{}, errors.New("not now")
			}})
			w.ask("POST", w.admin, "/reset", "X-Forwarded-For", "198.51.100.1, 203.0.113.1")
			if actor != tc.want {
				t.Errorf("the actor is %q", actor)
			}
		})
	}
}
