package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mayfly/storage/mongo/mongotest"
)

// wired is the URL of a fresh database behind a wire. The program looks for
// nobody else there, and not for long.
func wired(t *testing.T) (string, *wire) {
	t.Helper()
	scheme, rest, _ := strings.Cut(mongotest.URL(t), "://")
	who, at := "", rest
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		who, at = rest[:i+1], rest[i+1:]
	}
	hosts, name, _ := strings.Cut(at, "/")
	w := lay(t, hosts)
	join := "?"
	if strings.Contains(name, "?") {
		join = "&"
	}
	return fmt.Sprintf("%s://%s%s/%s%sdirectConnection=true&serverSelectionTimeoutMS=500", scheme, who, w.Addr(), name, join), w
}

// eventually waits until something is so; what is what to call it.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("never so: %s", what)
		}
	}
}

// A sending is a send under way.
type sending struct {
	code int
	text string
}

// sendWhile sends a message while something else goes on.
func sendWhile(t *testing.T, r Ready, id string) <-chan sending {
	t.Helper()
	answered := make(chan sending, 1)
	go func() {
		code, text := request(t, http.MethodPost, r.Dashboard+"/api/v1/send/q", fmt.Sprintf(`{"messageId":%q,"body":"x"}`, id))
		answered <- sending{code, text}
	}()
	return answered
}

func isReady(t *testing.T, r Ready) bool {
	t.Helper()
	code, _ := request(t, http.MethodGet, r.Dashboard+"/readyz", "")
	return code == http.StatusOK
}

// TestDatabaseGone takes the database away for as long as a lease does not
// notice, and for longer: with a write under way, and with nothing to do.
func TestDatabaseGone(t *testing.T) {
	url, w := wired(t)
	s := stand(t, Config{Store: url, Lease: 6 * time.Second})
	r := s.next(stateReady)
	if code, text := request(t, http.MethodPost, r.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"q","properties":{"LockDuration":"PT5M"}}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	gone := func() {
		t.Helper()
		w.sever()
		eventually(t, "it looks for its database", func() bool { return w.waiting.Load() > 0 })
	}

	// For a moment: whoever sends waits, and nobody else hears of it.
	gone()
	moment := sendWhile(t, r, "moment")
	eventually(t, "the send waits", func() bool {
		_, text := request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return strings.Contains(text, "slow") || len(moment) > 0
	})
	w.mend()
	if got := <-moment; got.code != http.StatusCreated {
		t.Errorf("a send while the database was gone for a moment: %+v", got)
	}

	// For longer, with a send under way: it is told to come again, and so is
	// everybody else, until the database is back.
	gone()
	long := <-sendWhile(t, r, "long")
	if long.code != http.StatusServiceUnavailable || !strings.Contains(long.text, "ServiceBusy") {
		t.Errorf("a send while the database was gone: %+v", long)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		path := map[string]string{http.MethodPost: "/api/v1/send/q", http.MethodGet: "/api/v1/entities/q"}[method]
		if code, text := request(t, method, r.Dashboard+path, `{"body":"never"}`); code != http.StatusServiceUnavailable || !strings.Contains(text, "ServiceBusy") {
			t.Errorf("%s meanwhile: %d %s", path, code, text)
		}
	}
	if code, text := request(t, http.MethodPost, r.Admin+"/q/messages", "never"); code != http.StatusServiceUnavailable || !strings.Contains(text, "50004") {
		t.Errorf("REST meanwhile: %d %s", code, text)
	}
	if code, text := request(t, http.MethodGet, r.Dashboard+"/n/default/q/q", ""); code != http.StatusServiceUnavailable || !strings.Contains(text, "<h1>") {
		t.Errorf("the page meanwhile: %d %s", code, text)
	}
	if isReady(t, r) {
		t.Error("it says that it is ready")
	}
	w.mend()
	eventually(t, "it is ready again", func() bool { return isReady(t, r) })
	if got := <-sendWhile(t, r, "after"); got.code != http.StatusCreated {
		t.Errorf("a send afterwards: %+v", got)
	}

	// For longer, with nothing to do: it is the lease that ends.
	gone()
	eventually(t, "it says why it waits", func() bool {
		code, text := request(t, http.MethodGet, r.Dashboard+"/n/default", "")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "Waiting for the database") && strings.Contains(text, "No MongoDB at")
	})
	w.mend()
	eventually(t, "it is ready again", func() bool { return isReady(t, r) })

	got := map[string]int{}
	for {
		code, text := request(t, http.MethodDelete, r.Admin+"/q/messages/head?timeout=0", "")
		if code == http.StatusNoContent {
			break
		}
		if code != http.StatusOK {
			t.Fatal(code, text)
		}
		got[text]++
	}
	if n := got["x"]; n < 2 || n > 3 || len(got) != 1 { // nobody knows of "long" whether it was sent
		t.Errorf("there were %v", got)
	}
	s.end()
}

// TestDatabaseSlow has every answer of the database come late.
func TestDatabaseSlow(t *testing.T) {
	url, w := wired(t)
	s := stand(t, Config{Store: url, Lease: time.Minute})
	r := s.next(stateReady)
	page := func() string {
		t.Helper()
		_, text := request(t, http.MethodGet, r.Dashboard+"/n/default", "")
		return text
	}
	const slow = "The store is slow"
	if strings.Contains(page(), slow) {
		t.Error("it is slow already")
	}
	w.late.Store(int64(1200 * time.Millisecond))
	if code, text := request(t, http.MethodPost, r.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"q"}`); code != http.StatusCreated {
		t.Errorf("got %d %s", code, text)
	}
	if text := page(); !strings.Contains(text, slow) {
		t.Errorf("nothing is said of it: %s", text)
	}
	if code, text := request(t, http.MethodGet, r.Dashboard+"/readyz", ""); code != http.StatusOK || !strings.HasPrefix(text, "ready, but the store is slow: a write takes 1.") {
		t.Errorf("got %d %s", code, text)
	}
	if code, text := request(t, http.MethodGet, r.Dashboard+"/api/v1/health", ""); code != http.StatusOK || !strings.Contains(text, `"status":"slow"`) {
		t.Errorf("got %d %s", code, text)
	}
	w.late.Store(0)
	s.end()
}

// TestDatabaseComesLate waits for a database that comes up later.
func TestDatabaseComesLate(t *testing.T) {
	url, w := wired(t)
	w.sever()
	s := stand(t, Config{Store: url, Wait: time.Hour, Lease: time.Second})
	eventually(t, "it tries", func() bool { return w.waiting.Load() > 0 })
	w.mend()
	if r := s.next(stateReady); !isReady(t, r) {
		t.Error("it is not ready")
	}
	s.end()
}
