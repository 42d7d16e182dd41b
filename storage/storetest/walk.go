package storetest

import (
	"maps"
	"slices"

	"mayfly/engine"
	"mayfly/engine/enginetest"
)

// A walk makes batches like a broker's, random but the same for the same seed, and keeps the
// state that a store must have after each.
type walk struct {
	d       enginetest.Generator
	state   *state
	batches int64 // number of batches so far
	lastID  uint64

	subqueues         []engine.SubqueueID          // subqueues for messages
	droppableContents []engine.Key                 // contents to drop
	lastSeen          map[engine.SubqueueID]uint64 // the last number of each entity's MessageIds
}

// counter is an entity that no walk drops. The NextSeq of its meter is the number of the last
// batch.
const counter engine.SubqueueID = 1

func newWalk(seed uint64) *walk {
	return &walk{d: enginetest.NewGenerator(seed), state: newState(), lastID: 100, lastSeen: map[engine.SubqueueID]uint64{}}
}

// newID returns an unused identity.
func (w *walk) newID() uint64 {
	w.lastID++
	return w.lastID
}

// A step is a batch and the bodies to stage before it.
type step struct {
	staged []engine.Body
	batch  *engine.Batch
}

// next creates a step and applies it to state.
func (w *walk) next() step {
	w.batches++
	b := &engine.Batch{Hard: !w.d.OneIn(4), Now: engine.Instant(w.batches * 1000)}
	s := step{batch: b}
	if w.batches == 1 {
		w.entity(b, counter)
	}
	b.Meters = append(b.Meters, engine.Meter{Subqueue: counter, NextSeq: engine.Seq(w.batches)})
	w.dropContents(b)
	if w.batches == 1 || w.d.OneIn(8) {
		w.entity(b, engine.SubqueueID(w.newID()))
	}
	if w.d.OneIn(12) {
		w.dropEntity(b)
	}
	touched := map[engine.Key]bool{}
	w.change(b, touched)
	for range w.d.IntN(8) {
		w.send(&s)
	}
	w.sessions(b)
	w.settings(b)
	w.changeSeen(b)
	if w.d.OneIn(6) {
		b.Access = &engine.Access{}
		w.d.Fill(b.Access) // a few rules, or none
	}
	if b.Hard && w.d.OneIn(3) {
		w.addAudit(b)
	}
	w.state.apply(b)
	for _, m := range b.Messages {
		b.Written = append(b.Written, w.state.Contents[m.Content])
	}
	for _, body := range s.staged {
		w.state.bodies[body.Key] = body.Bytes
	}
	return s
}

// addAudit adds audit events to b.
func (w *walk) addAudit(b *engine.Batch) {
	for range 1 + w.d.IntN(2) {
		var e engine.Event
		w.d.Fill(&e)
		e.N, e.At, e.Audit = w.newID(), b.Now, true
		b.Audit = append(b.Audit, e)
	}
}

func (w *walk) entity(b *engine.Batch, id engine.SubqueueID) {
	var e engine.Entity
	w.d.Fill(&e)
	e.ID, e.DeadLetterID, e.TransferID = id, 0, 0
	w.subqueues = append(w.subqueues, e.ID)
	for _, other := range []*engine.SubqueueID{&e.DeadLetterID, &e.TransferID} {
		if id != counter && !w.d.OneIn(3) {
			*other = engine.SubqueueID(w.newID())
			w.subqueues = append(w.subqueues, *other)
		}
	}
	b.Entities = append(b.Entities, e)
	if id == counter {
		return
	}
	b.Meters = append(b.Meters, engine.Meter{Subqueue: id, NextSeq: 1, LastUsed: b.Now})
	for i := range w.d.IntN(3) {
		var r engine.Rule
		w.d.Fill(&r)
		r.Subscription, r.Name = id, w.d.Name()+string(rune('a'+i))
		b.Rules = append(b.Rules, r)
	}
}

// dropEntity drops an entity that is neither the counter nor changed by this batch.
func (w *walk) dropEntity(b *engine.Batch) {
	ids := slices.Sorted(maps.Keys(w.state.Entities))
	if len(ids) < 3 {
		return
	}
	e := w.state.Entities[ids[1+w.d.IntN(len(ids)-1)]]
	for _, id := range []engine.SubqueueID{e.ID, e.DeadLetterID, e.TransferID} {
		if id != 0 {
			b.DropSubqueues = append(b.DropSubqueues, id)
			w.subqueues = slices.DeleteFunc(w.subqueues, func(h engine.SubqueueID) bool { return h == id })
		}
	}
	for _, k := range slices.Sorted(maps.Keys(w.state.Messages)) {
		if m := w.state.Messages[k]; slices.Contains(b.DropSubqueues, m.Subqueue) {
			w.droppableContents = append(w.droppableContents, m.Content)
		}
	}
}

// pickEntity returns an entity that b does not drop.
func (w *walk) pickEntity(b *engine.Batch) (engine.SubqueueID, bool) {
	ids := slices.Sorted(maps.Keys(w.state.Entities))
	if len(ids) == 0 {
		return 0, false
	}
	id := ids[w.d.IntN(len(ids))]
	return id, !slices.Contains(b.DropSubqueues, id)
}

// name returns one of a few names, so that dropped names are used again.
func (w *walk) name() string {
	names := []string{"", "a", "A", "ä", "a/b", "a%2Fb", "\x00", "\xff\xfe", "0", "' OR 1"}
	return names[w.d.IntN(len(names))]
}

// sessions sets the states of some sessions and clears those of others, which may not exist.
func (w *walk) sessions(b *engine.Batch) {
	named := map[engine.SessionID]bool{}
	for range w.d.IntN(4) {
		h, ok := w.pickEntity(b)
		id := engine.SessionID{Subqueue: h, ID: w.name()}
		if !ok || named[id] {
			continue
		}
		named[id] = true
		if w.d.OneIn(3) {
			b.DropSessions = append(b.DropSessions, id)
			continue
		}
		most := 40
		if w.d.OneIn(30) {
			most = 100_000
		}
		b.Sessions = append(b.Sessions, engine.SessionRecord{Subqueue: id.Subqueue, ID: id.ID, State: w.d.Text(most), ChangedAt: b.Now})
	}
}

// settings sets some settings and drops others, which may not exist.
func (w *walk) settings(b *engine.Batch) {
	named := map[string]bool{}
	for range w.d.IntN(3) {
		key := w.name()
		if named[key] {
			continue
		}
		named[key] = true
		if w.d.OneIn(3) {
			b.DropSettings = append(b.DropSettings, key)
			continue
		}
		most := 40
		if w.d.OneIn(30) {
			most = 100_000
		}
		b.Settings = append(b.Settings, engine.Setting{Key: key, Value: w.d.Text(most), ChangedAt: b.Now})
	}
}

// changeSeen adds MessageIds to some entities and drops some, from the lowest number on. When
// an entity has none left, its numbers may start again.
func (w *walk) changeSeen(b *engine.Batch) {
	named := map[engine.SubqueueID]bool{}
	for range w.d.IntN(3) {
		h, ok := w.pickEntity(b)
		if !ok || named[h] {
			continue
		}
		named[h] = true
		last := w.state.lastSeen(h)
		switch {
		case last == 0 && w.d.OneIn(2):
			w.lastSeen[h] = 0
		case last != 0 && w.d.OneIn(3):
			through := last
			if !w.d.OneIn(4) {
				through -= uint64(w.d.IntN(int(min(last, 6))))
			}
			b.DropSeen = append(b.DropSeen, engine.SeenIDsThrough{Subqueue: h, N: through})
		}
		for range w.d.IntN(4) {
			w.lastSeen[h] += 1 + uint64(w.d.IntN(2))
			b.Seen = append(b.Seen, drawSeen(w.d, h, w.lastSeen[h], b.Now))
		}
	}
}

// drawSeen draws MessageIds that were accepted together, usually one.
func drawSeen(d enginetest.Generator, h engine.SubqueueID, n uint64, at engine.Instant) engine.SeenIDs {
	ids := 1
	if d.OneIn(4) {
		ids = d.IntN(1200)
	}
	s := engine.SeenIDs{Subqueue: h, N: n, At: at}
	for range ids {
		s.Digests = append(s.Digests, engine.Digest(d.Bytes(len(engine.Digest{}))))
	}
	return s
}

// change locks, moves, dead-letters and drops some messages.
func (w *walk) change(b *engine.Batch, touched map[engine.Key]bool) {
	keys := slices.Sorted(maps.Keys(w.state.Messages))
	for range min(len(keys), w.d.IntN(8)) {
		m := w.state.Messages[keys[w.d.IntN(len(keys))]]
		if touched[m.Key] || slices.Contains(b.DropSubqueues, m.Subqueue) {
			continue
		}
		touched[m.Key] = true
		if w.d.OneIn(2) {
			b.DropMessages = append(b.DropMessages, m.Key)
			w.droppableContents = append(w.droppableContents, m.Content)
			continue
		}
		key, content := m.Key, m.Content
		m = engine.Message{}
		w.d.Fill(&m)
		m.Key, m.Content, m.Subqueue = key, content, w.subqueues[w.d.IntN(len(w.subqueues))]
		b.Messages = append(b.Messages, m)
	}
}

// send adds a message with its own content, or two that share one.
func (w *walk) send(s *step) {
	b, k := s.batch, engine.Key(w.newID())
	b.Contents = append(b.Contents, engine.StoredContent{Key: k, Content: engine.Packed(w.d.Text(100))})
	switch {
	case w.d.OneIn(5): // no body
	case w.d.OneIn(40):
		s.staged = append(s.staged, engine.Body{Key: k, Bytes: w.d.Bytes(200_000 + w.d.IntN(600_000))})
	default:
		b.Bodies = append(b.Bodies, engine.Body{Key: k, Bytes: w.d.Bytes(1 + w.d.IntN(2000))})
	}
	copies := 1 + w.d.IntN(2)
	for i := range copies {
		var m engine.Message
		w.d.Fill(&m)
		m.Key, m.Content = k, k
		if i > 0 {
			m.Key = engine.Key(w.newID())
		}
		m.Subqueue = w.subqueues[w.d.IntN(len(w.subqueues))]
		b.Messages = append(b.Messages, m)
	}
}

// dropContents drops the contents whose last message was dropped in an earlier batch.
func (w *walk) dropContents(b *engine.Batch) {
	used := map[engine.Key]bool{}
	for _, m := range w.state.Messages {
		used[m.Content] = true
	}
	slices.Sort(w.droppableContents)
	for _, k := range slices.Compact(w.droppableContents) {
		if _, there := w.state.Contents[k]; there && !used[k] {
			_, has := w.state.bodies[k]
			b.DropContents = append(b.DropContents, engine.DroppedContent{Key: k, HasBody: has})
		}
	}
	w.droppableContents = w.droppableContents[:0]
}
