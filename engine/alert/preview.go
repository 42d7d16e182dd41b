package alert

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

// A Preview is what a rule would do now.
type Preview struct {
	Known      bool         // false for a rule about events, which cannot be previewed
	Count      int64        // messages or entities for which it would fire
	Incomplete bool         // there were too many to examine all of them
	Sample     []engine.Row // the first few messages
	Paths      []engine.Path
}

const (
	previewSample = 5
	previewBytes  = 16 << 20 // bytes of bodies to read at most
)

// Preview returns what a rule would do if it were created now. The errors are Add's.
func (r *Rules) Preview(ctx context.Context, rule Rule) (f Preview, err error) {
	if rule.Name == "" {
		rule.Name = "?" // the user can name it later
	}
	if rule, err = r.check(rule); err != nil {
		return f, err
	}
	a, err := rule.compile()
	if err != nil {
		return f, err
	}
	switch rule.Condition {
	case ExpiringSoon:
		f.Known = true
		err := a.preview(ctx, r.b, &f)
		return f, err
	case DeadLettersAbove, DeletingSoon:
		f.Known = true
		are, err := (&activeRule{compiledRule: a}).currentItems(ctx, r.b)
		f.Count = int64(len(are))
		for _, it := range are[:min(len(are), previewSample)] {
			f.Paths = append(f.Paths, it.Path)
		}
		return f, err
	default:
		return f, nil
	}
}

func (a *compiledRule) preview(ctx context.Context, b *broker.Broker, f *Preview) error {
	var at engine.ExpiryCursor
	room := int64(previewBytes)
	for seen := 0; seen < maxPreviewRows; {
		var rows []engine.Row
		var now, next engine.Instant
		var to engine.ExpiryCursor
		err := b.Read(ctx, func(r broker.Reader) error {
			now = r.Now
			rows, to, next = r.ExpiringFrom(at, now.Add(a.Within), sliceRows, a.covers)
			return nil
		})
		if err != nil {
			return err
		}
		seen, at = seen+len(rows), to
		all := len(rows)
		rows = rows[:a.countAffordable(rows, now, &room)]
		meant, err := a.matchRows(ctx, b, rows, now)
		if err != nil {
			return err
		}
		f.Count += int64(len(meant))
		f.Sample = append(f.Sample, meant[:min(len(meant), previewSample-len(f.Sample))]...)
		f.Incomplete = len(rows) < all || next != 0 && next <= now.Add(a.Within)
		if !f.Incomplete || len(rows) < all {
			return nil
		}
	}
	return nil
}

// countAffordable returns how many of the messages, from the first on, can be matched by reading at
// most *room bytes of bodies, and subtracts these bytes from *room.
func (a *compiledRule) countAffordable(rows []engine.Row, now engine.Instant, room *int64) int {
	for i, row := range rows {
		if a.query.Match(row, now) != search.NeedBody {
			continue
		}
		if *room -= min(row.Content.BodySize(), search.MaxBody); *room < 0 {
			return i
		}
	}
	return len(rows)
}
