package route_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/storage/memory"
	"mayfly/views/component"
	"mayfly/views/page/activity"
	"mayfly/views/page/entity"
	"mayfly/views/page/message"
	"mayfly/views/page/overview"
)

// told returns the steps of a timeline as text: "title (detail); title (detail)".
func told(life []component.TimelineStep) string {
	var lines []string
	for _, e := range life {
		line := e.Title
		if d := text(e.Detail); d != "" {
			line += " (" + d + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func TestLifeSurvivesARestart(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{LockDuration: 30 * time.Second})
		w.send("orders", engine.Content{Subject: "one", MessageID: "o-1"})
		url := as[entity.Entity](w, "/n/default/q/orders").Rows[0].Href
		w.settle(w.receive("orders"), engine.Abandon, "")
		w.must(w.b.Extend(w.Context(), w.b.Rows("orders")[0].Message.Key, w.now().Add(time.Hour), "dashboard"))
		want := told(as[message.Message](w, url).Timeline)
		w.said("the life", want, "Stored (as #1 · by test); Locked (by worker-1); Given back (one failed delivery so far · by worker-1); "+
			"Got another expiry (by the dashboard); Ready in orders; Runs out of time and is lost (1h 00m)")
		w.restart()
		m := as[message.Message](w, url)
		w.said("the life after a restart", told(m.Timeline), want)
		if i := slices.IndexFunc(m.TTLExplanation.Terms, func(t component.TTLTerm) bool { return t.Applies }); i < 0 || m.TTLExplanation.Terms[i].Name != "set by hand" {
			t.Errorf("the expiry is explained by %+v", m.TTLExplanation.Terms)
		}

		// New events continue the timeline, without repetition although both the process's
		// memory and the history have them.
		w.settle(w.receive("orders"), engine.Abandon, "")
		for range 3 {
			w.pass(time.Second)
			if got := told(as[message.Message](w, url).Timeline); strings.Count(got, "Locked") != 2 || strings.Count(got, "Stored") != 1 {
				t.Errorf("the timeline continues as %s", got)
			}
		}
		w.settle(w.receive("orders"), engine.Complete, "")
		for _, when := range []string{"at once", "after a restart", "after another"} {
			m := as[message.Message](w, url)
			w.said(when, told([]component.TimelineStep{m.Ended}), "Completed (by worker-1)")
			if m.Ended.At.IsZero() || m.Subject != "one" || m.ID != "o-1" || m.HeadersMissing || len(m.Headers) == 0 || m.TimelineLimits.Retention != 7*24*time.Hour {
				t.Errorf("%s the page is %+v", when, m)
			}
			if got := told(m.Timeline); strings.Count(got, "Locked") != 3 || strings.Count(got, "Completed") != 1 {
				t.Errorf("%s the timeline is %s", when, got)
			}
			w.sound(url)
			w.restart()
		}
	})
}

func TestLifeHasItsGaps(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		gap := func(count int64) {
			w.must(w.store.AppendEvents(w.Context(), []engine.Event{{N: uint64(1000 + count), Kind: engine.EventGap, At: w.now(), Count: count}}))
			w.pass(2 * time.Second)
		}
		gap(1)
		w.send("orders", engine.Content{Subject: "one"})
		url := w.pages.MessageURL(w.b.Rows("orders")[0].Message.Key)
		w.pass(2 * time.Second)
		gap(12)
		w.settle(w.receive("orders"), engine.Complete, "")
		w.pass(2 * time.Second)
		gap(3)
		w.said("the life", told(as[message.Message](w, url).Timeline),
			"Stored (as #1 · by test); 12 events of this time were not remembered; some may be of this message; Locked (by worker-1); Completed (by worker-1)")
		w.send("orders", engine.Content{Subject: "two"})
		url = w.pages.MessageURL(w.b.Rows("orders")[0].Message.Key)
		w.pass(2 * time.Second)
		gap(1)
		w.said("the life of what is there", told(as[message.Message](w, url).Timeline),
			"Stored (as #2 · by test); One event of this time was not remembered; it may be of this message; Ready in orders")
		w.said("activity", done(as[activity.Activity](w, "/n/default/activity?group=server")),
			"one event was not remembered (); 3 events were not remembered (); 12 events were not remembered (); one event was not remembered (); the server started · epoch 1 ()")
	})
}

// TestWhatAMessageWentWith checks that the page of a message that was removed with others, by a
// purge or with its entity, names that operation, also after a restart.
func TestWhatAMessageWentWith(t *testing.T) {
	isConfined(t, func(w *world) {
		for _, name := range []engine.Path{"purged", "deleted", "idle", "other"} {
			c := engine.Config{}
			if name == "idle" {
				c.AutoDeleteOnIdle = time.Minute
			}
			w.create(engine.Queue, name, c)
		}
		w.create(engine.Topic, "topic", engine.Config{})
		w.create(engine.Subscription, "topic/Subscriptions/eu", engine.Config{})
		url := map[engine.Path]string{}
		for _, path := range []engine.Path{"purged", "deleted", "idle", "topic"} {
			w.send(path, engine.Content{Subject: "in " + string(path)})
			if path == "topic" {
				path = "topic/Subscriptions/eu"
			}
			url[path] = w.pages.MessageURL(w.b.Rows(path)[0].Message.Key)
		}
		w.pass(time.Second)
		_, err := w.b.Purge(w.Context(), "other", []engine.Class{engine.ClassActive}, -1, "nobody")
		w.must(err)
		_, err = w.b.Purge(w.Context(), "purged", []engine.Class{engine.ClassActive}, -1, "dashboard")
		w.must(err)
		w.must(w.b.Delete(w.Context(), "deleted", -1, "API 10.0.0.4"))
		w.must(w.b.Delete(w.Context(), "topic", -1, "dashboard"))
		w.pass(2 * time.Minute)
		for _, when := range []string{"at once", "after a restart"} {
			for path, want := range map[engine.Path]string{
				"purged": "Purged from purged (by the dashboard)", "deleted": "Gone with deleted, which was deleted (by API 10.0.0.4)",
				"idle": "Gone with idle, which deleted itself", "topic/Subscriptions/eu": "Gone with topic/eu, which was deleted (by the dashboard)",
			} {
				m := as[message.Message](w, url[path])
				w.said(when, told([]component.TimelineStep{m.Ended}), want)
				if life := told(m.Timeline); !strings.HasSuffix(life, "; "+want) {
					t.Errorf("%s the timeline of a message in %s is %s", when, path, life)
				}
				if !m.HeadersMissing || m.Ended.At.IsZero() || m.Missing {
					t.Errorf("%s the page of a message in %s is %+v", when, path, m)
				}
				w.sound(url[path])
			}
			w.restart()
		}
	})
}

// TestWhatAFilterTook checks that the page of a removed message names a purge with a filter as the
// cause only if nothing else can have removed the message: neither a later purge nor the queue's
// deletion.
func TestWhatAFilterTook(t *testing.T) {
	isConfined(t, func(w *world) {
		urls := map[engine.Path]string{}
		for _, q := range []engine.Path{"once", "twice", "gone"} {
			w.create(engine.Queue, q, engine.Config{})
			w.send(q, engine.Content{Subject: "red"}, engine.Content{Subject: "red"}, engine.Content{Subject: "blue"})
			urls[q] = w.pages.MessageURL(w.b.Rows(q)[0].Message.Key)
		}
		w.pass(time.Second)
		only, err := engine.ParseMessageFilter("sys.Label = 'red'", w.b.Limits())
		w.must(err)
		for q := range urls {
			_, err := w.b.PurgeMatching(w.Context(), q, []engine.Class{engine.ClassActive}, only, -1, "API 1")
			w.must(err)
		}
		w.pass(time.Second)
		_, err = w.b.Purge(w.Context(), "twice", []engine.Class{engine.ClassActive}, -1, "API 1")
		w.must(err)
		w.must(w.b.Delete(w.Context(), "gone", -1, "API 1"))
		w.pass(2 * time.Second)
		w.said("activity", done(as[activity.Activity](w, "/n/default/activity?group=ends&path=twice")),
			"twice one message purged (API/1); twice 2 messages purged where sys.Label = 'red' (API/1)")
		for range 2 {
			for q, want := range map[engine.Path]string{"once": "Purged from once (by API 1)", "twice": "Gone from twice", "gone": "Gone from gone"} {
				w.said("the end of what was in "+string(q), told([]component.TimelineStep{as[message.Message](w, urls[q]).Ended}), want)
			}
			w.restart()
		}
	})
}

// TestWhatTookAMessageFirst checks that the page of a removed message names the first purge of its
// subqueue after it arrived, whatever happens to the queue later. A purge of active messages is not
// the cause for a dead letter, nor the other way round.
func TestWhatTookAMessageFirst(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "pq", engine.Config{})
		w.send("pq", engine.Content{Subject: "dead"})
		dead := w.pages.MessageURL(w.b.Rows("pq")[0].Message.Key)
		w.settle(w.receive("pq"), engine.DeadLetter, "bad")
		w.send("pq", engine.Content{Subject: "active"})
		active := w.pages.MessageURL(w.b.Rows("pq")[0].Message.Key)
		w.pass(time.Second)
		purge := func(path engine.Path, c engine.Class, by string) {
			_, err := w.b.Purge(w.Context(), path, []engine.Class{c}, -1, by)
			w.must(err)
			w.pass(time.Second)
		}
		purge("pq", engine.ClassActive, "API 1")
		w.send("pq", engine.Content{Subject: "later"})
		purge("pq", engine.ClassActive, "API 2")
		purge("pq/$DeadLetterQueue", engine.ClassActive, "API 3")
		wants := func(when string) {
			for url, want := range map[string]string{active: "Purged from pq (by API 1)", dead: "Purged from pq/$DLQ (by API 3)"} {
				m := as[message.Message](w, url)
				w.said(when, told([]component.TimelineStep{m.Ended}), want)
				if life := told(m.Timeline); !strings.HasSuffix(life, "; "+want) {
					t.Errorf("%s the timeline is %s", when, life)
				}
			}
		}
		wants("while the queue is there")
		w.must(w.b.Delete(w.Context(), "pq", -1, "API 4"))
		wants("at once")
		w.restart()
		wants("after a restart")
		w.create(engine.Queue, "pq", engine.Config{})
		w.must(w.b.Delete(w.Context(), "pq", -1, "API 5"))
		wants("after another deletion")
	})
}

func TestTombstonesSurviveARestart(t *testing.T) {
	isConfined(t, func(w *world) {
		stones := func() (names []string, keys []string) {
			for _, g := range as[overview.Temporary](w, "/n/default/temporary").Deleted {
				names, keys = append(names, g.Name), append(keys, g.Key)
				var epoch, n uint64
				if _, err := fmt.Sscanf(g.Key, "%d-%d", &epoch, &n); err != nil {
					t.Fatalf("the key is %q", g.Key)
				}
				if e, ok := w.pages.AutoDeletion(epoch, n); !ok || string(e.Path) != strings.ReplaceAll(g.Name, "/eu", "/Subscriptions/eu") {
					t.Errorf("tombstone %s is for %q", g.Key, e.Path)
				}
			}
			return names, keys
		}
		is := func(want ...string) (keys []string) {
			t.Helper()
			w.sound("/n/default/temporary")
			names, keys := stones()
			if !slices.Equal(names, want) {
				t.Errorf("the tombstones are for %q, want %q", names, want)
			}
			if slices.Sort(keys); len(slices.Compact(slices.Clone(keys))) != len(keys) {
				t.Errorf("the keys are %q", keys)
			}
			return keys
		}
		w.create(engine.Queue, "first", engine.Config{AutoDeleteOnIdle: time.Second})
		w.pass(2 * time.Second)
		before := is("first")
		w.restart()
		if after := is("first"); after[0] != before[0] {
			t.Errorf("the tombstone was %s and is %s", before, after)
		}
		// The same number in another epoch is another event.
		w.create(engine.Queue, "second", engine.Config{AutoDeleteOnIdle: time.Second})
		w.create(engine.Topic, "topic", engine.Config{AutoDeleteOnIdle: 2 * time.Second})
		w.create(engine.Subscription, "topic/Subscriptions/eu", engine.Config{LockDuration: time.Minute})
		w.pass(4 * time.Second)
		is("topic", "second", "first")
		w.restart()
		is("topic", "second", "first")
		w.restart()
		is("topic", "second", "first")

		for _, gone := range []string{"/n/default/q/first", "/n/default/t/topic", "/n/default/t/topic/s/eu"} {
			if m := as[entity.Entity](w, gone); m.Deleted.Name == "" {
				t.Errorf("%s is not shown as deleted", gone)
			}
		}
		e, ok := w.pages.AutoDeletion(2, tombOf(w, "topic"))
		if !ok || e.Kind != engine.EventEntityAutoDeleted || len(e.Subscriptions) != 1 {
			t.Fatalf("the tombstone of the topic is %+v", e)
		}
		w.must(w.b.RestoreEntity(w.Context(), e, "test"))
		if c := as[entity.Entity](w, "/n/default/t/topic/s/eu"); c.Lock != time.Minute {
			t.Errorf("the subscription was restored with %+v", c)
		}
		w.pass(time.Millisecond)
		is("second", "first")
		w.create(engine.Queue, "second", engine.Config{})
		is("first")
		w.restart()
		is("first")
	})
}

// TestTheLatestGrave checks that after several deletions of an entity of one name, its page shows
// the latest: who deleted it, or that it deleted itself.
func TestTheLatestGrave(t *testing.T) {
	isConfined(t, func(w *world) {
		by := func(want string) {
			t.Helper()
			for range 2 {
				m := as[entity.Entity](w, "/n/default/q/reply")
				w.said("the grave", m.DeletedBy, want)
				if (m.Deleted.Restore != "") != (want == "") {
					t.Errorf("the grave is %+v", m.Deleted)
				}
				w.restart()
			}
		}
		for range 2 {
			w.create(engine.Queue, "reply", engine.Config{AutoDeleteOnIdle: time.Second})
			w.must(w.b.Delete(w.Context(), "reply", -1, "dashboard"))
			w.pass(time.Second)
			by("deleted by the dashboard")
			w.create(engine.Queue, "reply", engine.Config{AutoDeleteOnIdle: time.Second})
			w.pass(3 * time.Second)
			by("")
		}
	})
}

// TestOtherDays checks that a step of a timeline, or a use in a history, has its date if it is on
// another day than the previous one, also after a restart.
func TestOtherDays(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{AutoDeleteOnIdle: 48 * time.Hour})
		w.create(engine.Queue, "reply", engine.Config{AutoDeleteOnIdle: time.Hour})
		w.send("orders", engine.Content{Subject: "one", TTL: 40 * time.Hour})
		w.pass(26 * time.Hour)
		w.settle(w.receive("orders"), engine.Abandon, "")
		w.restart()
		dated := func() (out []bool) {
			for _, e := range as[message.Message](w, as[entity.Entity](w, "/n/default/q/orders").Rows[0].Href).Timeline {
				out = append(out, e.Dated)
			}
			return out
		}
		// A step has a date if it is on another day than the previous one. The steps are: stored,
		// locked, abandoned, now and expires.
		if got := dated(); !slices.Equal(got, []bool{true, true, false, false, false}) {
			t.Errorf("dates are shown at %v", got)
		}
		m := as[overview.Temporary](w, "/n/default/temporary")
		if a := m.Entities[0].Uses; !a[0].Dated || a[len(a)-1].Dated || !m.Deleted[0].Dated {
			t.Errorf("the use history is %+v, the tombstone %+v", a, m.Deleted[0])
		}
		if d := as[activity.Activity](w, "/n/default/activity").Rows; d[0].Today != true || d[len(d)-1].Today {
			t.Errorf("the first and the last line are %+v, %+v", d[0], d[len(d)-1])
		}
		for _, e := range as[overview.Overview](w, "/n/default").Events {
			if e.At.Day() == 1 {
				t.Errorf("the ticker shows events of yesterday: %+v", e)
			}
		}
	})
}

// tombOf returns the number in the address of a tombstone.
func tombOf(w *world, name string) (n uint64) {
	for _, g := range as[overview.Temporary](w, "/n/default/temporary").Deleted {
		if g.Name == name {
			var epoch uint64
			_, err := fmt.Sscanf(g.Key, "%d-%d", &epoch, &n)
			w.must(err)
		}
	}
	return n
}

func TestExpiredAndTickerSurviveARestart(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{DeadLetteringOnMessageExpiration: true})
		w.create(engine.Queue, "prices", engine.Config{})
		w.send("orders", engine.Content{Subject: "kept", TTL: time.Second})
		w.send("prices", engine.Content{Subject: "lost", TTL: 2 * time.Second}, engine.Content{Subject: "stays"})
		w.pass(3 * time.Second)
		expired := func() string {
			var lines []string
			for _, e := range as[overview.Expirations](w, "/n/default/expirations").Expired {
				lines = append(lines, e.Subject+" → "+e.Fate.To)
			}
			return strings.Join(lines, "; ")
		}
		ticker := func() string {
			var lines []string
			for _, e := range as[overview.Overview](w, "/n/default").Events {
				lines = append(lines, strings.TrimSpace(e.Entity+" "+text(e.Says)))
			}
			return strings.Join(lines, "; ")
		}
		const lines = "prices lost ran out of time and is lost; orders kept ran out of time → orders/$DLQ; prices 2 messages arrived; orders kept arrived; prices created; orders created; the server started"
		w.said("the ticker", ticker(), lines)
		w.restart()
		w.said("the ticker after a restart", ticker(), "the server started; the server was stopped; "+lines)
		w.said("what expired", expired(), "lost → ; kept → orders/$DLQ")
		w.sound("/n/default")
		w.sound("/n/default/expirations")
		w.send("prices", engine.Content{Subject: "again", TTL: time.Second})
		w.pass(2 * time.Second)
		w.said("what expired", expired(), "again → ; lost → ; kept → orders/$DLQ")
		w.sound("/n/default/expirations")
		w.pass(5 * time.Minute)
		w.restart()
		w.said("what expired long ago", expired(), "")
	})
}

func TestLedgerSurvivesARestart(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "reply", engine.Config{AutoDeleteOnIdle: time.Hour})
		w.create(engine.Queue, "reply/2", engine.Config{AutoDeleteOnIdle: 2 * time.Hour})
		w.create(engine.Topic, "prices", engine.Config{AutoDeleteOnIdle: 3 * time.Hour})
		w.create(engine.Subscription, "prices/Subscriptions/eu", engine.Config{AutoDeleteOnIdle: 4 * time.Hour})
		pass := func() { w.pass(time.Second) }
		pass()
		w.send("reply", engine.Content{}, engine.Content{}, engine.Content{})
		pass()
		w.settle(w.receive("reply"), engine.DeadLetter, "Poison")
		pass()
		_, err := w.b.Move(w.Context(), engine.Move{Key: w.b.Rows("reply/$DeadLetterQueue")[0].Message.Key, To: "reply/2"}, "dashboard")
		w.must(err)
		pass()
		w.must(w.b.Touch(w.Context(), "reply", "dashboard"))
		pass()
		w.must(w.b.Pin(w.Context(), "reply/2", "dashboard"))
		pass()
		w.must(w.b.Unpin(w.Context(), "reply/2", "dashboard"))
		pass()
		w.send("prices", engine.Content{})
		pass()
		w.settle(w.receive("prices/Subscriptions/eu"), engine.Complete, "")
		w.must(w.b.RecordView(w.Context(), "reply", "view", "dashboard"))
		pass()
		useHistories := func() map[string]string {
			out := map[string]string{}
			for _, s := range as[overview.Temporary](w, "/n/default/temporary").Entities {
				var lines []string
				for _, a := range slices.Backward(s.Uses) {
					line := a.What
					if !a.ResetsClock {
						line += " -"
					}
					lines = append(lines, line)
				}
				out[s.Name] = strings.Join(lines, "; ")
			}
			return out
		}
		want := map[string]string{
			"reply":   "touch · the dashboard; resubmit · the dashboard; dead-letter · worker-1; receive · worker-1; send · test; create · test",
			"reply/2": "unpin · the dashboard; pin · the dashboard; send · the dashboard; create · test",
			// The topic was created in the same millisecond as its subscription.
			"prices":    "complete · worker-1; receive · worker-1; send · test; create · test",
			"prices/eu": "complete · worker-1; receive · worker-1; create · test",
		}
		w.restart()
		for name, l := range useHistories() {
			w.said(name, l, want[name])
		}
		w.sound("/n/default/temporary")
		m := as[overview.Temporary](w, "/n/default/temporary").Entities[0]
		if m.Name != "reply" || m.UsesCompleteFrom.IsZero() || m.By != "touch · the dashboard" || !strings.Contains(w.read("/n/default/temporary").Find("main details").First().Text(), "neither peeks nor looks") {
			t.Errorf("the first is %+v", m)
		}
		w.must(w.b.Touch(w.Context(), "reply", "API 10.0.0.4"))
		w.said("used again", useHistories()["reply"], "touch · API 10.0.0.4; "+want["reply"])
		for range 30 {
			w.must(w.b.Touch(w.Context(), "reply", "test"))
		}
		if m := as[overview.Temporary](w, "/n/default/temporary").Entities[0]; m.Name == "reply" && (len(m.Uses) != 20 || !m.UsesCompleteFrom.IsZero()) {
			t.Errorf("%d uses, complete from %v", len(m.Uses), m.UsesCompleteFrom)
		}
	})
}

// failing is a store whose next commit has an unknown outcome.
type failing struct {
	*memory.Store
	next *bool
}

func (s failing) Commit(ctx context.Context, b *engine.Batch) error {
	if *s.next {
		*s.next = false
		return errors.New("the line went dead")
	}
	return s.Store.Commit(ctx, b)
}

// TestLedgerSurvivesAReopening checks that after a commit of unknown outcome, when the broker opens
// the store again, the use history of a temporary queue and the activity have the events from
// before and after, each once.
func TestLedgerSurvivesAReopening(t *testing.T) {
	fails := false
	inside(t, &world{wrap: func(s *memory.Store) engine.Store { return failing{s, &fails} }}, func(w *world) {
		w.create(engine.Queue, "reply", engine.Config{AutoDeleteOnIdle: time.Hour})
		url := ""
		for range 3 {
			w.pass(2 * time.Second)
			w.must(w.b.Touch(w.Context(), "reply", "test"))
			w.send("reply", engine.Content{Subject: "one"})
			url = w.pages.MessageURL(w.b.Rows("reply")[0].Message.Key)
		}
		w.pass(2 * time.Second)
		fails = true
		if err := w.b.Touch(w.Context(), "reply", "test"); err == nil {
			t.Fatal("Touch succeeded")
		}
		w.pass(10 * time.Second)
		w.must(w.b.Touch(w.Context(), "reply", "again"))
		s := as[overview.Temporary](w, "/n/default/temporary").Entities[0]
		if a := s.Uses; len(a) != 8 || a[7].What != "touch · again" || a[6].What != "send · test" || a[0].What != "create · test" || s.UsesCompleteFrom.IsZero() {
			t.Errorf("the use history is %+v", s)
		}
		w.said("the life", told(as[message.Message](w, url).Timeline), "Stored (as #1 · by test); Ready in reply")
		w.said("activity", done(as[activity.Activity](w, "/n/default/activity?group=server")), "the store was opened again · the line went dead (); the server started · epoch 1 ()")
		keys := map[string]bool{}
		for _, d := range as[activity.Activity](w, "/n/default/activity?scope=all").Rows {
			if keys[d.Key] {
				t.Errorf("%s is listed twice", d.Key)
			}
			keys[d.Key] = true
		}
	})
}
