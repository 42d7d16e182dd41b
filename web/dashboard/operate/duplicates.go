package operate

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/locale"
	"mayfly/web/dashboard/pages"
)

// maxDuplicateChecks is how many dead letters are checked for duplicates before all of a subqueue
// are resubmitted.
const maxDuplicateChecks = 1000

// expectedDrops holds the dead letters of a list that would be dropped as duplicates if the whole
// list were resubmitted in order: their destination has seen their ids, or an earlier one has the
// same id (DUP-2, DUP-10).
type expectedDrops struct {
	rows     []engine.Row
	entities []string // names of the entities that would drop the messages, without repetition
}

// findExpectedDrops returns the expected drops of rows. It skips messages that are not dead
// letters or have no destination: resubmitting these is refused anyway.
func findExpectedDrops(r broker.Reader, rows []engine.Row) (out expectedDrops) {
	type sent struct {
		to, id string
	}
	before, named := map[sent]bool{}, map[engine.Path]bool{}
	for _, row := range rows {
		if !row.Path.IsDeadLetter() {
			continue
		}
		to := pages.Destination(row)
		e, err := r.State(to)
		if err != nil || !e.Config.RequiresDuplicateDetection || e.Kind == engine.Subscription {
			continue
		}
		one := sent{to: to.Fold(), id: row.Content.MessageID()}
		seen, err := r.IsDuplicate(to, one.id)
		if dropped := err == nil && seen || before[one]; !dropped {
			before[one] = one.id != ""
			continue
		}
		out.rows = append(out.rows, row)
		if !named[e.Path] {
			named[e.Path] = true
			out.entities = append(out.entities, pages.DisplayPath(e.Path))
		}
	}
	return out
}

// text names the number of dead letters that would be dropped, the entities, and some of the dead
// letters. It returns "" if there are none.
func (a expectedDrops) text(ctx context.Context) string {
	if len(a.rows) == 0 {
		return ""
	}
	called := pages.MessageNames(a.rows[:min(len(a.rows), pages.MaxSampleNames)])
	if rest := len(a.rows) - len(called); rest > 0 {
		called = append(called, locale.N(ctx, "confirm.more", rest))
	}
	return locale.N(ctx, "confirm.seen.some", len(a.rows), locale.Args{"Name": locale.List(ctx, a.entities...), "Messages": locale.List(ctx, called...)})
}

// AnyDuplicate reports whether one of these dead letters would be dropped as a duplicate if
// they were resubmitted now.
func AnyDuplicate(ctx context.Context, p *pages.Pages, keys []engine.Key) (yes bool, err error) {
	_, err = p.Read(ctx, func(r broker.Reader) error {
		yes = len(findExpectedDrops(r, rowsOf(r, keys)).rows) > 0
		return nil
	})
	return yes, err
}

// rowsOf returns the messages with these keys that still exist.
func rowsOf(r broker.Reader, keys []engine.Key) (rows []engine.Row) {
	for _, k := range keys {
		if row, err := r.Message(k); err == nil {
			rows = append(rows, row)
		}
	}
	return rows
}
