package entity

import (
	"context"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/dashboard/pages"
)

// DeletedEntityRow returns the record of a deleted entity. One that was deleted automatically can be
// restored.
func DeletedEntityRow(ctx context.Context, p *pages.Pages, e engine.HistoryEvent, now engine.Instant) component.DeletedEntity {
	g := component.DeletedEntity{
		Key: pages.DeletedEntityID(e.Epoch, e.N), Name: pages.DisplayPath(e.Path), Created: e.Entity.CreatedAt.Time(), Deleted: e.At.Time(), Dated: !pages.SameDay(e.At, now),
		Contents: locale.T(ctx, "grave.empty"),
	}
	if e.Count > 0 {
		g.Contents = locale.N(ctx, "grave.messages", int(e.Count))
	}
	if e.Kind == engine.EventEntityAutoDeleted {
		g.Restore = p.Home() + "/tombstones/" + g.Key + "/restore"
	}
	return g
}
