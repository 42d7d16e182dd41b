package mongo

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// A dawdling server delays the deletes in the collection `in`.
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

func (d dawdling) Purge(ctx context.Context, in collection, r idRange, at time.Time) error {
	if in == d.in {
		time.AfterFunc(d.by, func() {
			if err := d.server.Purge(context.Background(), in, r, at); err != nil {
				panic(err)
			}
		})
		return errBroken
	}
	return d.server.Purge(ctx, in, r, at)
}

// A rule can be created again under its former name, and so can a session or a setting. A late
// sweep of the former one's documents does not delete the new one.
func TestARuleComesAgain(t *testing.T) {
	id := engine.RuleID{Subscription: 1, Name: "again"}
	comesAgain(t, rules, &engine.Batch{Rules: []engine.Rule{{Subscription: 1, Name: "again"}}}, &engine.Batch{DropRules: []engine.RuleID{id}}, ruleName(id))
}

func TestASessionComesAgain(t *testing.T) {
	comesAgain(t, sessions, &engine.Batch{Sessions: []engine.SessionRecord{{Subqueue: 1, ID: "again"}}},
		&engine.Batch{DropSessions: []engine.SessionID{{Subqueue: 1, ID: "again"}}}, sessionName(1, "again"))
}

func TestASettingComesAgain(t *testing.T) {
	comesAgain(t, namespaceSettings, &engine.Batch{Settings: []engine.Setting{{Key: "again"}}}, &engine.Batch{DropSettings: []string{"again"}}, settingName("again"))
}

func comesAgain(t *testing.T, in collection, put, drop *engine.Batch, name string) {
	synctest.Test(t, func(t *testing.T) {
		at := engine.At(time.Now())
		now := func() engine.Instant { return max(at+1, engine.At(time.Now())) }
		db := new(toy)
		s, err := openOn(t.Context(), dawdling{db, in, 10 * time.Minute}, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		commit := func(b *engine.Batch) {
			b.Hard, b.Now = true, now()
			b.Meters = []engine.Meter{{Subqueue: 1, NextSeq: engine.Seq(b.Now)}}
			if err := s.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * applyEvery)
			synctest.Wait()
		}
		commit(&engine.Batch{Entities: []engine.Entity{{ID: 1, Path: "t/s"}}})
		again := *put
		commit(put)
		commit(drop)
		for range 10 { // until its tombstone is no longer needed, and some minutes more
			time.Sleep(7 * time.Minute)
			commit(&engine.Batch{})
		}
		commit(&again)
		time.Sleep(time.Hour)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if s, err = openOn(t.Context(), db, nil, timed(Options{})); err != nil {
			t.Fatal(err)
		}
		got, _, _, err := read(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if _, there := got[name]; !there {
			t.Error("the new record was deleted")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Tombstones of every kind are removed even if the server has no TTL indexes.
func TestTombstonesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := new(toy)
		s, err := openOn(t.Context(), db, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		commit := func(b *engine.Batch) {
			t.Helper()
			b.Hard, b.Now = true, engine.At(time.Now())
			if err := s.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * applyEvery)
			synctest.Wait()
		}
		commit(&engine.Batch{
			Entities: []engine.Entity{{ID: 1, Path: "kept"}, {ID: 2, Path: "gone"}}, Meters: []engine.Meter{{Subqueue: 2, NextSeq: 2}},
			Rules: []engine.Rule{{Subscription: 1, Name: "r"}}, Sessions: []engine.SessionRecord{{Subqueue: 1, ID: "s"}, {Subqueue: 1, ID: "kept"}},
			Contents: []engine.StoredContent{{Key: 7}}, Settings: []engine.Setting{{Key: "x"}, {Key: "kept"}}, Messages: []engine.Message{{Key: 7, Content: 7, Subqueue: 1, Seq: 1}},
		})
		commit(&engine.Batch{
			DropSubqueues: []engine.SubqueueID{2}, DropRules: []engine.RuleID{{Subscription: 1, Name: "r"}},
			DropSessions: []engine.SessionID{{Subqueue: 1, ID: "s"}}, DropMessages: []engine.Key{7}, DropSettings: []string{"x"},
		})
		left := func() map[collection]int {
			n := map[collection]int{}
			for _, in := range []collection{entities, meters, rules, sessions, messages, namespaceSettings} {
				n[in] = len(db.ids(in))
			}
			return n
		}
		want(t, map[collection]int{entities: 2, meters: 1, rules: 1, sessions: 2, messages: 1, namespaceSettings: 2}, left())
		time.Sleep(tombstoneRetention - sweepEvery)
		commit(&engine.Batch{})
		time.Sleep(sweepEvery / 2)
		want(t, map[collection]int{entities: 2, meters: 1, rules: 1, sessions: 2, messages: 1, namespaceSettings: 2}, left()) // nothing is removed before its time
		for range 3 {
			time.Sleep(sweepEvery)
			commit(&engine.Batch{})
		}
		want(t, map[collection]int{entities: 1, meters: 0, rules: 0, sessions: 1, messages: 0, namespaceSettings: 1}, left())
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
