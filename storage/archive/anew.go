package archive

import (
	"errors"
	"maps"
	"slices"

	"mayfly/engine"
)

// counterBits is how much of an identity is the counter; the epoch is above.
const counterBits = 40

// identities gives keys and holder ids anew, in another epoch: what it met in
// the first reading it moves in the second. Those of one old epoch stay as far
// from each other as they were, and epochs follow each other, so that the order
// remains.
type identities struct {
	met   map[uint64]*stretch // by epoch
	epoch uint64              // the new one
	next  uint64              // the first counter that no identity was given

	was uint64 // the epoch looked up last
	at  *stretch

	stray bool // one was to be moved that was not met
}

// A stretch is the counters that were met of one epoch.
type stretch struct {
	from, to uint64
	begin    uint64 // where from is moved to
}

// meet takes an identity in. Zero is none.
func (i *identities) meet(id uint64) {
	if id == 0 {
		return
	}
	epoch, n := id>>counterBits, id&(1<<counterBits-1)
	if i.at == nil || i.was != epoch {
		if i.met == nil {
			i.met = map[uint64]*stretch{}
		}
		if i.met[epoch] == nil {
			i.met[epoch] = &stretch{from: n, to: n}
		}
		i.was, i.at = epoch, i.met[epoch]
	}
	i.at.from, i.at.to = min(i.at.from, n), max(i.at.to, n)
}

// settle decides where everything that was met goes.
func (i *identities) settle(epoch uint64) error {
	i.epoch, i.next = epoch, 1
	for _, old := range slices.Sorted(maps.Keys(i.met)) {
		s := i.met[old]
		s.begin = i.next
		if i.next += s.to - s.from + 1; i.next >= 1<<counterBits-1 {
			return errors.New("the identities in the backup are too far apart for one epoch")
		}
	}
	return nil
}

// fresh is an identity that nothing in the backup gets. settle comes first.
func (i *identities) fresh() uint64 {
	i.next++
	return i.epoch<<counterBits | (i.next - 1)
}

// moved is where an identity that was met goes.
func (i *identities) moved(id uint64) uint64 {
	if id == 0 {
		return 0
	}
	if epoch := id >> counterBits; i.at == nil || i.was != epoch {
		i.was, i.at = epoch, i.met[epoch]
	}
	n := id & (1<<counterBits - 1)
	if i.at == nil || n < i.at.from || n > i.at.to {
		i.stray = true
		return 0
	}
	return i.epoch<<counterBits | (i.at.begin + n - i.at.from)
}

// A change is what is done with an identity: it is met, or moved.
type change func(uint64) uint64

func (i *identities) meeting(id uint64) uint64 {
	i.meet(id)
	return id
}

// record does c with all identities of r and returns it with what they became.
func (c change) record(r engine.Record) engine.Record {
	switch r := r.(type) {
	case engine.Entity:
		return c.entity(r)
	case engine.Rule:
		return c.rule(r)
	case engine.Meter:
		r.Holder = c.holder(r.Holder)
		return r
	case engine.Session:
		r.Holder = c.holder(r.Holder)
		return r
	case engine.Seen:
		r.Holder, r.N = c.holder(r.Holder), c(r.N)
		return r
	case engine.StoredContent:
		r.Key = c.key(r.Key)
		return r
	case engine.Message:
		return c.message(r)
	default:
		return r
	}
}

func (c change) key(k engine.Key) engine.Key              { return engine.Key(c(uint64(k))) }
func (c change) holder(h engine.HolderID) engine.HolderID { return engine.HolderID(c(uint64(h))) }

func (c change) entity(e engine.Entity) engine.Entity {
	e.ID, e.DeadLetterID, e.TransferID = c.holder(e.ID), c.holder(e.DeadLetterID), c.holder(e.TransferID)
	return e
}

func (c change) rule(r engine.Rule) engine.Rule {
	r.Subscription = c.holder(r.Subscription)
	return r
}

func (c change) message(m engine.Message) engine.Message {
	m.Key, m.Content, m.Holder = c.key(m.Key), c.key(m.Content), c.holder(m.Holder)
	return m
}

// event changes what e refers to in place: it was read and is nobody else's.
func (c change) event(e engine.Event) engine.Event {
	e.Holder, e.Message = c.holder(e.Holder), c.message(e.Message)
	if e.Entity != nil {
		*e.Entity = c.entity(*e.Entity)
	}
	for i := range e.Rules {
		e.Rules[i] = c.rule(e.Rules[i])
	}
	for i := range e.Subs {
		e.Subs[i] = c.entity(e.Subs[i])
	}
	return e
}
