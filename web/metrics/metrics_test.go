package metrics

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/figures"
	"mayfly/web/peers/peerstest"
)

func open(t *testing.T, entities ...engine.Path) Options {
	t.Helper()
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, broker.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	for _, p := range entities {
		if _, err := b.Create(t.Context(), engine.Queue, p, engine.Config{}, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Send(t.Context(), p, []broker.Outgoing{{Body: []byte("12345")}}, ""); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Broker: b, Figures: figures.New(), Version: "v1"}
	var events []engine.Event
	for n := uint64(0); n < b.Events().Last(); n = events[len(events)-1].N {
		if events, _, err = b.Events().Next(t.Context(), n, nil); err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			o.Figures.Note(e)
		}
	}
	return o
}

func scrape(t *testing.T, o Options) string {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(o).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	return w.Body.String()
}

func TestEveryEntityIsTold(t *testing.T) {
	o := open(t, "a", "b", "c")
	o.Peers = new(peerstest.Source)
	o.Store = func() (int64, bool) { return 4096, true }
	got := scrape(t, o)
	for _, want := range []string{
		`mayfly_build_info{version="v1",go="go`, "mayfly_ready 1\n", "mayfly_epoch 1\n", `mayfly_entities{kind="queue"} 3`,
		`mayfly_messages{entity="a",state="active"} 1`, `mayfly_messages{entity="c",state="dead"} 0`, `mayfly_messages_received_total{entity="b"} 1`,
		"mayfly_store_bytes 4096\n", "mayfly_connections 0\n", `mayfly_commit_seconds_bucket{le="+Inf"} `, "# TYPE mayfly_commit_seconds histogram\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
}

// TestRestIsSummed has more entities than are told one by one.
func TestRestIsSummed(t *testing.T) {
	for most, want := range map[int]string{
		-1: `{entity="…",state="active"} 3`,
		1:  `{entity="…",state="active"} 2`,
		2:  `{entity="…",state="active"} 1`,
		3:  `{entity="c",state="active"} 1`,
	} {
		o := open(t, "a", "b", "c")
		o.Entities = most
		got := scrape(t, o)
		if !strings.Contains(got, "mayfly_messages"+want) {
			t.Errorf("%d: there is no %s in\n%s", most, want, got)
		}
		if n := strings.Count(got, "mayfly_messages_received_total{"); n != min(3, max(most, 0)+1) {
			t.Errorf("%d: %d lines", most, n)
		}
	}
}

// TestFormat is what a scraper relies on: each name's head once and before its
// samples, and samples of one name together.
func TestFormat(t *testing.T) {
	seen, now := map[string]bool{}, ""
	for line := range strings.SplitSeq(strings.TrimSuffix(scrape(t, open(t, "a", "b")), "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			if now, _, _ = strings.Cut(rest, " "); seen[now] {
				t.Errorf("%s begins again", now)
			}
			seen[now] = true
			continue
		}
		if !strings.HasPrefix(strings.TrimPrefix(line, "# TYPE "), now) {
			t.Errorf("%q is under %s", line, now)
		}
	}
	var b bytes.Buffer
	(&encoder{&b}).sample("m", 0.25, "l", "a\"b\\c\nd\xff")
	if got, want := b.String(), `m{l="a\"b\\c\nd`+"\ufffd"+`"} 0.25`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestClosedBrokerHasNoMetrics(t *testing.T) {
	o := open(t)
	o.Broker.Close()
	w := httptest.NewRecorder()
	Handler(o).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
