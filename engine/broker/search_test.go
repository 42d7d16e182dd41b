package broker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/search"
	"mayfly/storage/memory"
)

// found returns the subjects of a search's hits, and its last SearchProgress.
func found(t *testing.T, b *broker.Broker, in broker.SearchRequest, each ...func(broker.SearchProgress)) (hits []string, last broker.SearchProgress) {
	t.Helper()
	err := b.Search(t.Context(), in, func(g broker.SearchProgress) error {
		if g.Scanned < last.Scanned || g.Matched != int64(len(hits)+len(g.Hits)) || last.Done {
			t.Errorf("after %+v came %+v", last, g)
		}
		for _, r := range g.Hits {
			hits = append(hits, fmt.Sprintf("%s %s", r.Path, r.Content.Subject()))
		}
		for _, do := range each {
			do(g)
		}
		last = g
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return hits, last
}

func query(t *testing.T, text string) *search.Query {
	t.Helper()
	q, err := search.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func numbers(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("m%d", i+1))
	}
	return out
}

func TestSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{Limits: roomy()})
		for _, p := range []engine.Path{"b", "a-b", "a"} {
			w.CreateQueue(p, engine.Config{})
			w.send(p, numbers(1000)...)
		}
		for _, d := range w.ReceiveMessages(broker.ReceiveRequest{Path: "a", Max: 3}) {
			if _, err := w.Settle(t.Context(), engine.Settlement{Token: d.Message.Token(), Outcome: engine.DeadLetter, Reason: "poison"}); err != nil {
				t.Fatal(err)
			}
		}
		for text, tc := range map[string]struct {
			want    []string
			scanned int64
			bytes   bool
		}{
			"subject:m1000,m2":        {[]string{"a m1000", "a/$DeadLetterQueue m2", "a-b m2", "a-b m1000", "b m2", "b m1000"}, 3000, false},
			"m999":                    {[]string{"a m999", "a-b m999", "b m999"}, 3000, true},
			"body:m500 in:b":          {[]string{"b m500"}, 1000, true},
			"state:dead":              {[]string{"a/$DeadLetterQueue m1", "a/$DeadLetterQueue m2", "a/$DeadLetterQueue m3"}, 3, false},
			"state:scheduled":         {nil, 0, false},
			"reason:poison m2":        {[]string{"a/$DeadLetterQueue m2"}, 3000, true},
			"seq:1 -in:a state:dead":  {nil, 0, false},
			"seq:1 state:active in:b": {[]string{"b m1"}, 1000, false},
		} {
			hits, last := found(t, w.Broker.Broker, broker.SearchRequest{Query: query(t, text)})
			if d := cmp.Diff(tc.want, hits); d != "" || !last.Done || last.Scanned != tc.scanned || last.Total != tc.scanned || last.Bytes > 0 != tc.bytes {
				t.Errorf("%s: %s; %+v", text, d, last)
			}
		}
		// A search in portions has the same hits.
		all, _ := found(t, w.Broker.Broker, broker.SearchRequest{Query: query(t, "*7*")})
		var parts []string
		in := broker.SearchRequest{Query: query(t, "*7*"), Max: 70}
		for n := 0; ; n++ {
			hits, last := found(t, w.Broker.Broker, in)
			if parts = append(parts, hits...); last.Done || n > len(all) {
				break
			}
			if len(hits) != 70 || last.Matched != 70 {
				t.Errorf("a portion has %d", len(hits))
			}
			in.From = last.Next
		}
		if d := cmp.Diff(all, parts); d != "" || len(all) != 3*271 {
			t.Errorf("%d: %s", len(all), d)
		}
		if w.Counts("b").Active != 1000 {
			t.Error("a search changed the namespace")
		}
	})
}

// A search neither finds messages that arrive while it runs nor counts, as examined, those that are
// removed meanwhile. It ends when the function that gets its progress returns an error, or its
// context ends.
func TestSearchMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{Limits: roomy()})
		for _, p := range []engine.Path{"a", "b", "c"} {
			w.CreateQueue(p, engine.Config{})
			w.send(p, numbers(600)...)
		}
		turn := 0
		hits, last := found(t, w.Broker.Broker, broker.SearchRequest{}, func(broker.SearchProgress) {
			switch turn++; turn {
			case 1:
				w.send("a", numbers(100)...)
				if err := w.Delete(t.Context(), "b", broker.Unconfirmed, "test"); err != nil {
					t.Error(err)
				}
			}
		})
		if len(hits) != 1200 || !last.Done || last.Total != 1800 || last.Scanned != 1200 {
			t.Errorf("%d hits in %d turns, %+v", len(hits), turn, last)
		}

		enough := errors.New("enough")
		turn = 0
		if err := w.Search(t.Context(), broker.SearchRequest{}, func(broker.SearchProgress) error { turn++; return enough }); !errors.Is(err, enough) || turn != 1 {
			t.Errorf("%v after %d turns", err, turn)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		turn = 0
		err := w.Search(ctx, broker.SearchRequest{}, func(g broker.SearchProgress) error {
			if turn++; turn == 2 {
				cancel(enough)
			}
			if len(g.Hits) > 256 {
				t.Errorf("%d messages in a turn", len(g.Hits))
			}
			return nil
		})
		if !errors.Is(err, enough) || turn != 2 {
			t.Errorf("%v after %d turns", err, turn)
		}
	})
}

// Bodies that are not in memory are read many at a time; large ones are read alone and in part.
// A message whose body no longer exists is no hit.
func TestSearchBodies(t *testing.T) {
	limits := roomy()
	limits.MessageSize = 4 << 20
	store := &counted{Store: new(memory.Store)}
	b := brokertest.OpenOn(t, store, broker.Options{CacheBytes: 1, Limits: limits})
	b.CreateQueue("q", engine.Config{})
	for i, body := range []string{"needle", "gone", strings.Repeat("x", 100<<10) + "needle", strings.Repeat("x", search.MaxBody) + "needle", strings.Repeat("x", search.MaxBody-6) + "needle", ""} {
		out := []broker.Outgoing{{Content: engine.Content{Subject: fmt.Sprint(i)}, Body: []byte(body)}}
		for range 60 {
			out = append(out, broker.Outgoing{Content: engine.Content{Subject: "hay"}, Body: []byte("hay")})
		}
		b.SendMessages("q", out...)
	}
	store.single, store.together = 0, 0
	hits, last := found(t, b.Broker, broker.SearchRequest{Query: query(t, "body:needle,gone")})
	if d := cmp.Diff([]string{"q 0", "q 1", "q 2", "q 4"}, hits); d != "" || last.Truncated != 1 {
		t.Errorf("%s; %+v", d, last)
	}
	if store.single != 4 || store.together > 12 {
		t.Errorf("%d bodies were read alone, and %d times several together", store.single, store.together)
	}
	if want := int64(6 + 4 + 360*3 + 100<<10 + 6 + 2*search.MaxBody); last.Bytes != want {
		t.Errorf("%d bytes, not %d", last.Bytes, want)
	}

	// Two copies of one message have one body.
	b.CreateEntity(engine.Topic, "t", engine.Config{})
	for _, sub := range []string{"1", "2"} {
		b.CreateEntity(engine.Subscription, engine.SubscriptionPath("t", sub), engine.Config{ForwardTo: "q"})
	}
	b.SendMessages("t", broker.Outgoing{Content: engine.Content{Subject: "twin"}, Body: []byte("copied")})
	if hits, _ := found(t, b.Broker, broker.SearchRequest{Query: query(t, "body:copied")}); !slices.Equal(hits, []string{"q twin", "q twin"}) {
		t.Errorf("of two copies, the search found %q", hits)
	}
}

// lazy is a store that is slow to open a body.
type lazy struct{ *memory.Store }

func (s lazy) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	time.Sleep(100 * time.Millisecond)
	return s.Store.Body(ctx, k)
}

// A search with a short time limit makes progress, however long it takes to read all bodies that
// are read together.
func TestSearchInLittleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.OpenOn(t, lazy{new(memory.Store)}, broker.Options{CacheBytes: 1, Limits: roomy()})
		b.CreateQueue("q", engine.Config{})
		for i := range 30 {
			out := broker.Outgoing{Content: engine.Content{Subject: fmt.Sprint(i)}, Body: []byte(strings.Repeat("x", 250<<10) + fmt.Sprint(" ", i, "."))}
			b.SendMessages("q", out)
		}
		var hits int
		in, portions := broker.SearchRequest{Query: query(t, `body:" 7."," 29."`)}, 0
		for done := false; !done && portions < 30; portions++ {
			ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
			err := b.Search(ctx, in, func(g broker.SearchProgress) error {
				hits += len(g.Hits)
				in.From, done = g.Next, g.Done
				return nil
			})
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		if hits != 2 || portions > 10 {
			t.Errorf("%d hits in %d portions", hits, portions)
		}
	})
}
