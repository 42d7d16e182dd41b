package broker

import (
	"context"
	"math"
	"slices"

	"mayfly/engine"
)

// How many messages a purge, or a batch delete, looks at in one turn: at fewer
// where each is judged by a filter.
const (
	purgeSlice = 4000
	sieveSlice = 500
)

// Purge removes the messages of some classes that are there now, in slices, so
// that senders go on meanwhile; locked ones are skipped (OPS-7). A purge that
// ctx ends says in its result how far it came.
func (b *Broker) Purge(ctx context.Context, p engine.Path, classes []engine.Class, agreed Agreed, actor string) (engine.Purge, error) {
	return b.PurgeOnly(ctx, p, classes, nil, agreed, actor)
}

// PurgeOnly is Purge for the messages that only picks; nil picks all. With a
// filter the number agreed to is of those that are picked and not locked: they
// are counted first, unless there are no more messages in all, and nothing has
// gone when it turns out that there are too many.
func (b *Broker) PurgeOnly(ctx context.Context, p engine.Path, classes []engine.Class, only *engine.Sieve, agreed Agreed, actor string) (engine.Purge, error) {
	var have int64
	pg, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (pg engine.Purge, err error) {
		if have, err = purgeable(ns, p, classes); err != nil {
			return engine.Purge{}, err
		}
		if only == nil {
			if err := agreed.Check(have); err != nil {
				return engine.Purge{}, err
			}
		}
		pg, err = ns.BeginPurge(now, p, classes)
		pg.Only = only
		return pg, err
	})
	if err == nil && agreed.Check(have) != nil {
		var would engine.Purge
		if would, err = b.count(ctx, pg, math.MaxInt64); err == nil {
			err = agreed.Check(would.Removed)
		}
	}
	slice := purgeSlice
	if only != nil {
		slice = sieveSlice
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

// count goes through a purge without doing it, up to the slice in which it has
// looked at most messages.
func (b *Broker) count(ctx context.Context, pg engine.Purge, most int64) (engine.Purge, error) {
	for looked := int64(0); !pg.Done && looked < most; looked += sieveSlice {
		before := pg
		var err error
		pg, err = do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Purge, error) {
			next := before
			err := ns.CountSlice(now, &next, sieveSlice)
			return next, err
		})
		if err != nil {
			return before, err
		}
	}
	return pg, nil
}

// A Forecast is what a purge with a filter would do.
type Forecast struct {
	Matching int64        // would go
	Skipped  int64        // are locked and would go otherwise
	Failed   int64        // the filter cannot be evaluated for them, so they would stay
	Spared   int64        // the filter is not true of them
	Unseen   int64        // were too many to look at; this many at the most
	First    []engine.Key // the first few that would go
}

// AtMost is how many would go if all that was not looked at matched too.
func (f Forecast) AtMost() int64 { return f.Matching + f.Unseen }

// Plus is a forecast for two places.
func (f Forecast) Plus(o Forecast) Forecast {
	return Forecast{f.Matching + o.Matching, f.Skipped + o.Skipped, f.Failed + o.Failed, f.Spared + o.Spared, f.Unseen + o.Unseen, slices.Concat(f.First, o.First)}
}

// Foresee counts what PurgeOnly would do, changing nothing and without being use
// of the entity (IDLE-7). It looks at not many more than most messages, some in
// each turn, whatever class they are of.
func (b *Broker) Foresee(ctx context.Context, p engine.Path, classes []engine.Class, only *engine.Sieve, most int64) (Forecast, error) {
	var have int64
	pg, err := do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (pg engine.Purge, err error) {
		if have, err = purgeable(ns, p, classes); err != nil {
			return engine.Purge{}, err
		}
		pg, err = ns.PlanPurge(now, p, classes)
		pg.Only = only
		return pg, err
	})
	if err == nil {
		pg, err = b.count(ctx, pg, most)
	}
	f := Forecast{Matching: pg.Removed, Skipped: pg.Skipped, Failed: pg.Failed, Spared: pg.Spared, First: pg.First}
	if !pg.Done {
		f.Unseen = max(have-pg.Seen, 0)
	}
	return f, err
}
func purgeable(ns *engine.Namespace, p engine.Path, classes []engine.Class) (n int64, err error) {
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
