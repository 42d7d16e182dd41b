package archive

import (
	"errors"
	"maps"
	"slices"

	"mayfly/engine"
)

// counterBits is the width of an identity's counter; the epoch is above it.
const counterBits = 40

// identities moves keys and subqueue ids to another epoch: add collects them in the first
// reading, mapped moves them in the second. Identities of one old epoch keep their distances,
// and those of a later epoch come after those of an earlier one, so their order does not change.
type identities struct {
	ranges map[uint64]*counterRange // by epoch
	epoch  uint64                   // the new one
	next   uint64                   // the next unused counter

	lastEpoch uint64 // the epoch looked up last
	lastRange *counterRange

	unknown bool // mapped was called with an identity that was not added
}

// A counterRange is the range of the counters that were added of one epoch.
type counterRange struct {
	from, to uint64
	newFrom  uint64 // counter that from is moved to
}

// add records an identity. It ignores zero, which means none.
func (i *identities) add(id uint64) {
	if id == 0 {
		return
	}
	epoch, n := id>>counterBits, id&(1<<counterBits-1)
	if i.lastRange == nil || i.lastEpoch != epoch {
		if i.ranges == nil {
			i.ranges = map[uint64]*counterRange{}
		}
		if i.ranges[epoch] == nil {
			i.ranges[epoch] = &counterRange{from: n, to: n}
		}
		i.lastEpoch, i.lastRange = epoch, i.ranges[epoch]
	}
	i.lastRange.from, i.lastRange.to = min(i.lastRange.from, n), max(i.lastRange.to, n)
}

// assign decides which new identity in epoch each added identity gets. It returns an error if
// there are not enough counters in one epoch.
func (i *identities) assign(epoch uint64) error {
	i.epoch, i.next = epoch, 1
	for _, old := range slices.Sorted(maps.Keys(i.ranges)) {
		s := i.ranges[old]
		s.newFrom = i.next
		if i.next += s.to - s.from + 1; i.next >= 1<<counterBits-1 {
			return errors.New("the IDs in the backup span too wide a range for one epoch")
		}
	}
	return nil
}

// newID returns an unused identity. Call assign first.
func (i *identities) newID() uint64 {
	i.next++
	return i.epoch<<counterBits | (i.next - 1)
}

// mapped returns the new identity for one that was added, or zero for zero. For an identity that
// was not added it sets unknown and returns zero. Call assign first.
func (i *identities) mapped(id uint64) uint64 {
	if id == 0 {
		return 0
	}
	if epoch := id >> counterBits; i.lastRange == nil || i.lastEpoch != epoch {
		i.lastEpoch, i.lastRange = epoch, i.ranges[epoch]
	}
	n := id & (1<<counterBits - 1)
	if i.lastRange == nil || n < i.lastRange.from || n > i.lastRange.to {
		i.unknown = true
		return 0
	}
	return i.epoch<<counterBits | (i.lastRange.newFrom + n - i.lastRange.from)
}

// An idMapper is applied to every identity in a record or event: it collects the identity, or
// returns the new one.
type idMapper func(uint64) uint64

func (i *identities) addAndReturn(id uint64) uint64 {
	i.add(id)
	return id
}

// mapRecord applies c to all identities of r and returns the result.
func (c idMapper) mapRecord(r engine.Record) engine.Record {
	switch r := r.(type) {
	case engine.Entity:
		return c.mapEntity(r)
	case engine.Rule:
		return c.mapRule(r)
	case engine.Meter:
		r.Subqueue = c.mapSubqueue(r.Subqueue)
		return r
	case engine.SessionRecord:
		r.Subqueue = c.mapSubqueue(r.Subqueue)
		return r
	case engine.SeenIDs:
		r.Subqueue, r.N = c.mapSubqueue(r.Subqueue), c(r.N)
		return r
	case engine.StoredContent:
		r.Key = c.mapKey(r.Key)
		return r
	case engine.Message:
		return c.mapMessage(r)
	default:
		return r
	}
}

func (c idMapper) mapKey(k engine.Key) engine.Key { return engine.Key(c(uint64(k))) }
func (c idMapper) mapSubqueue(h engine.SubqueueID) engine.SubqueueID {
	return engine.SubqueueID(c(uint64(h)))
}

func (c idMapper) mapEntity(e engine.Entity) engine.Entity {
	e.ID, e.DeadLetterID, e.TransferID = c.mapSubqueue(e.ID), c.mapSubqueue(e.DeadLetterID), c.mapSubqueue(e.TransferID)
	return e
}

func (c idMapper) mapRule(r engine.Rule) engine.Rule {
	r.Subscription = c.mapSubqueue(r.Subscription)
	return r
}

func (c idMapper) mapMessage(m engine.Message) engine.Message {
	m.Key, m.Content, m.Subqueue = c.mapKey(m.Key), c.mapKey(m.Content), c.mapSubqueue(m.Subqueue)
	return m
}

// mapEvent changes the identities of e in place: e was just read and is not shared.
func (c idMapper) mapEvent(e engine.Event) engine.Event {
	e.Subqueue, e.Message = c.mapSubqueue(e.Subqueue), c.mapMessage(e.Message)
	if e.Entity != nil {
		*e.Entity = c.mapEntity(*e.Entity)
	}
	for i := range e.Rules {
		e.Rules[i] = c.mapRule(e.Rules[i])
	}
	for i := range e.Subscriptions {
		e.Subscriptions[i] = c.mapEntity(e.Subscriptions[i])
	}
	return e
}
