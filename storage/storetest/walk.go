package storetest

import (
	"maps"
	"slices"

	"mayfly/engine"
	"mayfly/engine/enginetest"
)

// A walk makes batches such as a broker makes, at random but the same for the
// same seed, and knows what a store must hold after each.
type walk struct {
	d     enginetest.Drawer
	state *state
	n     int64 // batches so far
	last  uint64

	holders []engine.HolderID          // that messages may be put in
	dead    []engine.Key               // contents to drop
	numbers map[engine.HolderID]uint64 // of what was seen, the last
}

// counter is an entity that no walk drops; the NextSeq of its meter is the
// number of the last batch.
const counter engine.HolderID = 1

func newWalk(seed uint64) *walk {
	return &walk{d: enginetest.Draw(seed), state: newState(), last: 100, numbers: map[engine.HolderID]uint64{}}
}

// id is a new identity.
func (w *walk) id() uint64 {
	w.last++
	return w.last
}

// A step is a batch and the bodies to stage before it.
type step struct {
	staged []engine.Body
	batch  *engine.Batch
}

// next makes a step and takes it for done.
func (w *walk) next() step {
	w.n++
	b := &engine.Batch{Hard: !w.d.One(4), Now: engine.Instant(w.n * 1000)}
	s := step{batch: b}
	if w.n == 1 {
		w.entity(b, counter)
	}
	b.Meters = append(b.Meters, engine.Meter{Holder: counter, NextSeq: engine.Seq(w.n)})
	w.collect(b)
	if w.n == 1 || w.d.One(8) {
		w.entity(b, engine.HolderID(w.id()))
	}
	if w.d.One(12) {
		w.dropEntity(b)
	}
	touched := map[engine.Key]bool{}
	w.change(b, touched)
	for range w.d.IntN(8) {
		w.send(&s)
	}
	w.sessions(b)
	w.settings(b)
	w.see(b)
	if w.d.One(6) {
		b.Access = &engine.Access{}
		w.d.Fill(b.Access) // of a few rules, or none any more
	}
	if b.Hard && w.d.One(3) {
		w.operate(b)
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

// operate has operators do what b does.
func (w *walk) operate(b *engine.Batch) {
	for range 1 + w.d.IntN(2) {
		var e engine.Event
		w.d.Fill(&e)
		e.N, e.At, e.Audit = w.id(), b.Now, true
		b.Audit = append(b.Audit, e)
	}
}

func (w *walk) entity(b *engine.Batch, id engine.HolderID) {
	var e engine.Entity
	w.d.Fill(&e)
	e.ID, e.DeadLetterID, e.TransferID = id, 0, 0
	w.holders = append(w.holders, e.ID)
	for _, other := range []*engine.HolderID{&e.DeadLetterID, &e.TransferID} {
		if id != counter && !w.d.One(3) {
			*other = engine.HolderID(w.id())
			w.holders = append(w.holders, *other)
		}
	}
	b.Entities = append(b.Entities, e)
	if id == counter {
		return
	}
	b.Meters = append(b.Meters, engine.Meter{Holder: id, NextSeq: 1, LastUsed: b.Now})
	for i := range w.d.IntN(3) {
		var r engine.Rule
		w.d.Fill(&r)
		r.Subscription, r.Name = id, w.d.Name()+string(rune('a'+i))
		b.Rules = append(b.Rules, r)
	}
}

// dropEntity drops any but the counter and what this batch touches.
func (w *walk) dropEntity(b *engine.Batch) {
	ids := slices.Sorted(maps.Keys(w.state.Entities))
	if len(ids) < 3 {
		return
	}
	e := w.state.Entities[ids[1+w.d.IntN(len(ids)-1)]]
	for _, id := range []engine.HolderID{e.ID, e.DeadLetterID, e.TransferID} {
		if id != 0 {
			b.DropHolders = append(b.DropHolders, id)
			w.holders = slices.DeleteFunc(w.holders, func(h engine.HolderID) bool { return h == id })
		}
	}
	for _, k := range slices.Sorted(maps.Keys(w.state.Messages)) {
		if m := w.state.Messages[k]; slices.Contains(b.DropHolders, m.Holder) {
			w.dead = append(w.dead, m.Content)
		}
	}
}

// somewhere is an entity that b does not drop.
func (w *walk) somewhere(b *engine.Batch) (engine.HolderID, bool) {
	ids := slices.Sorted(maps.Keys(w.state.Entities))
	if len(ids) == 0 {
		return 0, false
	}
	id := ids[w.d.IntN(len(ids))]
	return id, !slices.Contains(b.DropHolders, id)
}

// name is of what may be called anything. There are few, so that one comes again
// after it went.
func (w *walk) name() string {
	names := []string{"", "a", "A", "ä", "a/b", "a%2Fb", "\x00", "\xff\xfe", "0", "' OR 1"}
	return names[w.d.IntN(len(names))]
}

// sessions sets the state of some and clears that of others, of which there may
// be none.
func (w *walk) sessions(b *engine.Batch) {
	named := map[engine.SessionID]bool{}
	for range w.d.IntN(4) {
		h, ok := w.somewhere(b)
		id := engine.SessionID{Holder: h, ID: w.name()}
		if !ok || named[id] {
			continue
		}
		named[id] = true
		if w.d.One(3) {
			b.DropSessions = append(b.DropSessions, id)
			continue
		}
		most := 40
		if w.d.One(30) {
			most = 100_000
		}
		b.Sessions = append(b.Sessions, engine.Session{Holder: id.Holder, ID: id.ID, State: w.d.Text(most), ChangedAt: b.Now})
	}
}

// settings sets some and drops others, of which there may be none.
func (w *walk) settings(b *engine.Batch) {
	named := map[string]bool{}
	for range w.d.IntN(3) {
		key := w.name()
		if named[key] {
			continue
		}
		named[key] = true
		if w.d.One(3) {
			b.DropSettings = append(b.DropSettings, key)
			continue
		}
		most := 40
		if w.d.One(30) {
			most = 100_000
		}
		b.Settings = append(b.Settings, engine.Setting{Key: key, Value: w.d.Text(most), ChangedAt: b.Now})
	}
}

// see remembers what was seen at some entities and forgets it at others, mostly
// from the first number on. Where nothing is left, numbers may begin anew.
func (w *walk) see(b *engine.Batch) {
	named := map[engine.HolderID]bool{}
	for range w.d.IntN(3) {
		h, ok := w.somewhere(b)
		if !ok || named[h] {
			continue
		}
		named[h] = true
		last := w.state.lastSeen(h)
		switch {
		case last == 0 && w.d.One(2):
			w.numbers[h] = 0
		case last != 0 && w.d.One(3):
			through := last
			if !w.d.One(4) {
				through -= uint64(w.d.IntN(int(min(last, 6))))
			}
			b.DropSeen = append(b.DropSeen, engine.SeenThrough{Holder: h, N: through})
		}
		for range w.d.IntN(4) {
			w.numbers[h] += 1 + uint64(w.d.IntN(2))
			b.Seen = append(b.Seen, drawSeen(w.d, h, w.numbers[h], b.Now))
		}
	}
}

// drawSeen draws what was accepted together: one message mostly.
func drawSeen(d enginetest.Drawer, h engine.HolderID, n uint64, at engine.Instant) engine.Seen {
	ids := 1
	if d.One(4) {
		ids = d.IntN(1200)
	}
	s := engine.Seen{Holder: h, N: n, At: at}
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
		if touched[m.Key] || slices.Contains(b.DropHolders, m.Holder) {
			continue
		}
		touched[m.Key] = true
		if w.d.One(2) {
			b.DropMessages = append(b.DropMessages, m.Key)
			w.dead = append(w.dead, m.Content)
			continue
		}
		key, content := m.Key, m.Content
		m = engine.Message{}
		w.d.Fill(&m)
		m.Key, m.Content, m.Holder = key, content, w.holders[w.d.IntN(len(w.holders))]
		b.Messages = append(b.Messages, m)
	}
}

// send adds a message with its own content, or two that share one.
func (w *walk) send(s *step) {
	b, k := s.batch, engine.Key(w.id())
	b.Contents = append(b.Contents, engine.StoredContent{Key: k, Content: engine.Packed(w.d.Text(100))})
	switch {
	case w.d.One(5): // no body
	case w.d.One(40):
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
			m.Key = engine.Key(w.id())
		}
		m.Holder = w.holders[w.d.IntN(len(w.holders))]
		b.Messages = append(b.Messages, m)
	}
}

// collect drops the contents whose last message went in an earlier batch.
func (w *walk) collect(b *engine.Batch) {
	used := map[engine.Key]bool{}
	for _, m := range w.state.Messages {
		used[m.Content] = true
	}
	slices.Sort(w.dead)
	for _, k := range slices.Compact(w.dead) {
		if _, there := w.state.Contents[k]; there && !used[k] {
			_, has := w.state.bodies[k]
			b.DropContents = append(b.DropContents, engine.DroppedContent{Key: k, HasBody: has})
		}
	}
	w.dead = w.dead[:0]
}
