package dashboard

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/dashboard/operate"
	"mayfly/web/dashboard/pages"
)

// moveAsideBatch is how many damaged messages one turn of the broker moves aside.
const moveAsideBatch = 1000

// moveDamagedAside moves one damaged message aside, or all of them once the user has typed the
// name of the namespace.
func (d *Handler) moveDamagedAside(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	t := pages.FormState{Values: typed}
	chosen, err := operate.SelectedDamaged(ctx, d.pages, at)
	if err != nil {
		return err
	}
	agreed, ok := confirmedCount(typed)
	if name := operate.DamagedConfirmName(d.pages, at); name != "" && !checkTypedName(c, typed, name, &t) || !ok {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	if broker.ConfirmedCount(agreed).Check(int64(len(chosen))) != nil {
		return d.writeFormError(c, at, t, &pages.LocalizedError{Err: engine.ErrChanged, Text: locale.N(ctx, "ui.changed", len(chosen), locale.Args{"Agreed": locale.Number(ctx, int(agreed))})})
	}
	moved := 0
	for some := range slices.Chunk(chosen, moveAsideBatch) {
		keys := make([]engine.Key, len(some))
		for i, m := range some {
			keys[i] = m.Key
		}
		n, err := d.b.Quarantine(ctx, keys, actor(c))
		if err != nil {
			return err
		}
		moved += n
	}
	return d.redirectBack(c, d.pages.URL(pages.Address{Namespace: at.Namespace, Kind: pages.DamagedMessages}), component.Notice{
		Title: locale.N(ctx, "damaged.moved", moved), Detail: locale.T(ctx, "damaged.moved.detail"),
	})
}
