package show

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/locale"
)

// mostLookedUp is how many dead letters are looked up among the ids that were
// seen, before all of a queue are resubmitted.
const mostLookedUp = 1000

// again are those of some dead letters that would be dropped as duplicates if
// all of them were resubmitted in this order: their ids were seen where they go,
// or one before them has the same (DUP-2, DUP-10).
type again struct {
	rows  []engine.Row
	where []string // the places that would drop them, each once
}

// wouldBeDropped finds them. What is no dead letter, or has nowhere to go, is
// refused anyway and not among them.
func wouldBeDropped(r broker.Reader, rows []engine.Row) (out again) {
	type sent struct {
		to, id string
	}
	before, named := map[sent]bool{}, map[engine.Path]bool{}
	for _, row := range rows {
		if !row.Path.IsDeadLetter() {
			continue
		}
		to := destination(row)
		e, err := r.State(to)
		if err != nil || !e.Config.RequiresDuplicateDetection || e.Kind == engine.Subscription {
			continue
		}
		one := sent{to.Fold(), row.Content.MessageID()}
		seen, err := r.Seen(to, one.id)
		if dropped := err == nil && seen || before[one]; !dropped {
			before[one] = one.id != ""
			continue
		}
		out.rows = append(out.rows, row)
		if !named[e.Path] {
			named[e.Path] = true
			out.where = append(out.where, Shown(e.Path))
		}
	}
	return out
}

// says how many there are, where, and which; empty: none.
func (a again) says(ctx context.Context) string {
	if len(a.rows) == 0 {
		return ""
	}
	called := names(a.rows[:min(len(a.rows), sampled)])
	if rest := len(a.rows) - len(called); rest > 0 {
		called = append(called, locale.N(ctx, "confirm.more", rest))
	}
	return locale.N(ctx, "confirm.seen.some", len(a.rows), locale.Args{"Name": locale.List(ctx, a.where...), "Messages": locale.List(ctx, called...)})
}

// AnyDuplicate tells whether one of these dead letters would be dropped as a
// duplicate if they were resubmitted now.
func (p *Pages) AnyDuplicate(ctx context.Context, keys []engine.Key) (yes bool, err error) {
	_, err = p.look(ctx, func(r broker.Reader) error {
		yes = len(wouldBeDropped(r, rowsOf(r, keys)).rows) > 0
		return nil
	})
	return yes, err
}

// rowsOf are the messages with these keys that are still there.
func rowsOf(r broker.Reader, keys []engine.Key) (rows []engine.Row) {
	for _, k := range keys {
		if row, err := r.Message(k); err == nil {
			rows = append(rows, row)
		}
	}
	return rows
}
