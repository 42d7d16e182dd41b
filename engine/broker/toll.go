package broker

import (
	"context"

	"mayfly/engine"
)

// A Toll is what an update of a description would cost in messages (TTL-16).
type Toll struct {
	Expire int64 // would run out at once
	Kept   int64 // of these: would become dead letters, the others vanish
	Locked int64 // would run out when their locks end
	Unseen int64 // were too many to look at
}

// ForeseeUpdate counts what Update would have run out, of a topic in its
// subscriptions too, changing nothing and without being use of the entity (IDLE-7).
// What Update would refuse it refuses. It looks at not many more than most
// messages, some in each turn.
func (b *Broker) ForeseeUpdate(ctx context.Context, p engine.Path, c engine.Config, most int64) (Toll, error) {
	var t Toll
	var all []engine.Prospect
	err := act(ctx, b, func(ns *engine.Namespace, _ engine.Instant) (err error) {
		all, err = ns.Prospects(p, c)
		return err
	})
	for i := 0; i < len(all) && err == nil; i++ {
		if all[i].Same() {
			continue
		}
		var seen int64
		seen, err = b.toll(ctx, all[i], most, &t)
		most = max(most-seen, 0)
	}
	if err != nil {
		return Toll{}, err
	}
	return t, nil
}

// tollSlice is how many messages are looked at in one turn.
const tollSlice = 1000

// toll adds one place, and tells how many messages it looked at.
func (b *Broker) toll(ctx context.Context, at engine.Prospect, most int64, t *Toll) (seen int64, err error) {
	for from := engine.Seq(1); from != 0; {
		slice, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (s tollSeen, err error) {
			if seen >= most {
				st, err := ns.State(at.Path)
				n := st.Counts
				s.Unseen = max(n.Active+n.Locked+n.Deferred+n.Scheduled-seen, 0)
				return s, err
			}
			rows, err := ns.Browse(engine.Browse{Path: at.Path, From: from, Limit: tollSlice})
			for _, r := range rows {
				s.look(at, r.Message, now)
			}
			if len(rows) == tollSlice {
				s.next = rows[len(rows)-1].Message.Seq + 1
			}
			return s, err
		})
		if err != nil {
			return seen, err
		}
		t.Expire, t.Kept, t.Locked, t.Unseen = t.Expire+slice.Expire, t.Kept+slice.Kept, t.Locked+slice.Locked, t.Unseen+slice.Unseen
		seen += slice.n
		from = slice.next
	}
	return seen, nil
}

// tollSeen is what one slice adds.
type tollSeen struct {
	Toll
	n    int64
	next engine.Seq // zero: there are no more, or no more are looked at
}

func (s *tollSeen) look(at engine.Prospect, m engine.Message, now engine.Instant) {
	s.n++
	switch {
	case !at.Ends(m, now):
	case m.Locked():
		s.Locked++
	default:
		if s.Expire++; at.Becomes.KeepExpired {
			s.Kept++
		}
	}
}
