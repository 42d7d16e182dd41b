package dashboard

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/dashboard/operate"
	"mayfly/web/dashboard/pages"
)

// purgeMessages removes messages by state and by a filter (OPS-7).
func (d *Handler) purgeMessages(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	e, err := d.readEntityState(c, at.Path)
	if err != nil {
		return err
	}
	t := pages.FormState{Values: typed}
	chosen := typed[page.FieldState]
	agreed, seen := confirmedCountOf(typed, chosen)
	p, ok := operate.SelectPurge(e, chosen)
	if !ok || !seen {
		t.Refused = component.Notice{Tone: component.Critical, Title: locale.T(ctx, "ui.purge.what")}
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	only := operate.ParsePurgeFilter(&t, d.b.Limits())
	if len(t.Errors)+len(t.SyntaxErrors) > 0 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	if typed.Has(page.FieldCountOnly) || !countIsCurrent(t, chosen) { // the number is shown before messages are removed
		return d.writeForm(c, http.StatusOK, at, t)
	}
	if only != nil {
		if agreed, err = strconv.ParseInt(typed.Get(page.FieldMatching), 10, 64); err != nil || agreed < 0 {
			return d.writeForm(c, http.StatusOK, at, t)
		}
	}
	have, err := d.countPurge(ctx, p, only, broker.ConfirmedCount(agreed))
	if err != nil {
		return d.writeFormError(c, at, t, err)
	}
	if have > operate.ConfirmNameAbove && !checkTypedName(c, typed, e.Path.Name(), &t) {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	if broker.ConfirmedCount(agreed).Check(have) != nil {
		return d.writeFormError(c, at, t, &pages.LocalizedError{Err: engine.ErrChanged, Text: locale.N(ctx, "ui.changed", int(have), locale.Args{"Agreed": locale.Number(ctx, int(agreed))})})
	}
	done, err := d.purgeSubqueues(c, p, only, broker.ConfirmedCount(agreed))
	if err != nil && done.Removed > 0 {
		so := locale.N(ctx, "ui.purged.part", int(done.Removed), locale.Args{"Name": pages.DisplayPath(e.Path)})
		err = &pages.LocalizedError{Err: err, Text: so}
	}
	if err != nil {
		return d.writeFormError(c, at, t, err)
	}
	n := component.Notice{Title: locale.N(ctx, "ui.purged", int(done.Removed), locale.Args{"Name": pages.DisplayPath(e.Path)})}
	if done.Skipped > 0 {
		n.Detail = locale.N(ctx, "ui.locked.left", int(done.Skipped))
	}
	if done.Failed > 0 {
		n.Detail = strings.TrimSpace(n.Detail + " " + locale.N(ctx, "ui.purge.failed", int(done.Failed)))
	}
	return d.redirectWithNotice(c, d.returnURL(c, d.pages.EntityURL(e.Kind, e.Path)), n)
}

// countIsCurrent reports whether the number in a form was counted for the same filter and, if there
// is one, for the same states.
func countIsCurrent(t pages.FormState, chosen []string) bool {
	was := pages.FormState{Values: url.Values{page.FieldFilter: t.Values[page.FieldCounted]}}
	text := operate.PurgeFilterText(t)
	if text != operate.PurgeFilterText(was) {
		return false
	}
	return text == "" || slices.Equal(chosen, t.Values[page.FieldCountedOf])
}

// countPurge returns how many messages a purge removes. With a filter it counts them only if needed
// to check the confirmed number.
func (d *Handler) countPurge(ctx context.Context, p operate.PurgeSelection, only *engine.MessageFilter, agreed broker.ConfirmedCount) (int64, error) {
	if only == nil {
		return p.Count, nil
	}
	if agreed.Check(p.Count) == nil {
		return min(p.Count, int64(agreed)), nil
	}
	f, err := p.Preview(ctx, d.b, only, math.MaxInt64)
	return f.Matching, err
}

// purgeSubqueues purges the confirmed messages. In one subqueue the broker checks the number once
// more. With two subqueues, the caller has checked their sum, and the broker checks neither
// number, so that the second purge is not refused after the first is done. The result counts the
// removed messages even if there is an error.
func (d *Handler) purgeSubqueues(c echo.Context, p operate.PurgeSelection, only *engine.MessageFilter, agreed broker.ConfirmedCount) (done engine.Purge, err error) {
	ctx := c.Request().Context()
	if p.DeadLetters != "" && len(p.Classes) > 0 {
		agreed = broker.Unconfirmed
	}
	if len(p.Classes) > 0 {
		if done, err = d.b.PurgeMatching(ctx, p.Path, p.Classes, only, agreed, actor(c)); err != nil {
			return done, fmt.Errorf("purge %s: %w", p.Path, err)
		}
	}
	if p.DeadLetters != "" {
		if agreed >= 0 && only == nil { // without a filter the broker counts the locked ones that stay, too
			agreed += min(broker.ConfirmedCount(p.Locked), math.MaxInt64-agreed)
		}
		dead, err := d.b.PurgeMatching(ctx, p.DeadLetters, operate.DeadClasses(), only, agreed, actor(c))
		done.Removed, done.Skipped, done.Failed = done.Removed+dead.Removed, done.Skipped+dead.Skipped, done.Failed+dead.Failed
		if err != nil {
			return done, fmt.Errorf("purge %s: %w", p.DeadLetters, err)
		}
	}
	return done, nil
}
