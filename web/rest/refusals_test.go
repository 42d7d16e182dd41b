package rest

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/web/auth/sas"
	"mayfly/web/loglimit"
)

// Each refused request for management or messages is logged once at INFO with the reason.
// The same refusal of one client is not logged again within 30 seconds.
func TestRefusalsAreLogged(t *testing.T) {
	const description = `<QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">`
	type request struct{ method, path, body string }
	for name, tc := range map[string]struct {
		sas  sas.Policy
		ask  request
		want string
	}{
		"ERR-7 a name": {sas.Accept, request{"PUT", "/a%20b", description + "</QueueDescription>"},
			`msg="a request was refused" api=administration client=192.0.2.1 agent="an SDK" method=PUT path="/a b" status=400 description="The name of a queue or topic must not contain`},
		"a property": {sas.Accept, request{"PUT", "/a", description + "<LockDuration>PT1H</LockDuration></QueueDescription>"},
			`msg="a request was refused" api=administration client=192.0.2.1 agent="an SDK" method=PUT path=/a status=400 description="The supplied lock time exceeds`},
		"that exists":          {sas.Accept, request{"PUT", "/q", description + "</QueueDescription>"}, `method=PUT path=/q status=409`},
		"to be deleted":        {sas.Accept, request{"DELETE", "/none", ""}, `method=DELETE path=/none status=404`},
		"a method":             {sas.Accept, request{"PATCH", "/q", ""}, `method=PATCH path=/q status=405`},
		"a right":              {sas.Enforce, request{"PUT", "/new", ""}, `msg="a request was refused" api=administration client=192.0.2.1 agent="an SDK" method=PUT path=/new status=401 description="MissingToken: `},
		"a send to nowhere":    {sas.Accept, request{"POST", "/none/messages", ""}, `msg="a request was refused" api=REST client=192.0.2.1 agent="an SDK" method=POST path=/none/messages status=410`},
		"a right to send":      {sas.Enforce, request{"POST", "/q/messages?sig=secret", ""}, `msg="a request was refused" api=REST client=192.0.2.1 agent="an SDK" method=POST path=/q/messages status=401`},
		"a long path":          {sas.Accept, request{"DELETE", "/" + strings.Repeat("p", 5000), ""}, `more)`},
		"a line of its own":    {sas.Accept, request{"DELETE", "/%0Alevel=ERROR", ""}, `path="/\nlevel=ERROR"`},
		"what may not exist":   {sas.Accept, request{"GET", "/none", ""}, ""},
		"what is well":         {sas.Accept, request{"GET", "/q", ""}, ""},
		"that no message came": {sas.Accept, request{"DELETE", "/q/messages/head?timeout=0", ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				limited := loglimit.New(slog.NewTextHandler(&out, nil))
				defer limited.Close()
				b := brokertest.Open(t, broker.Options{})
				b.CreateQueue("q", engine.Config{})
				e := echo.New()
				Mount(e, Options{Broker: b.Broker, Logger: slog.New(limited), SAS: tc.sas})
				ask := func() {
					r := httptest.NewRequestWithContext(t.Context(), tc.ask.method, tc.ask.path, strings.NewReader(tc.ask.body))
					r.Header.Set("User-Agent", "an SDK")
					e.ServeHTTP(httptest.NewRecorder(), r)
				}
				for range 3 {
					ask()
					time.Sleep(2 * time.Second)
				}
				once := out.String()
				want := 0
				if tc.want != "" {
					want = 1
				}
				if strings.Count(once, "\n") != want || !strings.Contains(once, tc.want) || want > 0 && !strings.Contains(once, "level=INFO") || strings.Contains(once, "secret") || len(once) > 1_000 {
					t.Errorf("the log says\n%s\nwant %s", once, tc.want)
				}
				time.Sleep(31 * time.Second)
				ask()
				time.Sleep(2 * time.Second)
				if n := strings.Count(out.String(), "\n"); n != 2*want {
					t.Errorf("after 30 seconds got %d lines, want %d", n, 2*want)
				}
			})
		})
	}
}

// A server without a broker logs its refusals too, but not those to clients that have
// disconnected.
func TestRefusalsWithoutABrokerAreLogged(t *testing.T) {
	var out bytes.Buffer
	e := echo.New()
	Refuse(e, "", func(*http.Request) error { return &engine.Refusal{Kind: engine.ErrBusy, Text: "Not yet."} }, slog.New(slog.NewTextHandler(&out, nil)))
	gone, leave := context.WithCancel(t.Context())
	leave()
	for path, ctx := range map[string]context.Context{"/q": t.Context(), "/other": gone} {
		e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody))
	}
	if text := out.String(); strings.Count(text, `msg="a request was refused" api=REST`) != 1 || !strings.Contains(text, `status=503 description="Not yet."`) {
		t.Errorf("the log says\n%s", text)
	}
}
