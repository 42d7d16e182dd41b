package prometheus

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/stats"
	"mayfly/web/connections/connectionstest"
)

func open(t *testing.T, entities ...engine.Path) Options {
	t.Helper()
	served := serve(t, entities...)
	return Options{Version: "v1", Namespaces: func() []Namespace { return []Namespace{{Name: "default", State: "serving", Served: served}} }}
}

// serve returns a namespace with queues that hold one message each.
func serve(t *testing.T, entities ...engine.Path) *Served {
	t.Helper()
	b := brokertest.Open(t, broker.Options{})
	for _, p := range entities {
		b.CreateQueue(p, engine.Config{})
		b.SendMessages(p, broker.Outgoing{Body: []byte("12345")})
	}
	o := &Served{Broker: b.Broker, Stats: stats.New()}
	var events []engine.Event
	for n := uint64(0); n < b.Events().Last(); n = events[len(events)-1].N {
		var err error
		if events, _, err = b.Events().Next(t.Context(), n, nil); err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			o.Stats.Record(e)
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

func TestMetricsOfEveryEntity(t *testing.T) {
	o := open(t, "a", "b", "c")
	of := o.Namespaces()[0].Served
	of.Clients = new(connectionstest.Source)
	of.Store = func() (int64, bool) { return 4096, true }
	got := scrape(t, o)
	for _, want := range []string{
		`mayfly_build_info{version="v1",go="go`, `mayfly_namespace_ready{namespace="default"} 1`, `mayfly_namespace_epoch{namespace="default"} 1`, `mayfly_entities{namespace="default",kind="queue"} 3`,
		`mayfly_messages{namespace="default",entity="a",state="active"} 1`, `mayfly_messages{namespace="default",entity="c",state="dead-letter"} 0`, `mayfly_messages_incoming_total{namespace="default",entity="b"} 1`,
		`mayfly_store_bytes{namespace="default"} 4096`, `mayfly_amqp_connections{namespace="default"} 0`, `mayfly_store_commit_seconds_bucket{namespace="default",le="+Inf"} `, "# TYPE mayfly_store_commit_seconds histogram\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
}

// TestRestIsSummed: entities beyond the number that is reported one by one are summed under the
// name "…".
func TestRestIsSummed(t *testing.T) {
	for most, want := range map[int]string{
		-1: `{namespace="default",entity="…",state="active"} 3`,
		1:  `{namespace="default",entity="…",state="active"} 2`,
		2:  `{namespace="default",entity="…",state="active"} 1`,
		3:  `{namespace="default",entity="c",state="active"} 1`,
	} {
		o := open(t, "a", "b", "c")
		o.Entities = most
		got := scrape(t, o)
		if !strings.Contains(got, "mayfly_messages"+want) {
			t.Errorf("%d: %s is missing in\n%s", most, want, got)
		}
		if n := strings.Count(got, "mayfly_messages_incoming_total{"); n != min(3, max(most, 0)+1) {
			t.Errorf("%d: %d lines", most, n)
		}
	}
}

// TestFormat checks what scrapers rely on: the head of a metric occurs once and before its
// samples, and the samples of a metric are together.
func TestFormat(t *testing.T) {
	seen, now := map[string]bool{}, ""
	for line := range strings.SplitSeq(strings.TrimSuffix(scrape(t, open(t, "a", "b")), "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			if now, _, _ = strings.Cut(rest, " "); seen[now] {
				t.Errorf("%s occurs again", now)
			}
			seen[now] = true
			continue
		}
		if !strings.HasPrefix(strings.TrimPrefix(line, "# TYPE "), now) {
			t.Errorf("%q is below %s", line, now)
		}
	}
	var b bytes.Buffer
	(&encoder{&b}).sample("m", 0.25, "l", "a\"b\\c\nd\xff")
	if got, want := b.String(), `m{l="a\"b\\c\nd`+"\ufffd"+`"} 0.25`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A namespace whose broker does not answer is only reported as not ready, and the others are
// reported as usual.
func TestMetricsOfEveryNamespace(t *testing.T) {
	own, shop, bad := serve(t, "a", "b"), serve(t, "a"), serve(t, "a")
	bad.Broker.Close()
	o := Options{Namespaces: func() []Namespace {
		return []Namespace{
			{Name: "default", State: "serving", Served: own},
			{Name: "bad", State: "serving", Served: bad},
			{Name: "far", State: "standby"},
			{Name: "shop", State: "serving", Served: shop},
		}
	}}
	got := scrape(t, o)
	for _, want := range []string{
		`mayfly_namespaces{state="serving"} 3`, `mayfly_namespaces{state="standby"} 1`, `mayfly_namespaces{state="failing"} 0`,
		`mayfly_namespace_ready{namespace="default"} 1`, `mayfly_namespace_ready{namespace="bad"} 0`, `mayfly_namespace_ready{namespace="far"} 0`, `mayfly_namespace_ready{namespace="shop"} 1`,
		`mayfly_messages{namespace="default",entity="b",state="active"} 1`, `mayfly_messages{namespace="shop",entity="a",state="active"} 1`,
		`mayfly_store_commit_seconds_count{namespace="shop"} `,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	for _, name := range []string{"bad", "far"} {
		if n := strings.Count(got, `namespace="`+name+`"`); n != 1 {
			t.Errorf("namespace %s has %d samples, want 1", name, n)
		}
	}
	// The limit on entities reported one by one covers all namespaces.
	for most, want := range map[int][]string{
		2: {`{namespace="default",entity="b",state="active"} 1`, `{namespace="shop",entity="…",state="active"} 1`},
		1: {`{namespace="default",entity="a",state="active"} 1`, `{namespace="default",entity="…",state="active"} 1`, `{namespace="shop",entity="…",state="active"} 1`},
	} {
		o.Entities = most
		got := scrape(t, o)
		for _, want := range want {
			if !strings.Contains(got, "mayfly_messages"+want) {
				t.Errorf("%d: %s is missing in\n%s", most, want, got)
			}
		}
		if n := strings.Count(got, "mayfly_message_bytes{"); n != 3 {
			t.Errorf("%d: %d lines", most, n)
		}
	}
}

// Temporary namespaces are summed, because their names change all the time.
func TestTemporaryNamespacesAreSummed(t *testing.T) {
	own, demo, show := serve(t, "a"), serve(t, "a", "b"), serve(t, "a")
	o := Options{Namespaces: func() []Namespace {
		return []Namespace{
			{Name: "default", State: "serving", Served: own},
			{Name: "demo", State: "serving", Temporary: true, Served: demo},
			{Name: "late", State: "opening", Temporary: true},
			{Name: "show", State: "serving", Temporary: true, Served: show},
		}
	}}
	got := scrape(t, o)
	for _, want := range []string{
		`mayfly_messages{namespace="…",entity="…",state="active"} 3`, `mayfly_entities{namespace="…",kind="queue"} 3`,
		`mayfly_messages_incoming_total{namespace="…",entity="…"} 3`, `mayfly_messages{namespace="default",entity="a",state="active"} 1`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	for _, name := range []string{"demo", "late", "show"} {
		if strings.Contains(got, `"`+name+`"`) {
			t.Errorf("%s is reported", name)
		}
	}
	if strings.Contains(got, `mayfly_namespace_ready{namespace="…"`) || strings.Contains(got, `mayfly_store_commit_seconds_count{namespace="…"`) {
		t.Error("metrics that cannot be summed are reported")
	}
}
