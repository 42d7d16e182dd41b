package broker_test

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// The preview of an update's impact counts exactly the messages that the update then affects, and
// changes nothing (TTL-16).
func TestUpdateImpact(t *testing.T) {
	const half, day = 30 * time.Minute, 24 * time.Hour
	for name, tc := range map[string]struct {
		is     engine.Config
		change func(*engine.Config)
		want   broker.UpdateImpact
	}{
		"a shorter time":             {engine.Config{}, func(c *engine.Config) { c.DefaultMessageTimeToLive = half }, broker.UpdateImpact{Expire: 2, Locked: 1}},
		"with dead letters":          {engine.Config{}, func(c *engine.Config) { c.DefaultMessageTimeToLive, c.DeadLetteringOnMessageExpiration = half, true }, broker.UpdateImpact{Expire: 2, DeadLettered: 2, Locked: 1}},
		"as old as they are":         {engine.Config{}, func(c *engine.Config) { c.DefaultMessageTimeToLive = time.Hour }, broker.UpdateImpact{Expire: 2, Locked: 1}},
		"not as old as they are":     {engine.Config{}, func(c *engine.Config) { c.DefaultMessageTimeToLive = time.Hour + time.Millisecond }, broker.UpdateImpact{}},
		"a longer time":              {engine.Config{DefaultMessageTimeToLive: 2 * time.Hour}, func(c *engine.Config) { c.DefaultMessageTimeToLive = day }, broker.UpdateImpact{}},
		"something else":             {engine.Config{DefaultMessageTimeToLive: day}, func(c *engine.Config) { c.MaxDeliveryCount = 3 }, broker.UpdateImpact{}},
		"TTL-18 while it forwards":   {engine.Config{}, func(c *engine.Config) { c.DefaultMessageTimeToLive, c.ForwardTo = half, "on" }, broker.UpdateImpact{}},
		"a topic's, in its subs":     {engine.Config{DefaultMessageTimeToLive: -1}, func(c *engine.Config) { c.DefaultMessageTimeToLive = half }, broker.UpdateImpact{Expire: 4, DeadLettered: 2, Locked: 2}},
		"a topic's, longer than all": {engine.Config{DefaultMessageTimeToLive: -1}, func(c *engine.Config) { c.DefaultMessageTimeToLive = day }, broker.UpdateImpact{}},
	} {
		t.Run("TTL-16 "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, broker.Options{})
				paths := []engine.Path{"q"}
				w.CreateQueue("on", engine.Config{})
				if tc.is.DefaultMessageTimeToLive < 0 {
					tc.is.DefaultMessageTimeToLive = 0
					paths = []engine.Path{"q/Subscriptions/a", "q/Subscriptions/b"}
					for i, p := range append([]engine.Path{"q"}, paths...) {
						kind, of := engine.Subscription, engine.Config{LockDuration: 5 * time.Minute, DeadLetteringOnMessageExpiration: i == 2}
						if i == 0 {
							kind, of = engine.Topic, tc.is
						}
						_, err := w.Create(t.Context(), kind, p, of, "me")
						w.must(err)
					}
				} else {
					tc.is.LockDuration = 5 * time.Minute
					w.CreateQueue("q", tc.is)
				}
				w.send("q", "locked", "deferred", "old", "old")
				w.SendMessages("q", broker.Outgoing{Content: engine.Content{TTL: day}})
				time.Sleep(time.Hour)
				w.send("q", "new")
				for _, p := range paths {
					got, err := w.Receive(t.Context(), broker.ReceiveRequest{Path: p, Max: 2})
					w.must(err)
					_, err = w.Settle(t.Context(), engine.Settlement{Token: got[1].Token(), Outcome: engine.Defer})
					w.must(err)
				}
				look := func() (c engine.Config, n int64, all []engine.EntityState) {
					w.must(w.Read(t.Context(), func(r broker.Reader) error {
						for _, p := range paths {
							s, err := r.State(p)
							if err != nil {
								return err
							}
							n, all = n+s.Counts.Active, append(all, s)
						}
						s, err := r.State("q")
						c = s.Config
						return err
					}))
					return c, n, all
				}
				c, active, before := look()
				tc.change(&c)
				got, err := w.PreviewUpdate(t.Context(), "q", c, 1000)
				if w.must(err); got != tc.want {
					t.Errorf("the preview is %+v, not %+v", got, tc.want)
				}
				if _, _, after := look(); !reflect.DeepEqual(before, after) {
					t.Errorf("looking changed %+v to %+v", before, after)
				}
				_, err = w.Update(t.Context(), "q", c, "me")
				w.must(err)
				if synctest.Wait(); c.ForwardTo == "" {
					if _, left, _ := look(); active-left != tc.want.Expire {
						t.Errorf("%d messages have expired, want %d", active-left, tc.want.Expire)
					}
				}
			})
		})
	}
}

// A preview reports how many messages it did not examine, and refuses what an update would
// refuse.
func TestUpdateImpactOfManyMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		for range 5 {
			w.send("q", make([]string, 500)...)
		}
		time.Sleep(time.Hour)
		for most, want := range map[int64]broker.UpdateImpact{0: {Unexamined: 2500}, 1: {Expire: 1000, Unexamined: 1500}, 2000: {Expire: 2000, Unexamined: 500}, 2001: {Expire: 2500}} {
			if got, err := w.PreviewUpdate(t.Context(), "q", engine.Config{DefaultMessageTimeToLive: time.Minute}, most); err != nil || got != want {
				t.Errorf("of %d: %+v, %v; want %+v", most, got, err, want)
			}
		}
		for _, p := range []engine.Path{"t", "t/Subscriptions/a", "t/Subscriptions/b"} {
			kind := engine.Subscription
			if p == "t" {
				kind = engine.Topic
			}
			w.CreateEntity(kind, p, engine.Config{})
		}
		for range 3 {
			w.send("t", make([]string, 500)...)
		}
		time.Sleep(time.Hour)
		want := broker.UpdateImpact{Expire: 1000, Unexamined: 2000} // of both subscriptions together
		if got, err := w.PreviewUpdate(t.Context(), "t", engine.Config{DefaultMessageTimeToLive: time.Minute}, 1000); err != nil || got != want {
			t.Errorf("of a topic: %+v, %v; want %+v", got, err, want)
		}
		if _, err := w.PreviewUpdate(t.Context(), "q", engine.Config{RequiresSession: true}, 1000); !errors.Is(err, engine.ErrArgument) {
			t.Errorf("a property that is fixed at creation: %v", err)
		}
		if _, err := w.PreviewUpdate(t.Context(), "nowhere", engine.Config{}, 1000); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("a missing entity: %v", err)
		}
	})
}

// Messages that have already expired do not count as the update's. Messages that waited to be
// forwarded expire when they are no longer forwarded (TTL-18).
func TestUpdateImpactOfTheUpdateOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		is     engine.Config
		change func(*engine.Config)
		want   broker.UpdateImpact
	}{
		"run out before":   {engine.Config{DefaultMessageTimeToLive: 30 * time.Minute}, func(c *engine.Config) { c.DefaultMessageTimeToLive = time.Minute }, broker.UpdateImpact{}},
		"TTL-18 forwarded": {engine.Config{ForwardTo: "on"}, func(c *engine.Config) { c.ForwardTo = "" }, broker.UpdateImpact{Expire: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, broker.Options{NoSweep: true})
				w.CreateQueue("on", engine.Config{})
				w.CreateQueue("q", tc.is)
				_, err := w.Send(t.Context(), "q", []broker.Outgoing{{}, {Content: engine.Content{TTL: time.Minute}}}, "me")
				w.must(err)
				time.Sleep(time.Hour)
				tc.change(&tc.is)
				if got, err := w.PreviewUpdate(t.Context(), "q", tc.is, 1000); err != nil || got != tc.want {
					t.Errorf("the preview is %+v, %v; want %+v", got, err, tc.want)
				}
			})
		})
	}
}
