package alert_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/longtest"
)

func numbered(from, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint("m", from+i))
	}
	return ids
}

// TestManyAtOnce lets many messages approach their expiry at the same moment: a rule fires for each
// and extends it once, also after a restart, there are only a few alerts, and the rule's stored
// settings stay small and are dropped after the messages have expired.
func TestManyAtOnce(t *testing.T) {
	many := 10_000
	if longtest.Enabled(t) {
		many = 100_000
	}
	bubble(t, func(w *world) {
		w.b.CreateQueue("q", engine.Config{MaxSizeInMegabytes: 5120})
		id := w.add(alert.Rule{Name: "more time", Condition: alert.ExpiringSoon, Scope: "q", Within: 10 * second, Action: alert.Extend, ExtendBy: minute, MaxExtensions: 1})
		begin := w.b.ClockTime()
		end := begin.Add(5 * minute)
		for i := 0; i < many; i += 2000 {
			w.send("q", end.Sub(w.b.ClockTime()), numbered(i, 2000)...)
		}
		w.pass(end.Add(-10*second).Sub(w.b.ClockTime()) - second)
		w.wantFired(id, 0)
		w.pass(3 * second)
		s := w.status(id)
		w.equal([]int64{s.Fired, s.Done}, fmt.Sprint([]int64{int64(many), int64(many)}))
		for _, left := range w.left("q") {
			if left < minute {
				w.Fatalf("a message has %v left", left)
			}
		}
		alerts := w.rules.Alerts()
		items := 0
		for _, a := range alerts {
			items += len(a.Items)
		}
		if len(alerts) > 10 || items > 1000 {
			w.Errorf("there are %d alerts with %d messages in all, want few", len(alerts), items)
		}
		kept, err := w.b.Settings(w.Context(), "rescue/seen/")
		w.must(err)
		size := 0
		for _, s := range kept {
			size += len(s.Value)
		}
		if len(kept) > many/256 || size > 8<<20 {
			w.Errorf("%d settings with %d bytes in all are kept, want fewer", len(kept), size)
		}
		w.restart()
		w.pass(30 * second)
		w.equal(w.status(id).Fired, many)
		w.pass(5 * minute) // all have expired
		w.equal(len(w.b.Rows("q")), 0)
		w.equal(w.status(id).Fired, 2*many) // it fired for each because it could not extend it again
		w.pass(10 * minute)
		w.send("q", minute, "wakes it")
		w.pass(5 * minute)
		kept, err = w.b.Settings(w.Context(), "rescue/seen/")
		w.must(err)
		if len(kept) > 1 {
			w.Errorf("%d settings of messages that no longer exist are kept", len(kept))
		}
	})
}

// naive computes how often a rule must have fired and extended each message, by examining all
// messages at every step.
type naive struct {
	within  time.Duration
	by      time.Duration
	times   int
	covers  func(id string) bool
	expires map[string]engine.Instant
	done    map[string]int
	fired   int64
	last    map[string]engine.Instant // the expiry time for which the rule fired last
}

func (n *naive) step(now engine.Instant) {
	for id, at := range n.expires {
		for at != 0 && !at.Passed(now) && n.covers(id) && at.Sub(now) <= n.within && n.last[id] != at {
			n.fired++
			n.last[id] = at
			if n.done[id] < n.times {
				n.done[id]++
				at = at.Add(n.by)
				n.expires[id] = at
			}
		}
		if at.Passed(now) {
			delete(n.expires, id)
		}
	}
}

// TestAgainstNaive checks that a rule fires and extends messages as often as naive computes, in
// steps of a tenth of a second, while messages are sent, extended by a user and completed, and the
// server restarts.
func TestAgainstNaive(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			bubble(t, func(w *world) {
				w.b.CreateQueue("a", engine.Config{})
				w.b.CreateQueue("b", engine.Config{})
				n := naive{
					within: time.Duration(1+rnd.IntN(20)) * second, by: time.Duration(1+rnd.IntN(20)) * second, times: 1 + rnd.IntN(3),
					covers:  func(id string) bool { return !strings.HasSuffix(id, "3") && strings.HasPrefix(id, "a") },
					expires: map[string]engine.Instant{}, done: map[string]int{}, last: map[string]engine.Instant{},
				}
				id := w.add(alert.Rule{Name: "r", Condition: alert.ExpiringSoon, Scope: "a", Query: "-id:*3", Within: n.within, Action: alert.Extend, ExtendBy: n.by, MaxExtensions: n.times})
				for i := range 150 {
					switch rnd.IntN(6) {
					case 0, 1, 2:
						q := []string{"a", "b"}[rnd.IntN(2)]
						name := fmt.Sprint(q, i)
						ttl := time.Duration(1+rnd.IntN(40)) * second
						n.expires[name] = w.b.ClockTime().Add(ttl)
						w.send(engine.Path(q), ttl, name)
					case 3:
						if rows := w.b.Rows("a"); len(rows) > 0 {
							row := rows[rnd.IntN(len(rows))]
							to := w.b.ClockTime().Add(time.Duration(1+rnd.IntN(60)) * second)
							w.must(w.b.Extend(w.Context(), row.Message.Key, to, "somebody"))
							n.expires[row.Content.MessageID()] = to
						}
					case 4:
						if rnd.IntN(5) == 0 {
							w.restart()
						}
					}
					synctest.Wait()
					n.step(w.b.ClockTime())
					for range 5 {
						w.pass(100 * time.Millisecond)
						n.step(w.b.ClockTime())
					}
				}
				w.pass(50 * time.Millisecond)
				fired, done := n.fired, int64(0)
				for _, times := range n.done {
					done += int64(times)
				}
				s := w.status(id)
				if s.Fired != fired || s.Done != done || done == 0 {
					t.Errorf("the rule has fired %d times and extended %d messages, want %d and %d; trouble: %q", s.Fired, s.Done, fired, done, s.Trouble)
				}
			})
		})
	}
}

// TestExtendWhileSending checks that a send waits for only some of the extensions while a rule
// extends many messages.
func TestExtendWhileSending(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.send("q", minute, numbered(0, 20_000)...)
		w.add(alert.Rule{Name: "more time", Condition: alert.ExpiringSoon, Within: 10 * second, Action: alert.Extend, ExtendBy: minute, MaxExtensions: 1})
		w.pass(50*second - time.Millisecond)
		turns := 0
		for range 20 {
			before := w.b.Events().Last()
			w.b.SendMessages("q", broker.Outgoing{Content: engine.Content{MessageID: "x"}})
			turns = max(turns, int(w.b.Events().Last()-before))
			time.Sleep(time.Millisecond)
		}
		if turns > 3000 {
			w.Errorf("a sender has waited while %d other events happened", turns)
		}
	})
}

// The paths that a rule remembers fit into their setting, however long they are. Otherwise no
// rule's state would be stored.
func TestManyLongNames(t *testing.T) {
	bubble(t, func(w *world) {
		const n = 1010
		for i := range n {
			p := engine.Path(fmt.Sprintf("%s%04d", strings.Repeat("q", 256), i))
			w.b.CreateQueue(p, engine.Config{DeadLetteringOnMessageExpiration: true})
			w.send(p, second, "a")
		}
		id := w.add(alert.Rule{Name: "many", Condition: alert.DeadLettersAbove})
		w.pass(5 * second)
		w.wantFired(id, n)
		w.restart()
		w.pass(5 * second)
		w.wantFired(id, n)
		count := int64(0)
		for _, a := range w.offered {
			count += a.Count
		}
		w.equal(count, 0) // the rule has no webhook
		if all := w.rules.Alerts(); len(all) != 0 {
			t.Errorf("after a restart there is another alert, with count %d", all[0].Count)
		}
	})
}

// A preview reads bodies only up to a bound.
func TestPreviewReadsBoundedBodies(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("q", engine.Config{})
		body := make([]byte, 256<<10-1000)
		for i := range 100 {
			w.b.SendMessages("q", broker.Outgoing{Content: engine.Content{MessageID: fmt.Sprint(i), TTL: minute}, Body: body})
		}
		f, err := w.rules.Preview(w.Context(), alert.Rule{Condition: alert.ExpiringSoon, Within: 2 * minute, Query: "-body:nothing"})
		w.must(err)
		w.equal([]any{f.Known, f.Count, f.Incomplete, len(f.Sample)}, []any{true, 64, true, 5})
		f, err = w.rules.Preview(w.Context(), alert.Rule{Condition: alert.ExpiringSoon, Within: 2 * minute})
		w.must(err)
		w.equal([]any{f.Count, f.Incomplete}, []any{100, false})
	})
}
