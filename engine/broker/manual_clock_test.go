package broker_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// expiring starts a broker with a manual clock, and sends a message that lives for a minute.
func expiring(t *testing.T) (*world, *broker.ManualClock) {
	t.Helper()
	m := broker.NewManualClock()
	w := start(t, broker.Options{ManualClock: m})
	w.CreateQueue("q", engine.Config{DeadLetteringOnMessageExpiration: true})
	w.SendMessages("q", broker.Outgoing{Content: engine.Content{MessageID: "a", TTL: time.Minute}})
	return w, m
}

// dead waits, at most an hour of real time, until the message is a dead letter, and returns how
// long that took.
func (w *world) dead() time.Duration {
	w.Helper()
	began, after := time.Now(), uint64(0)
	for {
		synctest.Wait()
		events, _, err := w.Events().After(w.Context(), after)
		w.must(err)
		for _, e := range events {
			after = e.N
			if e.Kind == engine.EventDeadLettered {
				return time.Since(began)
			}
		}
	}
}

// The real time until a deadline follows the rate of the clock, even if the rate changes while the
// broker waits.
func TestManualClockRates(t *testing.T) {
	for _, rate := range broker.ClockRates()[1:] {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, m := expiring(t)
				w.must(m.SetRate(rate))
				if want, took := time.Minute/time.Duration(rate), w.dead(); took < want || took > want+2*time.Millisecond {
					t.Errorf("it took %v, not %v", took, want)
				}
			})
		})
	}
	t.Run("turned on the way", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, m := expiring(t)
			w.must(m.SetRate(1))
			time.Sleep(30 * time.Second) // 30 s are left
			w.must(m.SetRate(10))
			time.Sleep(time.Second) // 20 s are left
			w.must(m.SetRate(0))
			time.Sleep(time.Hour)
			if left := w.Counts("q"); left.Active != 1 || left.DeadLetter != 0 {
				t.Fatalf("while the clock was stopped: %+v", left)
			}
			w.must(m.SetRate(60))
			if took := w.dead(); took < 333*time.Millisecond || took > 335*time.Millisecond {
				t.Errorf("20 s took %v at sixty times real time", took)
			}
		})
	})
}

// A stopped clock stops everything that depends on time: sent messages get its instant, nothing
// expires, but callers get answers.
func TestManualClockStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := expiring(t)
		began := m.Now()
		time.Sleep(24 * time.Hour)
		w.send("q", "b")
		rows, err := w.Peek(t.Context(), "q", 0, 10, "me")
		w.must(err)
		if len(rows) != 2 || rows[1].Message.EnqueuedAt != began {
			t.Errorf("%d messages, the last of %v, not %v", len(rows), rows[len(rows)-1].Message.EnqueuedAt, began)
		}
		if now, err := w.Now(t.Context()); err != nil || now != began || w.ClockTime() != began || w.ClockState() != (broker.ClockState{}) {
			t.Errorf("the reader has %v, ClockTime %v, with the clock %+v, %v", now, w.ClockTime(), w.ClockState(), err)
		}
		got, err := w.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Max: 5, Wait: time.Second})
		if err != nil || len(got) != 2 {
			t.Errorf("got %d, %v", len(got), err)
		}
		if none, err := w.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Wait: time.Second}); err != nil || len(none) != 0 { // real time ends the wait
			t.Errorf("got %d, %v", len(none), err)
		}
	})
}

// RunTo ends at its target after the given real time.
func TestManualClockRunsTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := expiring(t)
		end := m.Now().Add(time.Minute)
		m.RunTo(end, 2*time.Second)
		if p := w.ClockState(); p != (broker.ClockState{Rate: 30, Until: end}) {
			t.Errorf("on the way: %+v", p)
		}
		if took := w.dead(); took < 2*time.Second || took > 2*time.Second+2*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		time.Sleep(time.Hour)
		if m.Now() != end || w.ClockState() != (broker.ClockState{}) {
			t.Errorf("the time is %v, not %v, with the clock %+v", m.Now(), end, w.ClockState())
		}
		m.RunTo(end-1, time.Second) // a target in the past
		time.Sleep(time.Second)
		if m.Now() != end {
			t.Errorf("the clock went back to %v", m.Now())
		}
	})
}

// A run that ends before a message's deadline does not pass the deadline.
func TestManualClockRunsToBeforeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := expiring(t)
		m.RunTo(m.Now().Add(time.Minute-time.Millisecond), time.Second)
		time.Sleep(time.Hour)
		if left := w.Counts("q"); left.Active != 1 {
			t.Errorf("a moment before: %+v", left)
		}
		m.JumpTo(m.Now() + 1)
		if took := w.dead(); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// Neither the clock's time nor the broker's ever decreases, whatever rates, jumps and runs are
// requested.
func TestManualClockNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := broker.NewManualClock()
		w := start(t, broker.Options{ManualClock: m})
		before := m.Now()
		for i := range 200 {
			switch i % 5 {
			case 0:
				w.must(m.SetRate(broker.ClockRates()[i/5%4]))
			case 1:
				m.JumpTo(before.Add(time.Duration(i-100) * time.Second))
			case 2:
				m.RunTo(before.Add(time.Duration(100-i)*time.Minute), time.Duration(i)*time.Millisecond)
			}
			time.Sleep(time.Duration(i) * time.Millisecond)
			now, err := w.Now(t.Context())
			w.must(err)
			if now < before {
				t.Fatalf("%d: it is %v, was %v", i, now, before)
			}
			before = now
		}
		if err := m.SetRate(7); !errors.Is(err, engine.ErrArgument) {
			t.Errorf("it runs at 7: %v", err)
		}
	})
}

// After the store fails, decisions made before stay in the past, and the clock is unchanged.
func TestManualClockWhenTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := expiring(t)
		m.JumpTo(m.Now().Add(30 * time.Second))
		before := m.Now()
		w.store.breaks(errors.New("a broken disk"), false)
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, "me"); err == nil {
			t.Fatal("the store did not fail")
		}
		w.store.breaks(nil, false)
		time.Sleep(5 * time.Second)
		if now, err := w.Now(t.Context()); err != nil || now != before {
			t.Errorf("it is %v, was %v, %v", now, before, err)
		}
	})
}

// A broker without a ManualClock runs by the system's clock.
func TestNoManualClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		if p := w.ClockState(); p != (broker.ClockState{Rate: 1}) {
			t.Errorf("%+v", p)
		}
		if d := w.TimeUntil(w.ClockTime().Add(time.Minute)); d != time.Minute {
			t.Errorf("a minute takes %v", d)
		}
	})
}

// Upcoming lists the next events by kind.
func TestUpcoming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := expiring(t)
		at := m.Now()
		w.CreateQueue("temp", engine.Config{AutoDeleteOnIdle: 10 * time.Minute})
		w.CreateQueue("locks", engine.Config{LockDuration: 40 * time.Second})
		_, err := w.Send(t.Context(), "q", []broker.Outgoing{{Content: engine.Content{ScheduledFor: at.Add(2 * time.Minute)}}, {Content: engine.Content{TTL: 5 * time.Minute, ScheduledFor: at.Add(time.Minute)}}}, "me")
		w.must(err)
		w.send("locks", "x")
		upcoming := func() (u engine.Upcoming, due engine.Instant) {
			w.must(w.Read(t.Context(), func(r broker.Reader) error { u, due = r.Upcoming(), r.NextDue(); return nil }))
			return u, due
		}
		if u, due := upcoming(); u != (engine.Upcoming{Expiry: at.Add(time.Minute), Activation: at.Add(time.Minute), AutoDelete: at.Add(10 * time.Minute)}) || due != at.Add(time.Minute) {
			t.Errorf("%+v, then %v", u, due)
		}
		if _, err := w.Receive(t.Context(), broker.ReceiveRequest{Path: "locks"}); err != nil {
			t.Fatal(err)
		}
		if u, due := upcoming(); u.Unlock != at.Add(40*time.Second) || due != u.Unlock {
			t.Errorf("%+v, then %v", u, due)
		}
		m.JumpTo(at.Add(20 * time.Minute))
		synctest.Wait()
		if u, _ := upcoming(); u != (engine.Upcoming{}) {
			t.Errorf("after all: %+v", u)
		}
		if !slices.Contains(broker.ClockRates(), 0) {
			t.Error("it cannot stand")
		}
	})
}
