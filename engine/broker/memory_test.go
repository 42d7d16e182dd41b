package broker_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// fill sends until memory is full.
func (w *world) fill(to engine.Path) (n int) {
	w.Helper()
	for ; n < 10_000; n++ {
		_, err := w.Send(w.Context(), to, []broker.Outgoing{{Content: engine.Content{Subject: strings.Repeat("s", 900)}}}, "test")
		switch {
		case err == nil:
		case errors.Is(err, engine.ErrBusy) && strings.Contains(err.Error(), "--limit memory"):
			return n
		default:
			w.Fatal(err)
		}
	}
	w.Fatal("memory is never full")
	return n
}

// memoryEvents returns how often each event about memory was published.
func (w *world) memoryEvents() (full, free int) {
	w.Helper()
	synctest.Wait()
	events, _, err := w.Events().After(w.Context(), 0)
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range events {
		switch e.Kind {
		case engine.EventMemoryFull:
			full++
		case engine.EventMemoryFree:
			free++
		}
	}
	return full, free
}

// Full memory is announced once, in every namespace whose sends are refused. Receiving still
// works and frees memory, and a closed broker uses none.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := engine.NewMemory(100 << 10)
		w, other := start(t, broker.Options{Memory: m}), start(t, broker.Options{Memory: m})
		w.CreateQueue("q", engine.Config{})
		other.CreateQueue("q", engine.Config{})
		if h := w.Health(); h != (broker.Health{}) {
			t.Errorf("an empty broker's health is %+v", h)
		}
		n := w.fill("q")
		if full, free := w.memoryEvents(); full != 1 || free != 0 || !w.Health().Memory.Full || other.Health().Memory.Full {
			t.Errorf("there are %d full and %d free events, %+v, %+v", full, free, w.Health(), other.Health())
		}
		if got := other.fill("q"); got == 0 || got > n/5 || other.Health().Memory.Used != m.Used() {
			t.Errorf("the other namespace took %d messages of %d", got, n)
		}
		if full, free := other.memoryEvents(); full != 1 || free != 0 || !other.Health().Memory.Full {
			t.Errorf("the other namespace has %d full and %d free events, %+v", full, free, other.Health())
		}
		for range n / 2 {
			w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Max: 1, Mode: engine.ReceiveAndDelete})
		}
		if full, free := w.memoryEvents(); full != 1 || free != 1 || w.Health().Memory.Low() {
			t.Errorf("there are %d full and %d free events, %+v", full, free, w.Health())
		}
		other.send("q", "there is room")

		before := m.Used()
		w.store.breaks(errors.New("the cable was pulled"), false)
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, ""); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		w.store.breaks(nil, false)
		synctest.Wait()
		w.Counts("q")
		if after := m.Used(); after < before*9/10 || after > before*11/10 {
			t.Errorf("memory use was %d bytes before the store was opened again, %d after", before, after)
		}
		for _, b := range []*world{w, other} {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
		if kept := m.Used(); kept != 0 {
			t.Errorf("closed brokers use %d bytes", kept)
		}
	})
}
