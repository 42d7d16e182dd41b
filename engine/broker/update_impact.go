package broker

import (
	"context"

	"mayfly/engine"
)

// An UpdateImpact counts the messages that an update of a description affects (TTL-16).
type UpdateImpact struct {
	Expire       int64 // would expire at once
	DeadLettered int64 // of Expire: would become dead letters; the others would be lost
	Locked       int64 // would expire when their locks end
	Unexamined   int64 // were not examined, because there are too many
}

// PreviewUpdate counts the messages that Update would expire, for a topic in its subscriptions
// too. It changes nothing and does not count as use of the entity (IDLE-7). It returns an error
// where Update would. It examines little more than `most` messages, some in each turn.
func (b *Broker) PreviewUpdate(ctx context.Context, p engine.Path, c engine.Config, most int64) (UpdateImpact, error) {
	var t UpdateImpact
	var all []engine.TermsChange
	err := exec(ctx, b, func(ns *engine.Namespace, _ engine.Instant) (err error) {
		all, err = ns.PreviewUpdate(p, c)
		return err
	})
	for i := 0; i < len(all) && err == nil; i++ {
		if all[i].SameExpiry() {
			continue
		}
		var seen int64
		seen, err = b.previewSubqueue(ctx, all[i], most, &t)
		most = max(most-seen, 0)
	}
	if err != nil {
		return UpdateImpact{}, err
	}
	return t, nil
}

// impactSlice is how many messages are examined in one turn.
const impactSlice = 1000

// previewSubqueue adds the impact on one subqueue to t, and returns how many messages it examined.
// After about `most` messages, it counts the others as Unexamined.
func (b *Broker) previewSubqueue(ctx context.Context, at engine.TermsChange, most int64, t *UpdateImpact) (seen int64, err error) {
	for from := engine.Seq(1); from != 0; {
		slice, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (s impactPart, err error) {
			if seen >= most {
				st, err := ns.State(at.Path)
				n := st.Counts
				s.Unexamined = max(n.Active+n.Locked+n.Deferred+n.Scheduled-seen, 0)
				return s, err
			}
			rows, err := ns.Browse(engine.Browse{Path: at.Path, From: from, Limit: impactSlice})
			for _, r := range rows {
				s.add(at, r.Message, now)
			}
			if len(rows) == impactSlice {
				s.next = rows[len(rows)-1].Message.Seq + 1
			}
			return s, err
		})
		if err != nil {
			return seen, err
		}
		t.Expire, t.DeadLettered, t.Locked, t.Unexamined = t.Expire+slice.Expire, t.DeadLettered+slice.DeadLettered, t.Locked+slice.Locked, t.Unexamined+slice.Unexamined
		seen += slice.seen
		from = slice.next
	}
	return seen, nil
}

// impactPart is the impact of an update on the messages that one turn examines.
type impactPart struct {
	UpdateImpact
	seen int64
	next engine.Seq // zero if there are no more, or if no more are to be examined
}

func (s *impactPart) add(at engine.TermsChange, m engine.Message, now engine.Instant) {
	s.seen++
	switch {
	case !at.Expires(m, now):
	case m.Locked():
		s.Locked++
	default:
		if s.Expire++; at.After.KeepExpired {
			s.DeadLettered++
		}
	}
}
