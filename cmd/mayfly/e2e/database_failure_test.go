package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/storage/mongo/mongotest"
)

// wired returns the URL of a new database behind a FaultyProxy. The driver connects only through
// the proxy, with a short timeout.
func wired(t *testing.T) (string, *FaultyProxy) {
	t.Helper()
	scheme, rest, _ := strings.Cut(mongotest.URL(t), "://")
	who, at := "", rest
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		who, at = rest[:i+1], rest[i+1:]
	}
	hosts, name, _ := strings.Cut(at, "/")
	w := NewFaultyProxy(t, hosts)
	join := "?"
	if strings.Contains(name, "?") {
		join = "&"
	}
	return fmt.Sprintf("%s://%s%s/%s%sdirectConnection=true&serverSelectionTimeoutMS=500", scheme, who, w.Addr(), name, join), w
}

// Eventually calls `so` until it returns true. After a minute it fails the test with the
// description `what`.
func Eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("not in time: %s", what)
		}
	}
}

// A sending is the response to a send.
type sending struct {
	code int
	text string
}

// sendWhile sends a message concurrently.
func sendWhile(t *testing.T, r server.Ready, id string) <-chan sending {
	t.Helper()
	answered := make(chan sending, 1)
	go func() {
		code, text := Request(t, http.MethodPost, r.Dashboard+"/api/v1/send/q", fmt.Sprintf(`{"messageId":%q,"body":"x"}`, id))
		answered <- sending{code, text}
	}()
	return answered
}

func isReady(t *testing.T, r server.Ready) bool {
	t.Helper()
	code, _ := Request(t, http.MethodGet, r.Dashboard+"/readyz", "")
	return code == http.StatusOK
}

// TestDatabaseGone disconnects the database for less and for more than a lease, with a write in
// progress and without, and checks which requests wait and which get 503.
func TestDatabaseGone(t *testing.T) {
	url, w := wired(t)
	s := StartStandby(t, server.Config{Store: url, Lease: 6 * time.Second})
	r := s.Next(server.StateReady)
	if code, text := Request(t, http.MethodPost, r.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"q","properties":{"LockDuration":"PT5M"}}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	gone := func() {
		t.Helper()
		w.Cut()
		Eventually(t, "a connection waits at the proxy", func() bool { return w.waiting.Load() > 0 })
	}

	// A brief interruption: a sender waits, and no other client notices.
	gone()
	moment := sendWhile(t, r, "moment")
	Eventually(t, "the send waits", func() bool {
		_, text := Request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return strings.Contains(text, "slow") || len(moment) > 0
	})
	w.Repair()
	if got := <-moment; got.code != http.StatusCreated {
		t.Errorf("a send while the database was gone for a moment: %+v", got)
	}

	// Longer, with a send in progress: the response is to retry later, as for all other
	// requests until the database is back.
	gone()
	long := <-sendWhile(t, r, "long")
	if long.code != http.StatusServiceUnavailable || !strings.Contains(long.text, "ServiceBusy") {
		t.Errorf("a send while the database was gone: %+v", long)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		path := map[string]string{http.MethodPost: "/api/v1/send/q", http.MethodGet: "/api/v1/entities/q"}[method]
		if code, text := Request(t, method, r.Dashboard+path, `{"body":"never"}`); code != http.StatusServiceUnavailable || !strings.Contains(text, "ServiceBusy") {
			t.Errorf("%s meanwhile: %d %s", path, code, text)
		}
	}
	if code, text := Request(t, http.MethodPost, r.Admin+"/q/messages", "never"); code != http.StatusServiceUnavailable || !strings.Contains(text, "50004") {
		t.Errorf("REST meanwhile: %d %s", code, text)
	}
	if code, text := Request(t, http.MethodGet, r.Dashboard+"/n/default/q/q", ""); code != http.StatusServiceUnavailable || !strings.Contains(text, "<h1>") {
		t.Errorf("the page meanwhile: %d %s", code, text)
	}
	if isReady(t, r) {
		t.Error("the server reports that it is ready")
	}
	w.Repair()
	Eventually(t, "the server is ready again", func() bool { return isReady(t, r) })
	if got := <-sendWhile(t, r, "after"); got.code != http.StatusCreated {
		t.Errorf("a send afterwards: %+v", got)
	}

	// A longer interruption of an idle server: the lease ends.
	gone()
	Eventually(t, "the server reports why it waits", func() bool {
		code, text := Request(t, http.MethodGet, r.Dashboard+"/n/default", "")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "Waiting for the database") && strings.Contains(text, "No MongoDB at")
	})
	w.Repair()
	Eventually(t, "the server is ready again", func() bool { return isReady(t, r) })

	got := map[string]int{}
	for {
		code, text := Request(t, http.MethodDelete, r.Admin+"/q/messages/head?timeout=0", "")
		if code == http.StatusNoContent {
			break
		}
		if code != http.StatusOK {
			t.Fatal(code, text)
		}
		got[text]++
	}
	if n := got["x"]; n < 2 || n > 3 || len(got) != 1 { // the outcome of "long" is unknown
		t.Errorf("got %v", got)
	}
	s.End()
}

// TestDatabaseSlow delays every response of the database by 1.2 s: writes succeed, and pages and
// health checks report that the store is slow.
func TestDatabaseSlow(t *testing.T) {
	url, w := wired(t)
	s := StartStandby(t, server.Config{Store: url, Lease: time.Minute})
	r := s.Next(server.StateReady)
	page := func() string {
		t.Helper()
		_, text := Request(t, http.MethodGet, r.Dashboard+"/n/default", "")
		return text
	}
	const slow = "The store is slow"
	Eventually(t, "a write is quick", func() bool {
		CreateQueue(t, r, fmt.Sprint("before-", time.Now().UnixNano())) // the first writes may wait for a busy machine
		return !strings.Contains(page(), slow)
	})
	w.late.Store(int64(1200 * time.Millisecond))
	if code, text := Request(t, http.MethodPost, r.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"q"}`); code != http.StatusCreated {
		t.Errorf("got %d %s", code, text)
	}
	if text := page(); !strings.Contains(text, slow) {
		t.Errorf("no warning about the slow database: %s", text)
	}
	if code, text := Request(t, http.MethodGet, r.Dashboard+"/readyz", ""); code != http.StatusOK || !strings.HasPrefix(text, "ready, but the store is slow: a write takes ") {
		t.Errorf("got %d %s", code, text)
	}
	if code, text := Request(t, http.MethodGet, r.Dashboard+"/api/v1/health", ""); code != http.StatusOK || !strings.Contains(text, `"status":"slow"`) {
		t.Errorf("got %d %s", code, text)
	}
	w.late.Store(0)
	s.End()
}

// TestDatabaseComesLate checks that with --store-wait a server that starts before its database
// waits for it and becomes ready.
func TestDatabaseComesLate(t *testing.T) {
	url, w := wired(t)
	w.Cut()
	s := StartStandby(t, server.Config{Store: url, StoreWait: time.Hour, Lease: time.Second})
	Eventually(t, "the server tries to connect", func() bool { return w.waiting.Load() > 0 })
	w.Repair()
	if r := s.Next(server.StateReady); !isReady(t, r) {
		t.Error("the server did not become ready")
	}
	s.End()
}
