package mongo

import (
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// A TTL index may remove a message only if the broker would drop it on expiry, and a week after
// that. Every other change of the message or its entity revokes the permission.
func TestMessagesThatATTLIndexMayRemove(t *testing.T) {
	const end = engine.Instant(1_000_000)
	queue := engine.Entity{ID: 1, DeadLetterID: 2, Kind: engine.Queue, Path: "orders"}
	keeping := queue
	keeping.Config.DeadLetteringOnMessageExpiration = true
	plain := engine.Message{Key: 7, Content: 7, Subqueue: 1, Seq: 1, ExpiresAt: end}
	with := func(change func(*engine.Message)) engine.Message {
		m := plain
		change(&m)
		return m
	}
	for name, tc := range map[string]struct {
		in   engine.Entity
		m    engine.Message
		then *engine.Batch
		may  bool
	}{
		"one that vanishes":              {in: queue, m: plain, may: true},
		"one that becomes a dead letter": {in: keeping, m: plain},
		"one without an end":             {in: queue, m: with(func(m *engine.Message) { m.ExpiresAt = 0 })},
		"a locked one":                   {in: queue, m: with(func(m *engine.Message) { m.LockedUntil = 5 })},
		"a deferred one":                 {in: queue, m: with(func(m *engine.Message) { m.State = engine.Deferred })},
		"a scheduled one":                {in: queue, m: with(func(m *engine.Message) { m.State = engine.Scheduled })},
		"one that was tried":             {in: queue, m: with(func(m *engine.Message) { m.DeliveryCount = 1 })},
		"a dead letter":                  {in: queue, m: with(func(m *engine.Message) { m.Subqueue, m.Extra = 2, &engine.Extra{DeadLettered: true} })},
		"locked afterwards":              {in: queue, m: plain, then: &engine.Batch{Now: 2, Messages: []engine.Message{with(func(m *engine.Message) { m.LockedUntil = 5 })}}},
		"its queue keeps from now":       {in: queue, m: plain, then: &engine.Batch{Hard: true, Now: 2, Entities: []engine.Entity{keeping}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				on := new(toy)
				s, err := openOn(t.Context(), on, nil, timed(Options{}))
				if err != nil {
					t.Fatal(err)
				}
				commits := []*engine.Batch{{
					Hard: true, Now: 1, Entities: []engine.Entity{tc.in}, Contents: []engine.StoredContent{{Key: 7}}, Messages: []engine.Message{tc.m},
				}}
				if tc.then != nil {
					commits = append(commits, tc.then)
				}
				for _, b := range commits {
					if err := s.Commit(t.Context(), b); err != nil {
						t.Fatal(err)
					}
					time.Sleep(3 * applyEvery)
					synctest.Wait()
				}
				doc, err := on.Get(t.Context(), messages, s.names.key(7))
				if err != nil || doc == nil {
					t.Fatalf("the message's document: %v, %v", doc, err)
				}
				at, may := doc.Lookup("purgeAt").TimeOK()
				if may != tc.may {
					t.Errorf("the server may remove the message: %v, at %v; want %v", may, at, tc.may)
				}
				if may && !at.Equal(end.Add(7*24*time.Hour).Time()) {
					t.Errorf("purgeAt is %v, which is not a week after %v", at, end.Time())
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
