package suggest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/search"
	"mayfly/engine/search/suggest"
	"mayfly/engine/value"
)

// A world is a broker and a source of its proposals, in a synctest bubble.
type world struct {
	*testing.T
	b *brokertest.Broker
	s *suggest.Suggester
}

func within(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.Open(t, broker.Options{})
		f(&world{t, b, suggest.New(b.Broker)})
	})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// proposed returns the proposals for the query `text` with the cursor at its end.
func (w *world) proposed(text string) (all []string) {
	w.Helper()
	a, err := w.s.Messages(w.Context(), text, len(text))
	w.must(err)
	return texts(a)
}

func (w *world) proposedOfEntities(text string) (all []string) {
	w.Helper()
	a, err := w.s.Entities(w.Context(), text, len(text))
	w.must(err)
	return texts(a)
}

func texts(a suggest.Suggestions) (all []string) {
	for _, p := range a.Proposals {
		all = append(all, p.Text)
	}
	return all
}

func (w *world) want(text string, got []string, want ...string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%q proposes %q, want %q", text, got, want)
	}
}

func TestMessages(t *testing.T) {
	within(t, func(w *world) {
		for _, name := range []engine.Path{"Orders", "orders-eu", "bills"} {
			w.b.CreateQueue(name, engine.Config{})
		}
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		c := engine.Content{Subject: "new order", ContentType: "application/json", Properties: value.Properties{
			{Name: "region", Value: value.OfString("eu, west")}, {Name: "Retries", Value: value.OfString("3")}, {Name: "a b", Value: value.OfString("x")}, {Name: "<img onerror=x>", Value: value.OfString("y")},
		}}
		w.b.SendContents("orders", `{"customer":{"id":42,"name":"Ada"},"items":[{"sku":"a1"},{"sku":"b2"}],"a.b":null,"big":true}`, c)
		w.b.SendContents("orders", `[{"x":1}]`, engine.Content{Subject: "new order", Properties: value.Properties{{Name: "region", Value: value.OfString("us")}}})
		w.b.SendContents("bills", "no JSON", engine.Content{Subject: "line\nbreak"})
		got := w.b.ReceiveMessages(broker.ReceiveRequest{Path: "bills", Max: 1, Client: "test"})
		w.b.SettleMessage(engine.Settlement{Token: got[0].Token(), Outcome: engine.DeadLetter, Reason: "too late", Client: "test"})
		for text, want := range map[string][]string{
			"st":                      {"state:"},
			"x -dea":                  {"state:dead", "prop.DeadLetterReason:"},
			"state:":                  search.States(),
			"state:dead,d":            {"deferred", "dead"},
			"state:LOCK":              {"locked"},
			"in:or":                   {"Orders", "orders-eu"},
			"in:eu":                   {"orders-eu", `prices/Subscriptions/eu`},
			"orders":                  {"in:Orders", "in:orders-eu"},
			"reason:":                 {`"too late"`},
			"prop.re":                 {"prop.region:", "prop.Retries:"},
			"regi":                    {"prop.region:"},
			"prop.REGION:":            {`"eu, west"`, "us"},
			`prop.region:"eu`:         {`"eu, west"`},
			"json.customer.":          {"json.customer.id:", "json.customer.name:"},
			"json.items[*].sku:":      {"a1", "b2"},
			"json[":                   {"json[*].x:"},
			`json."a.b":`:             {"null"},
			"json.customer.id:":       {"42"},
			"age:":                    {"<1m", "<5m", "<1h", "<1d", ">5m", ">1h", ">1d"},
			"age:>":                   {"5m", "1h", "1d"},
			"subject:":                {`"new order"`},
			"subject:order":           {`"new order"`},
			"type:app":                {"application/json"},
			`"a phr`:                  nil,
			"nosuch:x":                nil,
			"zzz":                     nil,
			"prop.nosuch:":            nil,
			`prop."<img onerror=x`:    {`prop."<img onerror=x>":`},
			`prop."<img onerror=x>":`: {"y"},
		} {
			w.want(text, w.proposed(text), want...)
		}
		// Every proposal is valid after a value has been added to its key.
		for _, text := range []string{"", "s", "prop.", "json", "i", "state:", "reason:", "in:", "due:<", "size:", "ttl:"} {
			a, err := w.s.Messages(w.Context(), text, len(text))
			w.must(err)
			if len(a.Proposals) == 0 || len(a.Proposals) > suggest.MaxProposals {
				t.Errorf("%q proposes %v", text, a.Proposals)
			}
			for _, p := range a.Proposals {
				full := text[:a.From] + p.Text
				if strings.HasSuffix(full, ".") {
					full += "x:"
				}
				if p.Kind == suggest.Key {
					full += "*"
				}
				if _, err := search.Parse(full); err != nil && p.Kind != suggest.Key {
					t.Errorf("%q proposes %q: %v", text, p.Text, err)
				}
			}
		}
		a, err := w.s.Messages(w.Context(), "x sta:y z", 4)
		w.must(err)
		if a.From != 2 || a.To != 6 || texts(a)[0] != "state:" || a.Proposals[0].Note != "state:active,dead" || a.Proposals[0].Kind != suggest.Key {
			t.Errorf("got %+v", a)
		}

		terms, err := w.s.Terms(w.Context())
		w.must(err)
		for _, want := range []string{"state:dead", "in:Orders", `reason:"too late"`, `prop.region:"eu, west"`, "json.customer.id:42", "age:>5m"} {
			if !slices.Contains(terms, want) {
				t.Errorf("%s is not among %q", want, terms)
			}
		}
		for _, term := range terms {
			if _, err := search.Parse(term); err != nil {
				t.Errorf("%s: %v", term, err)
			}
		}
	})
}

func TestEntities(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateEntity(engine.Topic, "disorder", engine.Config{})
		for text, want := range map[string][]string{
			"ord":        {"orders", "disorder"},
			"has:d":      {"deferred", "dlq"},
			"dl":         {"dlq:", "has:dlq"},
			"status:dis": {"disabled"},
			"x -status:": {"active", "disabled", "senddisabled", "receivedisabled"},
			"expiring:<": {"1m", "5m", "1h", "1d"},
			"name:o":     {"orders", "disorder"},
			"body:":      nil,
		} {
			w.want(text, w.proposedOfEntities(text), want...)
		}
		if all := w.proposedOfEntities(""); len(all) != suggest.MaxProposals || all[0] != "name:" {
			t.Errorf("got %q", all)
		}
		a, err := w.s.Entities(w.Context(), "disord", 6)
		w.must(err)
		if a.Proposals[0].Note != "topic" || a.Proposals[0].Kind != suggest.Entity {
			t.Errorf("got %+v", a)
		}
	})
}

// A sample is small whatever the namespace contains, and is taken again after a while.
func TestSample(t *testing.T) {
	within(t, func(w *world) {
		w.want("in:", w.proposed("in:"))
		for i := range 60 {
			p := engine.Path(fmt.Sprintf("q%02d", i))
			w.b.CreateQueue(p, engine.Config{})
			c := engine.Content{Subject: string(p), Properties: value.Properties{{Name: "of-" + string(p), Value: value.OfString("1")}}}
			for range 10 {
				w.b.SendContents(p, `{"of`+string(p)+`":"`+strings.Repeat("x", 20_000)+`"}`, c)
			}
			w.b.SendContents(p, "", engine.Content{Subject: "late", Properties: value.Properties{{Name: "late", Value: value.OfString("1")}}})
		}
		w.want("in:q", w.proposed("in:q")) // from the previous sample
		time.Sleep(3*time.Second - 1)
		w.want("in:q", w.proposed("in:q"))
		time.Sleep(time.Millisecond)
		if got := w.proposed("in:q"); len(got) != suggest.MaxProposals || got[0] != "q00" {
			t.Errorf("got %q", got)
		}
		w.want("prop.of-q00", w.proposed("prop.of-q00"), "prop.of-q00:")
		w.want("prop.of-q39", w.proposed("prop.of-q39"), "prop.of-q39:")
		w.want("prop.of-q40", w.proposed("prop.of-q40")) // beyond the subqueues that are sampled
		w.want("prop.late", w.proposed("prop.late"))     // and beyond the messages of each that are sampled
		w.want("json.of", w.proposed("json.of"))         // in bodies that are too long
		if got := w.proposed("subject:"); len(got) != suggest.MaxProposals {
			t.Errorf("%d subjects", len(got))
		}
	})
}

// Bodies are sampled only up to a maximum depth and width.
func TestBodies(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.b.SendContents("q", strings.Repeat(`{"a":`, 20)+"1"+strings.Repeat("}", 20), engine.Content{})
		var wide []string
		for i := range 500 {
			wide = append(wide, fmt.Sprintf(`"w%03d":%d`, i, i))
		}
		w.b.SendContents("q", "{"+strings.Join(wide, ",")+`,"a":{"b":1e400,"long":"`+strings.Repeat("y", 100)+`"}}`, engine.Content{})
		w.want("json.a.a", w.proposed("json.a.a"))
		w.want("json.w19", w.proposed("json.w19"), "json.w190:", "json.w191:", "json.w192:", "json.w193:", "json.w194:", "json.w195:", "json.w196:", "json.w197:")
		w.want("json.a.b:", w.proposed("json.a.b:"), "1e400")
		w.want("json.a.long:", w.proposed("json.a.long:")) // too long for a proposal
	})
}

// New queues are proposed even while the clock is stopped, as it may be in a scene's namespace.
func TestWhereTheClockStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := broker.NewManualClock()
		b := brokertest.Open(t, broker.Options{ManualClock: m})
		w := &world{t, b, suggest.New(b.Broker)}
		w.must(m.SetRate(0))
		w.b.CreateQueue("one", engine.Config{})
		if got := w.proposed("in:"); !slices.Contains(got, "one") {
			t.Errorf("proposed are %q", got)
		}
		w.b.CreateQueue("two", engine.Config{})
		if got := w.proposed("in:"); !slices.Contains(got, "two") {
			t.Errorf("proposed are %q", got)
		}
	})
}
