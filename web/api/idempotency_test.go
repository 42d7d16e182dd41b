package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mayfly/engine/broker"
	"mayfly/web/auth"
)

// TestIdempotencyKey: a request repeated under the same key is not executed again, and gets
// the former answer. Another request under the key is refused, and a failed one may be
// retried.
func TestIdempotencyKey(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"orders"}`, nil)
	count := func() int64 { return w.entity("orders").Counts.Active }
	send := func(key, path, body string, status int) (string, bool) {
		t.Helper()
		got, text := w.ask("POST", path, body, "Idempotency-Key", key)
		if got.StatusCode != status {
			t.Errorf("%s %s under %q: %d %s; want %d", path, body, key, got.StatusCode, text, status)
		}
		return text, got.Header.Get("Idempotency-Replayed") != ""
	}
	first, again := send("k1", "/send/orders", `{"body":"hello"}`, 201)
	second, twice := send("k1", "/send/orders", `{"body":"hello"}`, 201)
	if again || !twice || first != second || count() != 1 {
		t.Errorf("%q %t, then %q %t; got %d messages", first, again, second, twice, count())
	}
	other, _ := send("k2", "/send/orders", `{"body":"hello"}`, 201)
	if other == first || count() != 2 {
		t.Errorf("with another key got %q", other)
	}
	for _, tc := range [][2]string{{"/send/orders", `{"body":"hullo"}`}, {"/send/orders?create=queue", `{"body":"hello"}`}, {"/repeat/orders", `{"message":{"body":"hello"}}`}} {
		if text, _ := send("k1", tc[0], tc[1], 422); !strings.Contains(text, codeKeyReused) {
			t.Errorf("%s: %s", tc, text)
		}
	}
	if n := count(); n != 2 {
		t.Errorf("got %d messages", n)
	}

	send("k3", "/send/none", `{"body":"hello"}`, 404)
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"none"}`, nil)
	send("k3", "/send/none", `{"body":"hello"}`, 201)

	send("k4", "/repeat/orders", `{"message":{"body":"{{uuid}}","repeat":3}}`, 200)
	send("k4", "/repeat/orders", `{"message":{"body":"{{uuid}}","repeat":3}}`, 200)
	if n := count(); n != 5 {
		t.Errorf("after the repetition got %d messages", n)
	}

	for _, bad := range []string{"", strings.Repeat("k", 256), "k\u00e9"} {
		send(bad, "/send/orders", `{"body":"hello"}`, 400)
	}
	if got, _ := w.ask("POST", "/send/orders", `{}`, "Idempotency-Key", "a", "Idempotency-Key", "b"); got.StatusCode != 400 {
		t.Errorf("with two keys got status %d", got.StatusCode)
	}

	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { send("k5", "/send/orders", `{"body":"at once"}`, 201) })
	}
	all.Wait()
	if n := count(); n != 6 {
		t.Errorf("concurrently, got %d messages", n)
	}
	for range 3 { // without a key, each request is executed
		w.want(201, "POST", "/send/orders", `{"body":"the same"}`, nil)
	}
	if n := count(); n != 9 {
		t.Errorf("without a key, got %d messages", n)
	}
}

// TestIdempotencyKeyOfNamesakes: callers of the same name can use the same Idempotency-Key
// independently. Each gets the replay of its own request only.
func TestIdempotencyKeyOfNamesakes(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"orders"}`, nil)
	for again, want := range []string{"", "true"} {
		for _, caller := range []auth.Caller{
			{Name: "ana", Role: auth.Operator, Method: auth.Password, ID: fmt.Sprint("session ", again)},
			{Name: "ana", Role: auth.Operator, Method: auth.OIDC, Subject: "https://a 1"},
			{Name: "ana", Role: auth.Operator, Method: auth.OIDC, Subject: "https://a 2"},
			{Name: "ana", Role: auth.Operator, Method: auth.Token, ID: "x"},
		} {
			r := httptest.NewRequestWithContext(auth.WithCaller(t.Context(), caller), http.MethodPost, "/api/v1/send/orders", strings.NewReader(`{"body":"hello"}`))
			r.Header.Set("Idempotency-Key", "k")
			got := httptest.NewRecorder()
			w.Server.Config.Handler.ServeHTTP(got, r)
			if is := got.Header().Get("Idempotency-Replayed"); got.Code != http.StatusCreated || is != want {
				t.Errorf("%+v: %d %s, replayed %q", caller, got.Code, got.Body, is)
			}
		}
	}
}
