package rescue

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

// A Forecast is what a rule would do now.
type Forecast struct {
	Known  bool         // a rule that waits for something to happen finds nothing now
	Count  int64        // messages or entities that it would fire for
	More   bool         // there were too many to look at all of them
	Sample []engine.Row // the first few messages
	Paths  []engine.Path
}

const (
	sampled      = 5
	foreseeBytes = 16 << 20 // of bodies that are read
)

// Foresee is what a rule would do if it were made now. The errors are Add's.
func (r *Rules) Foresee(ctx context.Context, rule Rule) (f Forecast, err error) {
	if rule.Name == "" {
		rule.Name = "?" // it has time for that
	}
	if rule, err = r.check(rule); err != nil {
		return f, err
	}
	a, err := rule.compile()
	if err != nil {
		return f, err
	}
	switch rule.When {
	case RunningOut:
		f.Known = true
		err := a.foresee(ctx, r.b, &f)
		return f, err
	case DeadOver, Deleting:
		f.Known = true
		are, err := (&working{active: a}).standing(ctx, r.b)
		f.Count = int64(len(are))
		for _, it := range are[:min(len(are), sampled)] {
			f.Paths = append(f.Paths, it.Path)
		}
		return f, err
	default:
		return f, nil
	}
}

func (a *active) foresee(ctx context.Context, b *broker.Broker, f *Forecast) error {
	var at engine.Brink
	room := int64(foreseeBytes)
	for seen := 0; seen < foreseeMost; {
		var rows []engine.Row
		var now, next engine.Instant
		var to engine.Brink
		err := b.Read(ctx, func(r broker.Reader) error {
			now = r.Now
			rows, to, next = r.Nearing(at, now.Add(a.Within), sliceRows, a.covers)
			return nil
		})
		if err != nil {
			return err //nolint:wrapcheck // it says what it is about
		}
		seen, at = seen+len(rows), to
		all := len(rows)
		rows = rows[:a.afford(rows, now, &room)]
		meant, err := a.meant(ctx, b, rows, now)
		if err != nil {
			return err
		}
		f.Count += int64(len(meant))
		f.Sample = append(f.Sample, meant[:min(len(meant), sampled-len(f.Sample))]...)
		f.More = len(rows) < all || next != 0 && next <= now.Add(a.Within)
		if !f.More || len(rows) < all {
			return nil
		}
	}
	return nil
}

// afford is how many of some messages can be asked the query while what is read of
// their bodies fits into room, which becomes less by that.
func (a *active) afford(rows []engine.Row, now engine.Instant, room *int64) int {
	for i, row := range rows {
		if a.query.Match(row, now) != search.NeedBody {
			continue
		}
		if *room -= min(row.Content.BodySize(), search.MostBody); *room < 0 {
			return i
		}
	}
	return len(rows)
}
