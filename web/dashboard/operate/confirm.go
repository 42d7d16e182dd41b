package operate

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/operate"
	"mayfly/views/view"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/pages"
)

// ConfirmNameAbove is the largest number of messages that a destructive action removes without
// asking for the entity's name.
const ConfirmNameAbove = 20

// ConfirmResubmit asks to confirm the resubmission of all dead letters.
func ConfirmResubmit(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	transfers := at.Query.Get("dlq") == string(page.TabTransfers)
	var twice expectedDrops
	e, err := entity.ReadEntityWith(ctx, p, at.Path, func(r broker.Reader, e *entity.Snapshot) (err error) {
		from := e.Path.DeadLetter()
		switch {
		case transfers:
			from = e.Path.Transfer()
		case e.Kind == engine.Topic:
			return pages.ErrPageNotFound
		}
		e.Rows, err = r.Browse(engine.Browse{Path: from, From: 1, Limit: maxDuplicateChecks})
		twice = findExpectedDrops(r, e.Rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	m := entity.Confirm(ctx, p, at, e, t, operate.Resubmit)
	m.Count, m.Left = int(e.Counts.DeadLetter-e.Counts.DeadLocked), int(e.Counts.DeadLocked)
	if transfers {
		m.Count, m.Left = int(e.Counts.TransferDeadLetter), 0
	}
	if m.DuplicateAt = twice.text(ctx); m.DuplicateAt != "" && m.Count > len(e.Rows) {
		m.DuplicateAt += " " + locale.N(ctx, "confirm.seen.first", len(e.Rows))
	}
	m.Sample = pages.MessageNames(e.Rows[:min(len(e.Rows), pages.MaxSampleNames)])
	return m, nil
}
