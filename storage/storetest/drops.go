package storetest

import (
	"bytes"
	"fmt"
	"testing"

	"mayfly/engine"
	"mayfly/engine/enginetest"
)

// This file tests drops other than those by key: with a subqueue, up to a number, and of records
// that may be created again under their name.

func testDropHolders(t *testing.T, o Open, messages int) {
	s, want := open(t, o), newState()
	do := func(b *engine.Batch) {
		want.apply(b)
		commit(t, s, b)
	}
	put := &engine.Batch{Hard: true, Now: 1}
	for h := engine.SubqueueID(10); h < 14; h++ {
		put.Entities = append(put.Entities, engine.Entity{ID: h, DeadLetterID: h + 100, TransferID: h + 200, Kind: engine.Queue, Path: engine.Path(fmt.Sprint("q", h))})
		put.Rules = append(put.Rules, engine.Rule{Subscription: h, Name: "A"}, engine.Rule{Subscription: h, Name: "B"})
		put.Meters = append(put.Meters, engine.Meter{Subqueue: h, NextSeq: 5}, engine.Meter{Subqueue: h + 100, NextSeq: 6}, engine.Meter{Subqueue: h + 200, NextSeq: 7})
		for i := range engine.Key(messages) {
			k := engine.Key(h)*10_000 + i
			put.Contents = append(put.Contents, engine.StoredContent{Key: k, Content: "c"})
			put.Messages = append(put.Messages, engine.Message{Key: k, Content: k, Subqueue: h + 100*engine.SubqueueID(i%3), Seq: engine.Seq(i)})
		}
		for i := range messages / 5 {
			put.Sessions = append(put.Sessions, engine.SessionRecord{Subqueue: h, ID: fmt.Sprint("s", i), State: "state"})
			put.Seen = append(put.Seen, engine.SeenIDs{Subqueue: h, N: uint64(i + 1), At: 1, Digests: []engine.Digest{{byte(i)}}})
		}
	}
	do(put)
	do(&engine.Batch{Hard: true, Now: 2, DropSubqueues: []engine.SubqueueID{10, 110, 210}})
	check(t, s, want)
	do(&engine.Batch{Hard: true, Now: 3, DropSubqueues: []engine.SubqueueID{111}}) // the entity is kept
	check(t, s, want)
	s = reopen(t, o, s)
	check(t, s, want)
	// A message that moved to another subqueue in an earlier batch is kept.
	do(&engine.Batch{Hard: true, Now: 4, Messages: []engine.Message{{Key: 120_000, Content: 120_000, Subqueue: 13}}})
	do(&engine.Batch{Hard: false, Now: 5, DropSubqueues: []engine.SubqueueID{12, 112, 212}, DropRules: []engine.RuleID{{Subscription: 13, Name: "a"}},
		DropSessions: []engine.SessionID{{Subqueue: 13, ID: "s0"}}, DropSeen: []engine.SeenIDsThrough{{Subqueue: 13, N: 2}}})
	check(t, s, want)
	do(&engine.Batch{Hard: true, Now: 6, DropSubqueues: []engine.SubqueueID{211}}) // only the transfer dead-letter subqueue
	check(t, s, want)
	check(t, reopen(t, o, s), want)
}

// testMessageBack checks that a dropped message can be stored again under the same key with another
// content, as when the edit of a message is undone.
func testMessageBack(t *testing.T, o Open) {
	s, want := open(t, o), newState()
	do := func(b *engine.Batch) {
		t.Helper()
		b.Hard, b.Now = true, want.Clock+1
		want.apply(b)
		commit(t, s, b)
		check(t, s, want)
	}
	put := func(k, content engine.Key, h engine.SubqueueID, seq engine.Seq) *engine.Batch {
		return &engine.Batch{
			Messages: []engine.Message{{Key: k, Content: content, Subqueue: h, Seq: seq, Extra: &engine.Extra{DeadLettered: true, Reason: fmt.Sprint(content)}}},
			Contents: []engine.StoredContent{{Key: content, Content: engine.Packed(fmt.Sprint(content))}},
		}
	}
	drop := func(b *engine.Batch, k, content engine.Key) *engine.Batch {
		b.DropMessages, b.DropContents = append(b.DropMessages, k), append(b.DropContents, engine.DroppedContent{Key: content})
		return b
	}
	do(&engine.Batch{Entities: []engine.Entity{{ID: 10, DeadLetterID: 11, Kind: engine.Queue, Path: "a"}}, Meters: []engine.Meter{{Subqueue: 10, NextSeq: 9}}})
	do(put(1000, 1000, 11, 1))
	do(drop(put(1001, 1001, 10, 2), 1000, 1000)) // as when the message is edited
	do(drop(put(1000, 1002, 11, 1), 1001, 1001)) // as when the edit is undone
	s = reopen(t, o, s)
	check(t, s, want)
	do(drop(put(1003, 1003, 10, 3), 1000, 1002))
	s = reopen(t, o, s)
	do(drop(put(1000, 1004, 11, 1), 1003, 1003))
	check(t, reopen(t, o, s), want)
}

// testSessions checks that session states can be set, cleared and set again.
func testSessions(t *testing.T, o Open) {
	s, want, d := open(t, o), newState(), enginetest.NewGenerator(seed(t))
	do := func(b *engine.Batch) {
		t.Helper()
		b.Hard, b.Now = true, want.Clock+1
		want.apply(b)
		commit(t, s, b)
		check(t, s, want)
	}
	of := func(h engine.SubqueueID, id, state string) engine.SessionRecord {
		return engine.SessionRecord{Subqueue: h, ID: id, State: state, ChangedAt: want.Clock + 1}
	}
	do(&engine.Batch{
		Entities: []engine.Entity{{ID: 10, DeadLetterID: 11, Kind: engine.Queue, Path: "a"}, {ID: 12, DeadLetterID: 13, Kind: engine.Queue, Path: "b"}},
		Sessions: []engine.SessionRecord{of(10, "x", "one"), of(10, "X", "another"), of(12, "x", "elsewhere"), of(10, "empty", "")},
	})
	long := string(bytes.Repeat([]byte("ä\xff\x00'"), 32)) // 160 bytes of all kinds
	do(&engine.Batch{Sessions: []engine.SessionRecord{of(10, "x", "two"), of(10, long, string(d.Bytes(1<<20))), of(10, "", "of no name")}})
	do(&engine.Batch{DropSessions: []engine.SessionID{{Subqueue: 10, ID: "x"}, {Subqueue: 10, ID: "empty"}, {Subqueue: 10, ID: "never there"}}})
	s = reopen(t, o, s)
	check(t, s, want)
	do(&engine.Batch{Sessions: []engine.SessionRecord{of(10, "x", "three")}, DropSessions: []engine.SessionID{{Subqueue: 12, ID: "x"}, {Subqueue: 10, ID: long}}})
	do(&engine.Batch{DropSessions: []engine.SessionID{{Subqueue: 10, ID: "x"}}})
	do(&engine.Batch{Sessions: []engine.SessionRecord{of(10, "x", "four"), of(12, "x", "elsewhere again")}})
	check(t, reopen(t, o, s), want)
}

// testSettings checks that settings, which belong to no entity, can be set, dropped and set again.
func testSettings(t *testing.T, o Open) {
	s, want, d := open(t, o), newState(), enginetest.NewGenerator(seed(t))
	do := func(b *engine.Batch) {
		t.Helper()
		b.Hard, b.Now = true, want.Clock+1
		want.apply(b)
		commit(t, s, b)
		check(t, s, want)
	}
	of := func(key, value string) engine.Setting {
		return engine.Setting{Key: key, Value: value, ChangedAt: want.Clock + 1}
	}
	do(&engine.Batch{Settings: []engine.Setting{of("view/x", "one"), of("view/X", "another"), of("view", "elsewhere"), of("empty", ""), of("", "of no name"), {Key: "never"}}})
	long := string(bytes.Repeat([]byte("ä\xff\x00'"), 51)) // 255 bytes of all kinds
	do(&engine.Batch{Settings: []engine.Setting{of("view/x", "two"), of(long, string(d.Bytes(256<<10)))}})
	do(&engine.Batch{DropSettings: []string{"view/x", "empty", "never there"}})
	s = reopen(t, o, s)
	check(t, s, want)
	do(&engine.Batch{Settings: []engine.Setting{of("view/x", "three")}, DropSettings: []string{"", long}})
	do(&engine.Batch{DropSettings: []string{"view/x"}})
	do(&engine.Batch{Settings: []engine.Setting{of("view/x", "four"), of(long, "again")}})
	check(t, reopen(t, o, s), want)
}

// testSeen adds rows of MessageIds and drops them from the first on, few and many at once. The
// store must contain exactly the others.
func testSeen(t *testing.T, o Open, rows int) {
	s, want, d := open(t, o), newState(), enginetest.NewGenerator(seed(t))
	do := func(b *engine.Batch) {
		t.Helper()
		b.Hard, b.Now = true, want.Clock+1
		want.apply(b)
		commit(t, s, b)
		check(t, s, want)
	}
	see := func(h engine.SubqueueID, from, to int) (all []engine.SeenIDs) {
		for n := from; n <= to; n++ {
			seen := engine.SeenIDs{Subqueue: h, N: uint64(n), At: want.Clock + 1, Digests: []engine.Digest{engine.Digest(d.Bytes(16))}}
			if n%97 == 0 {
				seen = drawSeen(d, h, uint64(n), want.Clock+1)
			}
			all = append(all, seen)
		}
		return all
	}
	through := func(h engine.SubqueueID, n int) []engine.SeenIDsThrough {
		return []engine.SeenIDsThrough{{Subqueue: h, N: uint64(n)}}
	}
	do(&engine.Batch{
		Entities: []engine.Entity{{ID: 10, DeadLetterID: 11, Kind: engine.Queue, Path: "a"}, {ID: 12, Kind: engine.Topic, Path: "b"}},
		Seen:     append(see(10, 1, rows), see(12, 1, 10)...),
	})
	do(&engine.Batch{DropSeen: through(10, 1)})
	do(&engine.Batch{DropSeen: through(10, 1)}) // a row that does not exist
	do(&engine.Batch{DropSeen: through(10, 9), Seen: see(10, rows+1, rows+3)})
	s = reopen(t, o, s)
	check(t, s, want)
	do(&engine.Batch{DropSeen: append(through(10, rows+1), through(12, 3)...), Seen: see(12, 21, 22)}) // many at once
	s = reopen(t, o, s)
	check(t, s, want)
	do(&engine.Batch{Seen: see(10, rows+10, rows+10)})
	do(&engine.Batch{DropSeen: through(10, 2*rows)}) // beyond the last number
	// A server that finds no rows begins with number 1 again.
	s = reopen(t, o, s)
	do(&engine.Batch{Seen: see(10, 1, 5)})
	do(&engine.Batch{DropSeen: through(10, 2)})
	s = reopen(t, o, s)
	check(t, s, want)
	do(&engine.Batch{Seen: see(10, 6, rows)})
	do(&engine.Batch{DropSeen: through(10, rows)})
	do(&engine.Batch{Seen: see(10, 1, 2)}) // the dropped rows may not be deleted yet
	// Numbers have 64 bits.
	high := []uint64{1<<63 - 1, 1 << 63, 1<<63 + 1, ^uint64(0)}
	b := &engine.Batch{}
	for _, n := range high {
		b.Seen = append(b.Seen, drawSeen(d, 10, n, want.Clock+1))
	}
	do(b)
	s = reopen(t, o, s)
	check(t, s, want)
	for _, n := range high {
		do(&engine.Batch{DropSeen: []engine.SeenIDsThrough{{Subqueue: 10, N: n}}})
	}
	check(t, reopen(t, o, s), want)
}
