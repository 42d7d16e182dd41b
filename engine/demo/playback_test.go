package demo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/namespaces"
)

const three = `
title: Three steps
summary: Nothing much.
entities: [{queue: q, properties: {DeadLetteringOnMessageExpiration: true}}]
steps:
  - {caption: one, page: /q/q, highlight: [a], actions: [{send: {to: q, as: a, body: x, timeToLive: 1m}}], expect: [{text: it is there, entity: q, active: 1}]}
  - {caption: two, actions: [{wait: 30s}], expect: [{text: it still is, message: a, state: active}]}
  - {caption: three, page: /, actions: [{wait: 30s}], expect: [{text: it is dead, message: a, in: q/$DeadLetterQueue}]}
`

// StepBack plays all but the last step again, in a new namespace of the same name. Reset returns to
// the beginning of the scene.
func TestBackAndReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		p := w.add(three)
		for n := range 3 {
			w.must(p.NextStep(t.Context(), n, demo.Instant, "me"))
		}
		former, name := w.broker(p), p.Name()
		begun, _ := w.namespaces.Find(name)
		time.Sleep(time.Minute)
		if is := p.State(); is.Page() != "/" || is.Step().Caption != "three" || is.Keys["a"] == 0 {
			t.Errorf("in the end: %+v", is)
		}
		w.must(p.StepBack(t.Context(), 3, "me"))
		is := p.State()
		if is.Done != 2 || is.Namespace != name || is.Page() != "/q/q" || !is.Results[0].OK {
			t.Errorf("a step back: %+v", is)
		}
		if b := w.broker(p); b == former || w.Find(name) != p {
			t.Error("StepBack did not replace the namespace")
		}
		if n, _ := w.namespaces.Find(name); n.Created != begun.Created {
			t.Errorf("the namespace was created at %v, want the former one's %v", n.Created, begun.Created)
		}
		w.must(p.NextStep(t.Context(), 2, demo.Instant, "me"))
		if is := p.State(); !is.Results[0].OK || !is.Ended() {
			t.Errorf("on again: %+v", is)
		}
		if err := p.StepBack(t.Context(), 2, "me"); !errors.Is(err, engine.ErrChanged) {
			t.Errorf("back from elsewhere: %v", err)
		}
		w.must(p.Reset(t.Context(), "me"))
		if is := p.State(); is.Done != 0 || is.Results != nil || is.Step() != nil || is.Page() != "/q/q" {
			t.Errorf("at the beginning: %+v", is)
		}
		w.must(p.StepBack(t.Context(), 0, "me"))
		if is := p.State(); is.Done != 0 {
			t.Errorf("before the beginning: %+v", is)
		}
	})
}

// Two requests for the same next step play it once, and no step is played while another is.
func TestNextOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		p := w.add(three)
		w.must(p.NextStep(t.Context(), 0, demo.Instant, "me"))
		if err := p.NextStep(t.Context(), 0, demo.Instant, "me"); !errors.Is(err, engine.ErrChanged) {
			t.Errorf("once more: %v", err)
		}
		w.must(p.NextStep(t.Context(), 1, demo.Animated, "me"))
		if is := p.State(); !is.Playing || is.Done != 2 {
			t.Errorf("while it is played: %+v", is)
		}
		if err := p.NextStep(t.Context(), 2, demo.Animated, "me"); !errors.Is(err, engine.ErrChanged) {
			t.Errorf("beside: %v", err)
		}
		if _, err := p.JumpTo(t.Context(), demo.Expiry, "me"); !errors.Is(err, engine.ErrChanged) {
			t.Errorf("jump beside: %v", err)
		}
		time.Sleep(time.Second)
		began := time.Now()
		w.must(p.Reset(t.Context(), "me")) // while a step is being played
		if took := time.Since(began); took > 0 {
			t.Errorf("a reset waits for the running step: %v", took)
		}
		if is := p.State(); is.Playing || is.Done != 0 || is.Trouble != nil {
			t.Errorf("after a reset: %+v", is)
		}
		time.Sleep(time.Minute)
		if is := p.State(); is.Done != 0 || is.Trouble != nil {
			t.Errorf("the running step went on after the reset: %+v", is)
		}
	})
}

// Viewers can turn the clock of a playback, and let it jump to the next event.
func TestClockOfAPlayback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		p := w.add(`
title: All that comes
summary: Nothing much.
entities: [{queue: q, properties: {LockDuration: PT45S}}, {queue: temp, properties: {AutoDeleteOnIdle: PT10M}}]
steps:
  - caption: one
    actions:
      - send: {to: q, as: b, body: locked}
      - receive: {from: q, as: b}
      - send: {to: q, as: a, body: x, timeToLive: 1m}
      - send: {to: q, as: c, body: y, delay: 2m, timeToLive: 9m}
  - {caption: two}
`)
		w.must(p.NextStep(t.Context(), 0, demo.Instant, "me"))
		began := p.State().Clock
		for _, want := range []struct {
			m  demo.Moment
			at time.Duration
		}{{demo.Unlock, 45 * time.Second}, {demo.AutoDelete, 10 * time.Minute}, {demo.Expiry, 11 * time.Minute}} {
			to, err := p.JumpTo(t.Context(), want.m, "me")
			if err != nil || to != began.Add(want.at) || p.State().Clock != to {
				t.Errorf("next %s is after %v, and the clock is at %v, not %v: %v", want.m, to.Sub(began), p.State().Clock.Sub(began), want.at, err)
			}
		}
		if to, err := p.JumpTo(t.Context(), demo.Unlock, "me"); to != 0 || err != nil {
			t.Errorf("nothing is locked: %v, %v", to, err)
		}
		events, _, err := w.broker(p).Events().After(t.Context(), 0)
		w.must(err)
		when := map[string]time.Duration{}
		for _, e := range events {
			switch e.Kind {
			case engine.EventExpired, engine.EventEntityAutoDeleted, engine.EventActivated, engine.EventLockLost:
				when[fmt.Sprint(e.Kind, " ", e.Path)] = e.At.Sub(began)
			}
		}
		if want := fmt.Sprint(map[string]time.Duration{"lock-lost q": 45 * time.Second, "activated q": 2 * time.Minute, "entity-auto-deleted temp": 10 * time.Minute, "expired q": 11 * time.Minute}); fmt.Sprint(when) != want {
			t.Errorf("the events are at %v, not %v", when, want) // each at its own time, although the clock jumped
		}
		w.must(p.SetClockRate(t.Context(), 60, "me"))
		before := p.State()
		time.Sleep(time.Minute)
		if after := p.State(); before.ClockState != (broker.ClockState{Rate: 60}) || after.Clock != before.Clock.Add(time.Hour) {
			t.Errorf("in a minute the clock went on by %v, at %+v", after.Clock.Sub(before.Clock), before.ClockState)
		}
		if err := p.SetClockRate(t.Context(), 3, "me"); !errors.Is(err, engine.ErrArgument) {
			t.Errorf("it runs at 3: %v", err)
		}
	})
}

// Only a temporary namespace can have a manual clock.
func TestNoClockForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		_, err := w.namespaces.Create(t.Context(), namespaces.Spec{Name: "shop", ManualClock: broker.NewManualClock()}, "me")
		if !errors.Is(err, engine.ErrArgument) {
			t.Errorf("a namespace that stays: %v", err)
		}
		_, err = w.namespaces.Create(t.Context(), namespaces.Spec{Name: "other", Temporary: true}, "me")
		w.must(err)
		for _, name := range []string{"default", "other", "none"} {
			if p := w.Find(name); p != nil {
				t.Errorf("%s has a playback", name)
			}
			if _, err := w.Playback(name); !errors.Is(err, demo.ErrNotPlaying) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// An unwatched playback ends after a while, with its namespace. A watched one does not.
func TestPlaysGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{IdleTimeout: 10 * time.Minute})
		p, q := w.begin("defer"), w.begin("defer")
		for range 4 {
			time.Sleep(4 * time.Minute)
			if w.Find(strings.ToUpper(q.Name())) != q {
				t.Fatal("it went")
			}
		}
		if _, _, err := w.namespaces.Broker(p.Name()); !errors.Is(err, namespaces.ErrNoNamespace) || w.Peek(p.Name()) != nil {
			t.Errorf("the unwatched playback still exists: %v", err)
		}
	})
}

// A playback ends when its namespace is deleted, and a new namespace of that name does not
// belong to it.
func TestNamespaceRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		p, q := w.add(three), w.begin("defer")
		w.must(p.NextStep(t.Context(), 0, demo.Instant, "me"))
		w.must(p.NextStep(t.Context(), 1, demo.Animated, "me"))
		_, err := w.namespaces.Remove(t.Context(), p.Name(), "me")
		w.must(err)
		if all := w.List(); len(all) != 1 || all[0] != q || w.Peek(p.Name()) != nil {
			t.Errorf("the playback still exists without its namespace: %v", all)
		}
		synctest.Wait() // the running step has ended
		_, jump := p.JumpTo(t.Context(), demo.Expiry, "me")
		for what, err := range map[string]error{
			"next": p.NextStep(t.Context(), 2, demo.Instant, "me"), "back": p.StepBack(t.Context(), 2, "me"), "reset": p.Reset(t.Context(), "me"),
			"turn": p.SetClockRate(t.Context(), 10, "me"), "jump": jump, "end": w.End(t.Context(), p.Name(), "me"),
		} {
			if !errors.Is(err, demo.ErrNotPlaying) {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err = w.namespaces.Create(t.Context(), namespaces.Spec{Name: p.Name(), Temporary: true}, "me")
		w.must(err)
		if err := w.End(t.Context(), p.Name(), "me"); !errors.Is(err, demo.ErrNotPlaying) {
			t.Errorf("another namespace of that name can be ended as a playback: %v", err)
		}
		time.Sleep(time.Hour)
		if _, _, err := w.namespaces.Broker(p.Name()); err != nil || w.Peek(p.Name()) != nil {
			t.Errorf("the other namespace was deleted: %v", err)
		}
	})
}

// The actor of an operation on a message is its receiver.
func TestOperationsOfTheReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		p := w.add(`
title: Anna
summary: Who does what.
entities: [{queue: q}]
steps:
  - caption: one
    actions: [{send: {to: q, as: a, body: x}}, {receive: {from: q, by: Anna, as: a}}, {defer: a}, {receiveDeferred: {from: q, message: a}}, {complete: a}]
`)
		w.must(p.NextStep(t.Context(), 0, demo.Instant, "me"))
		var by []string
		for _, e := range w.broker(p).Events().Recent(100) {
			if e.Message.Seq == 1 && e.Kind != engine.EventSent {
				by = append(by, fmt.Sprint(e.Kind, " ", e.Actor))
			}
		}
		for _, actor := range by {
			if !strings.HasSuffix(actor, " Anna") {
				t.Errorf("the events and their actors are %q", by)
			}
		}
		if len(by) < 4 {
			t.Errorf("too few events: %q", by)
		}
	})
}

// A playback does not end while its namespace is being created again.
func TestResetIsNotTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &late{}
		w := open(t, demo.Options{Namespaces: slow})
		p := w.add(three)
		slow.by = 3 * time.Minute
		set := make(chan error, 1)
		go func() { set <- p.Reset(t.Context(), "me") }()
		for _, when := range []string{"while it is made anew", "then"} {
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if w.Peek(p.Name()) != p || len(w.List()) != 1 {
				t.Error("the playback is not listed", when)
			}
		}
		w.must(<-set)
	})
}

// AwaitRebuilt waits until a playback that goes a step back is complete. It does not wait for
// other namespaces.
func TestAwaitRebuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &late{}
		w := open(t, demo.Options{Namespaces: slow})
		p := w.add(three)
		w.must(p.NextStep(t.Context(), 0, demo.Instant, "me"))
		w.must(p.NextStep(t.Context(), 1, demo.Instant, "me"))
		slow.by = 3 * time.Minute
		begun := time.Now()
		w.AwaitRebuilt(t.Context(), p.Name())
		w.AwaitRebuilt(t.Context(), "another")
		set := make(chan error, 1)
		go func() { set <- p.StepBack(t.Context(), 2, "me") }()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w.AwaitRebuilt(short, p.Name())
		if waited := time.Since(begun); waited != time.Minute || p.State().Done != 2 {
			t.Errorf("with a deadline, AwaitRebuilt waited for %v, at step %d", waited, p.State().Done)
		}
		w.AwaitRebuilt(t.Context(), p.Name())
		if waited := time.Since(begun); waited != 3*time.Minute || p.State().Done != 1 || p.State().Playing {
			t.Errorf("AwaitRebuilt waited for %v, at step %d", waited, p.State().Done)
		}
		w.must(<-set)
	})
}

// After manual changes between two steps, a step that fails is played again in a recreated
// namespace.
func TestStepAfterManualChanges(t *testing.T) {
	jumpTo := func(m demo.Moment) func(*world, *demo.Playback) {
		return func(w *world, p *demo.Playback) {
			_, err := p.JumpTo(w.Context(), m, "me")
			w.must(err)
		}
	}
	for name, tc := range map[string]struct {
		scene string
		done  int // steps played before the manual change
		by    func(*world, *demo.Playback)
		want  bool
	}{
		"nothing": {"deadline", 2, func(*world, *demo.Playback) {}, false},
		"the clock ran on": {"deadline", 2, func(w *world, p *demo.Playback) {
			w.must(p.SetClockRate(w.Context(), 10, "me"))
			time.Sleep(10 * time.Second)
			w.must(p.SetClockRate(w.Context(), 0, "me"))
		}, true},
		"it jumped to the end of a lock":  {"lock", 2, jumpTo(demo.Unlock), true},
		"to where a queue deletes itself": {"reply-queues", 1, jumpTo(demo.AutoDelete), true},
		"a queue is gone": {"deadline", 1, func(w *world, p *demo.Playback) {
			w.must(w.broker(p).Delete(w.Context(), "ticker", broker.Unconfirmed, "me"))
		}, true},
		"a queue is there that is nobody's": {"deadline", 1, func(w *world, p *demo.Playback) {
			_, err := w.broker(p).Create(w.Context(), engine.Queue, "mine", engine.Config{}, "me")
			w.must(err)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := open(t, demo.Options{})
				p := w.begin(tc.scene)
				for n := range tc.done {
					w.must(p.NextStep(t.Context(), n, demo.Instant, "me"))
				}
				tc.by(w, p)
				for n := tc.done; n < len(p.Scene().Steps); n++ {
					w.must(p.NextStep(t.Context(), n, demo.Instant, "me"))
					is := p.State()
					if is.Done != n+1 || is.Trouble != nil || is.Playing || slices.ContainsFunc(is.Results, func(f demo.CheckResult) bool { return !f.OK }) {
						t.Errorf("step %d: %+v", n+1, is)
					}
					if mended := tc.want && n == tc.done; is.Recreated != mended {
						t.Errorf("step %d: Recreated is %v, want %v", n+1, is.Recreated, mended)
					}
				}
				w.must(p.Reset(t.Context(), "me"))
				if p.State().Recreated {
					t.Error("Recreated is still true after a reset")
				}
			})
		})
	}
}

// A step that always fails is tried once more, and then reported.
func TestStepThatAlwaysFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		p := w.add("title: t\nsummary: t\nentities: [{queue: q}]\nsteps:\n- {caption: s, expect: [{text: t, entity: q, active: 1}]}\n- {caption: s, actions: [{receive: {from: q, as: a}}]}")
		w.must(p.NextStep(t.Context(), 0, demo.Animated, "me"))
		synctest.Wait()
		if is := p.State(); is.Done != 1 || is.Playing || is.Recreated || len(is.Results) != 1 || is.Results[0].OK {
			t.Errorf("unexpected state: %+v", is)
		}
		if err := p.NextStep(t.Context(), 1, demo.Instant, "me"); !errors.Is(err, engine.ErrArgument) || p.State().Trouble == nil {
			t.Errorf("broken off: %v, %+v", err, p.State())
		}
	})
}

// When memory is full, a step is aborted with that reason. The namespace is not recreated,
// because a new one would have no more room.
func TestMemoryIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openIn(t, demo.Options{}, engine.NewMemory(200<<10))
		large, small := w.begin("deadline"), w.begin("deadline")
		p := w.add("title: t\nsummary: t\nentities: [{queue: q}]\nsteps:\n- {caption: s, actions: [{send: {to: q, as: a}}]}\n- {caption: s, actions: [{send: {to: q, as: b}}]}")
		w.must(p.NextStep(t.Context(), 0, demo.Instant, "me"))
		_, err := w.broker(p).Send(t.Context(), "q", make([]broker.Outgoing, 20), "me") // as a manual change
		w.must(err)
		for _, other := range []*demo.Playback{large, small} {
			b := w.broker(other)
			_, err := b.Create(t.Context(), engine.Queue, "full", engine.Config{}, "me")
			for w.must(err); err == nil; {
				_, err = b.Send(t.Context(), "full", make([]broker.Outgoing, 1), "me")
			}
		}
		if err := p.NextStep(t.Context(), 1, demo.Instant, "me"); !errors.Is(err, engine.ErrMemoryFull) || !errors.Is(p.State().Trouble, engine.ErrMemoryFull) {
			t.Fatalf("broken off: %v, %+v", err, p.State())
		}
		w.must(w.broker(p).Read(t.Context(), func(r broker.Reader) error {
			if s, err := r.State("q"); err != nil || s.Counts.Active != 21 {
				t.Errorf("the queue has %+v: %v", s.Counts, err)
			}
			return nil
		}))
		w.must(w.End(t.Context(), large.Name(), "me"))
		w.must(p.Reset(t.Context(), "me"))
		for n := range 2 {
			w.must(p.NextStep(t.Context(), n, demo.Instant, "me"))
		}
	})
}

// NextStep plays a step to its end even if its context has ended.
func TestStepOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		p := w.add(three)
		gone, leave := context.WithCancel(t.Context())
		leave()
		w.must(p.NextStep(gone, 0, demo.Instant, "me"))
		if is := p.State(); is.Trouble != nil || len(is.Results) != 1 || !is.Results[0].OK {
			t.Errorf("%+v", is)
		}
	})
}

// Ending a playback deletes its namespace, even while a step is being played.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		p := w.add(three)
		w.must(p.NextStep(t.Context(), 0, demo.Instant, "me"))
		w.must(p.NextStep(t.Context(), 1, demo.Animated, "me"))
		w.must(w.End(t.Context(), p.Name(), "me"))
		if _, _, err := w.namespaces.Broker(p.Name()); !errors.Is(err, namespaces.ErrNoNamespace) || len(w.List()) != 0 {
			t.Errorf("the namespace or the playback still exists: %v", err)
		}
		if err := w.End(t.Context(), p.Name(), "me"); !errors.Is(err, demo.ErrNotPlaying) {
			t.Errorf("once more: %v", err)
		}
	})
}

// When there are too many playbacks, a new one replaces the one that has been unwatched for
// longest, if that is long enough.
func TestLimitOfPlays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		first := w.begin("defer")
		time.Sleep(time.Second)
		for range namespaces.DefaultMaxTemporary - 1 {
			w.begin("defer")
		}
		if _, err := w.Begin(t.Context(), "defer", "me"); !errors.Is(err, engine.ErrQuota) {
			t.Errorf("one more: %v", err)
		}
		time.Sleep(6 * time.Minute)
		last := w.begin("defer")
		if w.Peek(first.Name()) != nil || w.Peek(last.Name()) != last {
			t.Error("the first playback was not replaced by the last")
		}
		if _, err := w.Begin(t.Context(), "none", "me"); !errors.Is(err, demo.ErrNoScene) {
			t.Errorf("no such scene: %v", err)
		}
	})
}

// A failed expectation of a step is reported, and an impossible action ends the playback.
func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		p := w.add(`
title: It does not work
summary: Nothing much.
entities: [{queue: q}, {queue: none}]
steps:
  - caption: one
    actions: [{delete: none}, {send: {to: q, as: a, body: x, properties: {k: 1}}}]
    expect:
      - {text: t, entity: q, active: 2}
      - {text: t, entity: q, gone: true}
      - {text: t, entity: none}
      - {text: t, message: a, gone: true}
      - {text: t, message: a, state: locked}
      - {text: t, message: a, in: q/$DeadLetterQueue}
      - {text: t, message: a, deliveryCount: 1}
      - {text: t, message: a, body: y}
      - {text: t, message: a, reason: z}
      - {text: t, message: a, properties: {k: 2}}
      - {text: t, entity: q, active: 1, locked: 0, deferred: 0, scheduled: 0, deadLetters: 0}
      - {text: t, message: a, properties: {k: 1}, body: x, deliveryCount: 0, state: active, in: Q}
  - {caption: two, actions: [{receive: {from: q, none: true}}]}
  - {caption: three}
`)
		w.must(p.NextStep(t.Context(), 0, demo.Instant, "me"))
		is := p.State()
		for i, f := range is.Results {
			if f.OK != (i >= 10) || f.OK != (f.Actual.String() == "") {
				t.Errorf("%d: %+v", i+1, f)
			}
		}
		if err := p.NextStep(t.Context(), 1, demo.Instant, "me"); !errors.Is(err, engine.ErrArgument) || !strings.Contains(p.State().Trouble.Error(), "step 2: 'q' should have no messages") {
			t.Errorf("%v", err)
		}
		if err := p.NextStep(t.Context(), 2, demo.Instant, "me"); !errors.Is(err, engine.ErrChanged) || !p.State().Ended() {
			t.Errorf("after that: %v", err)
		}
		w.must(p.Reset(t.Context(), "me"))
		if p.State().Trouble != nil {
			t.Error("the trouble is still reported after a reset")
		}
	})
}
