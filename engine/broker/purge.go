package broker

import (
	"context"
	"math"
	"slices"

	"mayfly/engine"
)

// These are how many messages a purge or a batch delete looks at in one turn; fewer if a
// filter judges each.
const (
	purgeSlice         = 4000
	filteredPurgeSlice = 500
)

// Purge removes the messages of some classes that exist now, in slices, so that senders go on
// meanwhile; locked ones are skipped (OPS-7). If ctx ends it, the result shows how far it
// came.
func (b *Broker) Purge(ctx context.Context, p engine.Path, classes []engine.Class, agreed ConfirmedCount, actor string) (engine.Purge, error) {
	return b.PurgeMatching(ctx, p, classes, nil, agreed, actor)
}

// PurgeMatching is Purge for the messages that only picks; nil picks all. With a filter, agreed is
// the number of messages that are picked and not locked: they are counted first, unless agreed
// covers all messages, and nothing is removed if there are too many.
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

// countPurge goes through a purge without doing it, up to the slice in which it has looked at most
// messages.
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

// A PurgePreview holds what a purge with a filter would do.
type PurgePreview struct {
	Matching   int64        // would go
	Skipped    int64        // are locked, and would go otherwise
	Failed     int64        // stay because the filter cannot be evaluated for them
	Unmatched  int64        // the filter is not true of them
	Unexamined int64        // not looked at, because there are too many; an upper bound
	First      []engine.Key // the first few that would go
}

// AtMost returns how many would go if all unexamined messages matched too.
func (f PurgePreview) AtMost() int64 { return f.Matching + f.Unexamined }

// Plus adds the forecasts of two subqueues.
func (f PurgePreview) Plus(o PurgePreview) PurgePreview {
	return PurgePreview{f.Matching + o.Matching, f.Skipped + o.Skipped, f.Failed + o.Failed, f.Unmatched + o.Unmatched, f.Unexamined + o.Unexamined, slices.Concat(f.First, o.First)}
}

// PreviewPurge counts what PurgeMatching would do. It changes nothing and is not use of the entity
// (IDLE-7). It looks at little more than most messages of any class, some in each turn.
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
