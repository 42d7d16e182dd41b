package broker

import (
	"context"
	"math"
	"slices"

	"mayfly/engine"
)

// The number of messages that a purge or a batch delete examines in one turn. With a filter, which
// takes time for each message, it is smaller.
const (
	purgeSlice         = 4000
	filteredPurgeSlice = 500
)

// Purge removes the messages of some classes that exist now, except locked ones (OPS-7). It takes
// several turns, so that other operations run in between. If ctx ends before it is done, the result
// shows how far it came. The error is engine.ErrChanged if there are more messages than `agreed`
// allows.
func (b *Broker) Purge(ctx context.Context, p engine.Path, classes []engine.Class, agreed ConfirmedCount, actor string) (engine.Purge, error) {
	return b.PurgeMatching(ctx, p, classes, nil, agreed, actor)
}

// PurgeMatching is Purge for the messages that match a filter; nil matches all. With a filter,
// `agreed` is the number of matching messages that are not locked. If the subqueue has more
// messages than `agreed` allows, PurgeMatching first counts the matching ones, and removes nothing
// if they are too many.
func (b *Broker) PurgeMatching(ctx context.Context, p engine.Path, classes []engine.Class, only *engine.MessageFilter, agreed ConfirmedCount, actor string) (engine.Purge, error) {
	var have int64
	pg, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (pg engine.Purge, err error) {
		if have, err = countPurgeable(ns, p, classes); err != nil {
			return engine.Purge{}, err
		}
		if only == nil {
			if err := agreed.Check(have); err != nil {
				return engine.Purge{}, err
			}
		}
		pg, err = ns.BeginPurge(now, p, classes)
		pg.Filter = only
		return pg, err
	})
	if err == nil && agreed.Check(have) != nil {
		var would engine.Purge
		if would, err = b.countPurge(ctx, pg, math.MaxInt64); err == nil {
			err = agreed.Check(would.Removed)
		}
	}
	slice := purgeSlice
	if only != nil {
		slice = filteredPurgeSlice
	}
	for err == nil && !pg.Done {
		before := pg
		pg, err = do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Purge, error) {
			next := before
			err := ns.PurgeSlice(now, &next, slice, actor)
			return next, err
		})
		if err != nil {
			return before, err
		}
	}
	return pg, err
}

// countPurge counts the messages that a purge would remove, without removing them, some in each
// turn. It stops after the turn in which the number of examined messages reaches `most`.
func (b *Broker) countPurge(ctx context.Context, pg engine.Purge, most int64) (engine.Purge, error) {
	for looked := int64(0); !pg.Done && looked < most; looked += filteredPurgeSlice {
		before := pg
		var err error
		pg, err = do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Purge, error) {
			next := before
			err := ns.CountPurgeSlice(now, &next, filteredPurgeSlice)
			return next, err
		})
		if err != nil {
			return before, err
		}
	}
	return pg, nil
}

// A PurgePreview counts messages by what a purge with a filter would do to them.
type PurgePreview struct {
	Matching   int64        // would be removed
	Skipped    int64        // are locked, and would be removed otherwise
	Failed     int64        // would stay, because the filter cannot be evaluated for them
	Unmatched  int64        // do not match the filter
	Unexamined int64        // were not examined, because there are too many; an upper bound
	First      []engine.Key // the first few that would be removed
}

// AtMost returns how many messages would be removed if all unexamined ones matched too.
func (f PurgePreview) AtMost() int64 { return f.Matching + f.Unexamined }

// Plus returns the sum of the previews of two subqueues.
func (f PurgePreview) Plus(o PurgePreview) PurgePreview {
	return PurgePreview{f.Matching + o.Matching, f.Skipped + o.Skipped, f.Failed + o.Failed, f.Unmatched + o.Unmatched, f.Unexamined + o.Unexamined, slices.Concat(f.First, o.First)}
}

// PreviewPurge counts what PurgeMatching would do. It changes nothing and is not use of the entity
// (IDLE-7). It examines little more than `most` messages of any class, some in each turn.
func (b *Broker) PreviewPurge(ctx context.Context, p engine.Path, classes []engine.Class, only *engine.MessageFilter, most int64) (PurgePreview, error) {
	var have int64
	pg, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (pg engine.Purge, err error) {
		if have, err = countPurgeable(ns, p, classes); err != nil {
			return engine.Purge{}, err
		}
		pg, err = ns.PlanPurge(now, p, classes)
		pg.Filter = only
		return pg, err
	})
	if err == nil {
		pg, err = b.countPurge(ctx, pg, most)
	}
	f := PurgePreview{Matching: pg.Removed, Skipped: pg.Skipped, Failed: pg.Failed, Unmatched: pg.Unmatched, First: pg.Sample}
	if !pg.Done {
		f.Unexamined = max(have-pg.Examined, 0)
	}
	return f, err
}

// countPurgeable returns how many messages of some classes a subqueue has.
func countPurgeable(ns *engine.Namespace, p engine.Path, classes []engine.Class) (n int64, err error) {
	s, err := ns.State(p)
	if err != nil {
		return 0, err
	}
	switch {
	case p.IsTransfer():
		return s.Counts.TransferDeadLetter, nil
	case p.IsDeadLetter():
		return s.Counts.DeadLetter, nil
	}
	for _, c := range classes {
		switch c {
		case engine.ClassActive:
			n += s.Counts.Active
		case engine.ClassDeferred:
			n += s.Counts.Deferred
		case engine.ClassScheduled:
			n += s.Counts.Scheduled
		}
	}
	return n, nil
}
