package rest

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/web/auth/sas"
	"mayfly/web/webtest"
)

// guarded returns a world that requires tokens. Its rules are named after their rights
// and have the keys "1" and "2".
func guarded(t *testing.T) *world {
	t.Helper()
	b := brokertest.Open(t, broker.Options{})
	e := echo.New()
	Mount(e, Options{Broker: b.Broker, Logger: slog.New(slog.DiscardHandler), SAS: sas.Enforce})
	w := &world{webtest.Serve(t, e), b}
	for name, right := range map[string]engine.Rights{"manage": engine.ManageRight, "send": engine.SendRight, "listen": engine.ListenRight} {
		if _, err := b.SetAccessRule(t.Context(), "", engine.AccessRule{Name: name, Rights: right, PrimaryKey: "1", SecondaryKey: "2"}, ""); err != nil {
			t.Fatal(err)
		}
	}
	own := engine.Config{AuthorizationRules: []engine.AccessRule{{Name: "own", Rights: engine.ManageRight, PrimaryKey: "3"}}}
	for p, kind := range map[engine.Path]engine.EntityKind{"q": engine.Queue, "other": engine.Queue, "t": engine.Topic} {
		c := own
		if p == "other" {
			c = engine.Config{}
		}
		b.CreateEntity(kind, p, c)
	}
	b.CreateEntity(engine.Subscription, "t/Subscriptions/s", engine.Config{})
	return w
}

// Each right allows its own operations, and no others.
func TestRights(t *testing.T) {
	w := guarded(t)
	const (
		read   = "<Detail>Manage,EntityRead claims required for this operation" // sdk-demands 45
		write  = "<Detail>Authorization failed for specified action: Manage,EntityWrite."
		remove = "<Detail>Authorization failed for specified action: Manage,EntityDelete."
		about  = "<Detail>401 SubCode=40100: Unauthorized : Unauthorized access for '%s' operation on endpoint" // sdk-demands 46
	)
	later := time.Now().Add(time.Hour)
	for _, tc := range []struct{ request, may, refusal string }{
		{"POST /q/messages", "send manage own", "Unauthorized access. 'Send' claim(s) are required"},
		{"POST /q/messages/head?timeout=0", "listen manage own", "Unauthorized access. 'Listen' claim(s) are required"},
		{"DELETE /q/messages/head?timeout=0", "listen manage own", "Unauthorized access. 'Listen' claim(s) are required"},
		{"PUT /q/messages/1/00000000-0000-0000-0000-000000000000", "listen manage own", "Unauthorized access. 'Listen' claim(s) are required"},
		{"POST /t/subscriptions/s/messages/head?timeout=0", "listen manage own", "Unauthorized access. 'Listen' claim(s) are required"},
		{"POST /q/$DeadLetterQueue/messages/head?timeout=0", "listen manage own", "Unauthorized access. 'Listen' claim(s) are required"},
		{"POST /other/messages", "send manage", "Unauthorized access. 'Send' claim(s) are required"},
		{"GET /q?api-version=2021-05", "manage own", read},
		{"GET /t?api-version=2021-05", "manage own", read},
		{"GET /$Resources/Queues?api-version=2021-05", "manage", read},
		{"GET /$namespaceinfo?api-version=2021-05", "manage", read},
		{"PUT /q?api-version=2021-05", "manage own", write},
		{"DELETE /nothing?api-version=2021-05", "manage", remove},
		{"GET /t/Subscriptions/s?api-version=2021-05", "manage own", fmt.Sprintf(about, "GetSubscription")},
		{"GET /t/Subscriptions?api-version=2021-05", "manage own", fmt.Sprintf(about, "EnumerateSubscriptions")},
		{"PUT /t/Subscriptions/n?api-version=2021-05", "manage own", fmt.Sprintf(about, "CreateOrUpdateSubscription")},
		{"DELETE /t/Subscriptions/n?api-version=2021-05", "manage own", fmt.Sprintf(about, "DeleteSubscription")},
		{"GET /t/Subscriptions/s/rules?api-version=2021-05", "manage own", fmt.Sprintf(about, "EnumerateRules")},
	} {
		method, path, _ := strings.Cut(tc.request, " ")
		for rule, keys := range map[string][]string{"manage": {"1", "2"}, "send": {"1", "2"}, "listen": {"1", "2"}, "own": {"3"}} {
			for _, key := range keys {
				got := w.Ask(method, path, "", "Authorization", sas.Sign("http://localhost", rule, key, later))
				if may := strings.Contains(tc.may, rule); may != (got.StatusCode != 401) {
					t.Errorf("%s as %s: %d %s", tc.request, rule, got.StatusCode, got.Body)
				} else if rule != "own" && !may && !strings.Contains(got.Body, tc.refusal) {
					t.Errorf("%s as %s reads %s", tc.request, rule, got.Body)
				}
			}
		}
	}
	// sdk-demands 47
	sends := []string{"Authorization", sas.Sign("http://localhost", "send", "1", later)}
	w.Want(404, "GET", "/nothing?api-version=2021-05", "", sends...)
	w.Want(401, "GET", "/t/Subscriptions/nothing?api-version=2021-05", "", sends...)
	w.Want(200, "GET", "/health", "")
}

// TestTokensThatAreNoGood checks that each kind of invalid token is refused with its own reason,
// for every operation and before any other check.
func TestTokensThatAreNoGood(t *testing.T) {
	w := guarded(t)
	later := time.Now().Add(time.Hour)
	for name, tc := range map[string]struct{ token, refusal string }{
		"none":        {"", "MissingToken: "},
		"another":     {"Bearer x", "MalformedToken: "},
		"expired":     {sas.Sign("http://h", "manage", "1", time.Now().Add(-time.Second)), "ExpiredToken: The token is expired. Expiration time:"},
		"a wrong key": {sas.Sign("http://h", "manage", "3", later), "InvalidSignature: "},
		"for nobody":  {sas.Sign("http://evil.example", "manage", "1", later), "InvalidAudience: The token is for another audience. It is for the host 'evil.example'"},
		"for all":     {sas.Sign("*", "manage", "1", later), "InvalidAudience: "},
		"an entity":   {sas.Sign("q", "manage", "1", later), "InvalidAudience: "},
		"not digits":  {strings.Replace(sas.Sign("http://localhost", "manage", "1", later), "se=", "se=+", 1), "MalformedToken: "},
		"elsewhere":   {sas.Sign("http://h/other", "manage", "1", later), "InvalidAudience: "},
	} {
		for _, request := range []string{"POST /q/messages", "GET /q?api-version=2021-05", "PUT /q?api-version=2021-05", "GET /t/Subscriptions/s", "GET /q/nothing"} {
			method, path, _ := strings.Cut(request, " ")
			if got := w.Ask(method, path, "", "Authorization", tc.token); got.StatusCode != 401 || !strings.Contains(got.Body, "<Detail>"+tc.refusal) {
				t.Errorf("%s, %s: %d %s", name, request, got.StatusCode, got.Body)
			}
		}
	}
	// Clients write the audience as the URL in lower case, with the query.
	w.Want(200, "GET", "/q?api-version=2021-05", "", "Authorization", sas.Sign("http://localhost:5300/q?api-version=2021-05", "manage", "1", later))
	w.Want(200, "GET", "/$Resources/Queues?api-version=2021-05", "", "Authorization", sas.Sign("https://localhost/$resources/queues?api-version=2021-05", "manage", "2", later))
}

// A rule of an entity is valid for that entity. It is not valid for another one whose
// address, or the address of whose messages, is at or below the first one's name.
func TestRuleOfAnEntityAlone(t *testing.T) {
	w := guarded(t)
	own := engine.Config{AuthorizationRules: []engine.AccessRule{{Name: "it", Rights: engine.ManageRight, PrimaryKey: "4"}}}
	for _, p := range []engine.Path{"q/messages", "q/messages/head"} {
		w.broker.CreateQueue(p, own)
	}
	token := sas.Sign("http://localhost", "it", "4", time.Now().Add(time.Hour))
	for request, want := range map[string]int{
		"POST /q/messages":                                   401,
		"DELETE /q/messages/head?timeout=0":                  401,
		"DELETE /q/messages/head/messages/head?timeout=0":    204,
		"DELETE /q/messages/messages/head?timeout=0":         204,
		"GET /q?api-version=2021-05":                         401,
		"GET /q/messages?api-version=2021-05":                200,
		"PUT /q/messages/new?api-version=2021-05":            401,
		"GET /q/messages/new/messages?api-version=2021-05":   401,
		"DELETE /q/messages/messages?api-version=2021-05":    401,
		"GET /q/messages/Subscriptions?api-version=2021-05":  404,
		"PUT /q/messages/new/Subscriptions/s?api-version=20": 401,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := w.Ask(method, path, "", "Authorization", token); got.StatusCode != want {
			t.Errorf("%s: %d %s; want %d", request, got.StatusCode, got.Body, want)
		}
	}
}

// A client that may manage one entity may forward its messages to another only with a
// token that has the right to send there.
func TestForwardingTakesTheRightToSend(t *testing.T) {
	w := guarded(t)
	later := time.Now().Add(time.Hour)
	const forward = "ServiceBusSupplementaryAuthorization"
	const dead = "ServiceBusDlqSupplementaryAuthorization"
	own, sends := sas.Sign("http://localhost/q", "own", "3", later), sas.Sign("sb://localhost/other", "send", "1", later)
	describe := func(inner string) string {
		return `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">` +
			`<AuthorizationRules><AuthorizationRule><Rights><AccessRights>Manage</AccessRights></Rights><KeyName>own</KeyName><PrimaryKey>3</PrimaryKey></AuthorizationRule>` +
			`<AuthorizationRule><Rights><AccessRights>Send</AccessRights></Rights><KeyName>in</KeyName><PrimaryKey>4</PrimaryKey></AuthorizationRule></AuthorizationRules>` +
			inner + `</QueueDescription></content></entry>`
	}
	for _, tc := range []struct {
		inner  string
		tokens []string
		want   int
	}{
		{"<ForwardTo>other</ForwardTo>", nil, 401},
		{"<ForwardTo>sb://localhost/OTHER</ForwardTo>", []string{dead, sends}, 401},
		{"<ForwardTo>other</ForwardTo>", []string{forward, sas.Sign("sb://localhost/other", "listen", "1", later)}, 401},
		{"<ForwardTo>other</ForwardTo>", []string{forward, sas.Sign("sb://localhost/q", "send", "1", later)}, 401},
		{"<ForwardTo>other</ForwardTo>", []string{forward, own}, 401},
		{"<ForwardDeadLetteredMessagesTo>other</ForwardDeadLetteredMessagesTo>", []string{forward, sends}, 401},
		{"", nil, 200},
		{"<ForwardTo>other</ForwardTo>", []string{forward, sends}, 200},
		{"<ForwardTo>other</ForwardTo><LockDuration>PT30S</LockDuration>", nil, 200}, // unchanged
		{"<ForwardTo>other</ForwardTo><ForwardDeadLetteredMessagesTo>other</ForwardDeadLetteredMessagesTo>", []string{dead, sends}, 200},
	} {
		got := w.Ask("PUT", "/q", describe(tc.inner), append([]string{"If-Match", "*", "Authorization", own}, tc.tokens...)...)
		if got.StatusCode != tc.want || tc.want == 401 && !strings.Contains(got.Body, "<Detail>Authorization failed for specified action: Manage,EntityWrite.") {
			t.Errorf("%s with %.40q: %d %s", tc.inner, tc.tokens, got.StatusCode, got.Body)
		}
	}
	all := sas.Sign("http://localhost", "manage", "1", later)
	t.Run("FWD-12", func(t *testing.T) { // the sender needs the right to send at the source only
		for at, want := range map[string]int{"/other/messages": 401, "/q/messages": 201} {
			if got := w.Ask("POST", at, "through", "Authorization", sas.Sign("http://localhost"+at, "in", "4", later)); got.StatusCode != want {
				t.Errorf("POST %s: %d %s, want %d", at, got.StatusCode, got.Body, want)
			}
		}
		if got := w.Ask("DELETE", "/other/messages/head?timeout=5", "", "Authorization", all); got.StatusCode != 200 || got.Body != "through" {
			t.Errorf("receiving at the destination returned %d %s", got.StatusCode, got.Body)
		}
	})
	// A rule of the namespace needs no second token, because clients differ about sending
	// one.
	w.Want(201, "PUT", "/new", describe("<ForwardTo>q</ForwardTo>"), "Authorization", all)
	w.Want(400, "PUT", "/another", describe("<ForwardTo>nowhere</ForwardTo>"), "Authorization", all)
}
