package mongo

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// A dawdling server makes the deletes of one collection much later.
type dawdling struct {
	server
	in collection
	by time.Duration
}

func (d dawdling) Delete(ctx context.Context, in collection, ids []string) error {
	if in == d.in {
		time.AfterFunc(d.by, func() {
			if err := d.server.Delete(context.Background(), in, ids); err != nil {
				panic(err)
			}
		})
		return errBroken
	}
	return d.server.Delete(ctx, in, ids)
}

// A rule is the one thing that can come again under the name it had. Whoever
// sweeps what it left when it went, however late, does not take the new one.
func TestARuleComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := engine.At(time.Now())
		now := func() engine.Instant { return max(at+1, engine.At(time.Now())) }
		db := new(toy)
		s, err := openOn(t.Context(), dawdling{db, rules, 10 * time.Minute}, nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		commit := func(b *engine.Batch) {
			b.Hard, b.Now = true, now()
			b.Meters = []engine.Meter{{Holder: 1, NextSeq: engine.Seq(b.Now)}}
			if err := s.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * applyEvery)
		}
		rule := engine.Rule{Subscription: 1, Name: "again"}
		put := []engine.Rule{rule}
		commit(&engine.Batch{Entities: []engine.Entity{{ID: 1, Path: "t/s"}}, Rules: put})
		commit(&engine.Batch{DropRules: []engine.RuleID{{Subscription: 1, Name: "again"}}})
		for range 10 { // until its tombstone is of no more use, and some minutes
			time.Sleep(7 * time.Minute)
			commit(&engine.Batch{})
		}
		commit(&engine.Batch{Rules: put})
		time.Sleep(time.Hour)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if s, err = openOn(t.Context(), db, nil, Options{}); err != nil {
			t.Fatal(err)
		}
		got, _, _, err := read(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if _, there := got[ruleName(engine.RuleID{Subscription: 1, Name: "again"})]; !there {
			t.Error("it is gone")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
