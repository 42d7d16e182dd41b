package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web"
	"mayfly/web/auth/origin"
	"mayfly/web/proxy"
)

// TestPortsShareOneBodyBudget: the bodies of all APIs and pages share one room: while one request
// has all of it, large ones are asked to retry, at every port, and small ones are answered.
func TestPortsShareOneBodyBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := web.New(web.Options{Logger: slog.New(slog.DiscardHandler)})
		all, over := make(chan struct{}), make(chan struct{})
		s.Open(web.Services{Broker: open(t).Broker, Pages: func(g *echo.Group) {
			g.POST("/all", func(c echo.Context) error {
				ctx := c.Request().Context()
				err := origin.ShareOf(ctx).Grow(ctx, 1<<40)
				close(all)
				<-over
				return errors.Join(err, c.NoContent(http.StatusNoContent))
			})
			g.POST("/form", func(c echo.Context) error {
				ctx := c.Request().Context()
				_, err := io.Copy(io.Discard, origin.ShareOf(ctx).CountReads(ctx, c.Request().Body, 4))
				if errors.Is(err, engine.ErrBusy) {
					return c.NoContent(http.StatusServiceUnavailable)
				}
				return errors.Join(err, c.NoContent(http.StatusNoContent))
			})
		}, PageError: func(err error, c echo.Context) { _ = c.String(http.StatusInternalServerError, fmt.Sprint(err)) }}) //nolint:errcheck // the test checks the outcome
		ask := func(h http.Handler, path, kind, body string) int {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+path, strings.NewReader(body))
			r.Header.Set(echo.HeaderContentType, kind)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		const batch = "application/vnd.microsoft.servicebus.json"
		first := make(chan int, 1)
		go func() { first <- ask(s.Dashboard(), "/all", "text/plain", "") }()
		<-all
		text := strings.Repeat("x", 100_000)
		for _, full := range []bool{true, false} {
			for name, tc := range map[string]struct {
				port       http.Handler
				path, kind string
				body       string
				ok         int
			}{
				"API":         {s.Dashboard(), "/api/v1/send/q", echo.MIMEApplicationJSON, `{"body":"` + text + `"}`, 201},
				"many values": {s.Dashboard(), "/api/v1/send/q", echo.MIMEApplicationJSON, "[" + strings.Repeat("{},", 999) + "{}]", 201},
				"entities":    {s.Dashboard(), "/api/v1/entities", echo.MIMEApplicationJSON, `{"kind":"` + text + `"}`, 400},
				"page":        {s.Dashboard(), "/form", echo.MIMEApplicationForm, "a=" + text, 204},
				"REST":        {s.Admin(), "/q/messages", batch, `[{"Body":"` + text + `"}]`, 201},
				"small":       {s.Admin(), "/q/messages", batch, `[{"Body":"x"}]`, 201},
			} {
				want := tc.ok
				if full && name != "small" {
					want = http.StatusServiceUnavailable
				}
				if got := ask(tc.port, tc.path, tc.kind, tc.body); got != want {
					t.Errorf("%s: %d, with a full budget: %v", name, got, full)
				}
			}
			if full {
				close(over)
				if got := <-first; got != http.StatusNoContent {
					t.Error(got)
				}
			}
		}
	})
}

// TestSlowImportsDoNotKeepOthersOut: imports that trickle take room only for the bytes that have
// arrived, so that large bodies of others are read, however many imports there are.
func TestSlowImportsDoNotKeepOthersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := web.New(web.Options{Logger: slog.New(slog.DiscardHandler)})
		s.Open(web.Services{Broker: open(t).Broker})
		post := func(path, kind string, body io.Reader) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, body)
			r.Header.Set(echo.HeaderContentType, kind)
			w := httptest.NewRecorder()
			s.Dashboard().ServeHTTP(w, r)
			return w
		}
		const slow = 50
		var imports [slow]*io.PipeWriter
		answers := make(chan *httptest.ResponseRecorder, slow)
		for i := range imports {
			in, out := io.Pipe()
			imports[i] = out
			go func() {
				answers <- post("/api/v1/import/q", "application/x-ndjson", in)
				_ = in.Close() // never fails
			}()
			if _, err := io.WriteString(out, `{"body":"`); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		began := time.Now()
		large := post("/api/v1/send/q", echo.MIMEApplicationJSON, strings.NewReader(`{"body":"`+strings.Repeat("x", 200_000)+`"}`))
		if large.Code != http.StatusCreated || time.Since(began) != 0 {
			t.Errorf("a large message: %d %s after %v", large.Code, large.Body, time.Since(began))
		}
		for _, out := range imports {
			if _, err := io.WriteString(out, `x"}`); err != nil {
				t.Fatal(err)
			}
			_ = out.Close() // never fails
		}
		for range imports {
			if got := <-answers; got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"imported":1`) {
				t.Errorf("an import: %d %s", got.Code, got.Body)
			}
		}
	})
}

// TestBodyBudgetIsSharedByAddress: the room is counted by the client's address, as trusted proxies
// name it, and not by what a client claims.
func TestBodyBudgetIsSharedByAddress(t *testing.T) {
	type requests struct {
		n               int // each takes a sixteenth of the room
		from, forwarded string
		refused         int
	}
	for name, all := range map[string][]requests{
		"clients of proxies": {
			{9, "10.0.0.1", "203.0.113.1", 1}, // half of the room
			{1, "10.0.0.2", "203.0.113.1", 1}, // the same client
			{5, "10.0.0.1", "203.0.113.2", 1},
		},
		"a client that invents addresses": {
			{8, "192.0.2.8", "", 0},
			{4, "192.0.2.9", "203.0.113.3", 0},
			{1, "192.0.2.9", "203.0.113.4", 1},
		},
		"a proxy that names nobody": {{16, "10.0.0.1", "", 0}},
		"a network of IPv6":         {{5, "[2001:db8::1]", "", 0}, {4, "[2001:db8::2]", "", 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				proxies, err := proxy.Parse([]string{"10.0.0.0/8"})
				if err != nil {
					t.Fatal(err)
				}
				s := web.New(web.Options{Logger: slog.New(slog.DiscardHandler), TrustedProxies: proxies})
				over := make(chan struct{})
				defer close(over)
				s.Open(web.Services{Broker: open(t).Broker, Pages: func(g *echo.Group) {
					g.POST("/hold", func(c echo.Context) error {
						ctx := c.Request().Context()
						if err := origin.ShareOf(ctx).Grow(ctx, 4<<20); err != nil {
							return c.NoContent(http.StatusServiceUnavailable)
						}
						<-over
						return c.NoContent(http.StatusNoContent)
					})
				}, PageError: func(error, echo.Context) {}})
				for _, tc := range all {
					refused := make(chan int, tc.n)
					for range tc.n {
						go func() {
							r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/hold", http.NoBody)
							r.RemoteAddr = tc.from + ":4711"
							if tc.forwarded != "" {
								r.Header.Set("X-Forwarded-For", tc.forwarded)
							}
							w := httptest.NewRecorder()
							s.Dashboard().ServeHTTP(w, r)
							if w.Code != http.StatusNoContent {
								refused <- w.Code
							}
						}()
					}
					time.Sleep(time.Minute) // longer than any timeout
					if len(refused) != tc.refused {
						t.Errorf("%+v: %d requests are refused", tc, len(refused))
					}
				}
			})
		})
	}
}
