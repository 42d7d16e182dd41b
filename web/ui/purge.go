package ui

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
	"mayfly/web/show"
)

// purge removes messages by state and by a filter (OPS-7).
func (d *Door) purge(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	e, err := d.state(c, at.Path)
	if err != nil {
		return err
	}
	t := show.Typed{Values: typed}
	chosen := typed[page.AskState]
	agreed, seen := agreedOf(typed, chosen)
	p, ok := show.PurgingOf(e, chosen)
	if !ok || !seen {
		t.Refused = component.Notice{Tone: component.Critical, Title: locale.T(ctx, "ui.purge.what")}
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	only := show.ReadSieve(&t, d.b.Limits())
	if len(t.Errors)+len(t.Faults) > 0 {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	if typed.Has(page.AskLook) || !counted(t, chosen) { // what goes is said before it goes
		return d.form(c, http.StatusOK, at, t)
	}
	if only != nil {
		if agreed, err = strconv.ParseInt(typed.Get(page.AskMatching), 10, 64); err != nil || agreed < 0 {
			return d.form(c, http.StatusOK, at, t)
		}
	}
	have, err := d.goes(ctx, p, only, broker.Agreed(agreed))
	if err != nil {
		return d.again(c, at, t, err)
	}
	if have > show.TypeNameOver && !nameTyped(c, typed, e.Path.Name(), &t) {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	if broker.Agreed(agreed).Check(have) != nil {
		return d.again(c, at, t, &show.Refusal{Kind: engine.ErrChanged, Text: locale.N(ctx, "ui.changed", int(have), locale.Args{"Agreed": locale.Number(ctx, int(agreed))})})
	}
	done, err := d.purgeBoth(c, p, only, broker.Agreed(agreed))
	if err != nil && done.Removed > 0 {
		so := locale.N(ctx, "ui.purged.part", int(done.Removed), locale.Args{"Name": show.Shown(e.Path)})
		err = &show.Refusal{Kind: err, Text: so}
	}
	if err != nil {
		return d.again(c, at, t, err)
	}
	n := component.Notice{Title: locale.N(ctx, "ui.purged", int(done.Removed), locale.Args{"Name": show.Shown(e.Path)})}
	if done.Skipped > 0 {
		n.Detail = locale.N(ctx, "ui.locked.left", int(done.Skipped))
	}
	if done.Failed > 0 {
		n.Detail = strings.TrimSpace(n.Detail + " " + locale.N(ctx, "ui.purge.failed", int(done.Failed)))
	}
	return d.goTo(c, d.backOr(c, d.pages.EntityURL(e.Kind, e.Path)), n)
}

// counted tells whether the number in a form is of just what is asked for: of
// the same filter and, where there is one, of the same states.
func counted(t show.Typed, chosen []string) bool {
	was := show.Typed{Values: url.Values{page.AskFilter: t.Values[page.AskCounted]}}
	text := show.Filter(t)
	if text != show.Filter(was) {
		return false
	}
	return text == "" || slices.Equal(chosen, t.Values[page.AskCountedOf])
}

// goes is how many messages a purge takes. It is looked up as far as it takes to
// see whether they are as many as was agreed to.
func (d *Door) goes(ctx context.Context, p show.Purging, only *engine.Sieve, agreed broker.Agreed) (int64, error) {
	if only == nil {
		return p.N, nil
	}
	if agreed.Check(p.N) == nil {
		return min(p.N, int64(agreed)), nil
	}
	f, err := p.Foresee(ctx, d.b, only, math.MaxInt64)
	return f.Matching, err //nolint:wrapcheck // it says what it is about
}

// purgeBoth purges what was agreed to: where that lies in one place the broker
// checks the number once more, where in two their sum has been checked, and
// neither is refused once the other is gone. The result says what was removed
// even if there is an error.
func (d *Door) purgeBoth(c echo.Context, p show.Purging, only *engine.Sieve, agreed broker.Agreed) (done engine.Purge, err error) {
	ctx := c.Request().Context()
	if p.Dead != "" && len(p.Classes) > 0 {
		agreed = broker.Unasked
	}
	if len(p.Classes) > 0 {
		if done, err = d.b.PurgeOnly(ctx, p.Path, p.Classes, only, agreed, actor(c)); err != nil {
			return done, fmt.Errorf("purge %s: %w", p.Path, err)
		}
	}
	if p.Dead != "" {
		if agreed >= 0 && only == nil { // without a filter the broker counts those that stay too
			agreed += min(broker.Agreed(p.Locked), math.MaxInt64-agreed)
		}
		dead, err := d.b.PurgeOnly(ctx, p.Dead, show.DeadClasses(), only, agreed, actor(c))
		done.Removed, done.Skipped, done.Failed = done.Removed+dead.Removed, done.Skipped+dead.Skipped, done.Failed+dead.Failed
		if err != nil {
			return done, fmt.Errorf("purge %s: %w", p.Dead, err)
		}
	}
	return done, nil
}
