package ui

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

// addRule gives a subscription a rule that takes everything.
func (d *Door) addRule(c echo.Context, at show.Place, _ url.Values) error {
	ctx := c.Request().Context()
	if err := d.b.AddRule(ctx, at.Path, engine.Rule{Name: engine.DefaultRule}, actor(c)); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.done(c, d.rules(at), component.Notice{Title: locale.T(ctx, "ui.rule.added", locale.Args{"Rule": engine.DefaultRule, "Name": show.Shown(at.Path)})})
}

func (d *Door) removeRule(c echo.Context, at show.Place, _ url.Values) error {
	ctx, name := c.Request().Context(), at.Query.Get("rule")
	if err := d.b.RemoveRule(ctx, at.Path, name, actor(c)); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.done(c, d.rules(at), component.Notice{Title: locale.T(ctx, "ui.rule.removed", locale.Args{"Rule": name, "Name": show.Shown(at.Path)})})
}

func (d *Door) rules(at show.Place) string {
	return d.pages.EntityURL(at.Entity, at.Path) + "?tab=rules"
}

// newRule adds the rule that was filled in (FILT-7, FILT-8).
func (d *Door) newRule(c echo.Context, at show.Place, typed url.Values) error {
	t := show.Typed{Values: typed, Errors: map[string]component.Text{}}
	if addRows(typed) {
		return d.form(c, http.StatusOK, at, t)
	}
	r := show.ReadRule(c.Request().Context(), &t, d.b.Limits())
	r.Name = show.ReadRuleName(t, d.b.Limits())
	return d.keep(c, at, t, r, "ui.rule.added", d.b.AddRule)
}

// editRule gives a rule another filter and action.
func (d *Door) editRule(c echo.Context, at show.Place, typed url.Values) error {
	is, err := d.pages.Rule(c.Request().Context(), at.Path, at.Query.Get("rule"))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	t := show.Typed{Values: typed, Errors: map[string]component.Text{}}
	if addRows(typed) {
		return d.form(c, http.StatusOK, at, t)
	}
	r := show.ReadRule(c.Request().Context(), &t, d.b.Limits())
	r.Name = is.Name
	return d.keep(c, at, t, r, "ui.rule.saved", d.b.ReplaceRule)
}

// keep hands a rule to the broker, unless something is wrong with it.
func (d *Door) keep(
	c echo.Context, at show.Place, t show.Typed, r engine.Rule, says string,
	do func(ctx context.Context, sub engine.Path, r engine.Rule, actor string) error,
) error {
	ctx := c.Request().Context()
	if len(t.Errors)+len(t.Faults) > 0 {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	err := do(ctx, at.Path, r, actor(c))
	if errors.Is(err, engine.ErrExists) {
		t.Errors[page.RuleName] = why(err)
		return d.form(c, http.StatusConflict, at, t)
	}
	if err != nil {
		return d.again(c, at, t, err)
	}
	return d.goTo(c, d.rules(at), component.Notice{Title: locale.T(ctx, says, locale.Args{"Rule": r.Name, "Name": show.Shown(at.Path)})})
}

// tryRule answers with the form and what the rule makes of the message in it.
// That something is wrong with them is an answer too: nothing is kept.
func (d *Door) tryRule(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	t := show.Typed{Values: typed, Errors: map[string]component.Text{}}
	if k, err := strconv.ParseUint(typed.Get(page.RuleTake), 10, 64); err == nil {
		known, err := d.pages.FillFrom(ctx, typed, engine.Key(k))
		if err != nil {
			return err //nolint:wrapcheck // it says what it is about
		}
		if !known {
			t.Refused = component.Notice{Tone: component.Low, Title: locale.T(ctx, "lab.unknown")}
		}
	}
	r := show.ReadRule(ctx, &t, d.b.Limits())
	if r.Name = at.Query.Get("rule"); r.Name == "" {
		r.Name = typed.Get(page.RuleName)
	}
	sound := len(t.Errors)+len(t.Faults) == 0
	if m, ok := d.readTried(ctx, &t); sound && ok {
		t.Try = &show.Attempt{Rule: r, Message: m}
	}
	return d.form(c, http.StatusOK, at, t)
}

// readTried reads the message that something is to be tried on: one that the
// broker would accept. If it is none, t says why.
func (d *Door) readTried(ctx context.Context, t *show.Typed) (m engine.Content, ok bool) {
	read := show.Typed{Values: t.Values, Errors: map[string]component.Text{}}
	mould, seed, _, err := d.readMessage(ctx, read, 0)
	refused := component.Notice{Tone: component.Critical, Title: locale.T(ctx, "lab.wrong")}
	if mould != nil && len(read.Errors) == 0 && err == nil {
		m, err = mould.Head(1, 0, seed)
		m.MessageID = t.Values.Get(page.SendMessageID) // without the one that is made up
	}
	if len(read.Errors) > 0 {
		maps.Copy(t.Errors, read.Errors)
		first := slices.Min(slices.Collect(maps.Keys(read.Errors)))
		of, why := component.Visible(cmp.Or(t.Values.Get(first+page.SendPropertyName), first)+": "), read.Errors[first]
		if why.English {
			refused.Said = of + component.Visible(why.S)
		} else {
			refused.Detail = of + why.S
		}
	} else if err != nil {
		refused = because(refused, err)
	} else {
		return m, true
	}
	t.Refused = refused
	return m, false
}
