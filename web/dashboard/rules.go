package dashboard

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
	labpage "mayfly/views/page/lab"
	"mayfly/views/page/send"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/lab"
	"mayfly/web/dashboard/pages"
)

// addRule adds a rule that matches everything to a subscription.
func (d *Handler) addRule(c echo.Context, at pages.Address, _ url.Values) error {
	ctx := c.Request().Context()
	if err := d.b.AddRule(ctx, at.Path, engine.Rule{Name: engine.DefaultRule}, actor(c)); err != nil {
		return err
	}
	return d.redirectBack(c, d.rulesURL(at), component.Notice{Title: locale.T(ctx, "ui.rule.added", locale.Args{"Rule": engine.DefaultRule, "Name": pages.DisplayPath(at.Path)})})
}

func (d *Handler) removeRule(c echo.Context, at pages.Address, _ url.Values) error {
	ctx, name := c.Request().Context(), at.Query.Get("rule")
	if err := d.b.RemoveRule(ctx, at.Path, name, actor(c)); err != nil {
		return err
	}
	return d.redirectBack(c, d.rulesURL(at), component.Notice{Title: locale.T(ctx, "ui.rule.removed", locale.Args{"Rule": name, "Name": pages.DisplayPath(at.Path)})})
}

func (d *Handler) rulesURL(at pages.Address) string {
	return d.pages.EntityURL(at.EntityType, at.Path) + "?tab=rules"
}

// newRule adds the rule in the form (FILT-7, FILT-8).
func (d *Handler) newRule(c echo.Context, at pages.Address, typed url.Values) error {
	t := pages.FormState{Values: typed, Errors: map[string]component.Text{}}
	if addRows(typed) {
		return d.writeForm(c, http.StatusOK, at, t)
	}
	r := lab.ParseRule(c.Request().Context(), &t, d.b.Limits())
	r.Name = lab.ParseRuleName(t, d.b.Limits())
	return d.saveRule(c, at, t, r, "ui.rule.added", d.b.AddRule)
}

// editRule replaces the filter and action of a rule.
func (d *Handler) editRule(c echo.Context, at pages.Address, typed url.Values) error {
	is, err := entity.Rule(c.Request().Context(), d.pages, at.Path, at.Query.Get("rule"))
	if err != nil {
		return err
	}
	t := pages.FormState{Values: typed, Errors: map[string]component.Text{}}
	if addRows(typed) {
		return d.writeForm(c, http.StatusOK, at, t)
	}
	r := lab.ParseRule(c.Request().Context(), &t, d.b.Limits())
	r.Name = is.Name
	return d.saveRule(c, at, t, r, "ui.rule.saved", d.b.ReplaceRule)
}

// saveRule saves a rule by calling `do`, or shows the form again if the rule is invalid.
func (d *Handler) saveRule(
	c echo.Context, at pages.Address, t pages.FormState, r engine.Rule, says string,
	do func(ctx context.Context, sub engine.Path, r engine.Rule, actor string) error,
) error {
	ctx := c.Request().Context()
	if len(t.Errors)+len(t.SyntaxErrors) > 0 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	err := do(ctx, at.Path, r, actor(c))
	if errors.Is(err, engine.ErrExists) {
		t.Errors[labpage.RuleName] = errorMessage(err)
		return d.writeForm(c, http.StatusConflict, at, t)
	}
	if err != nil {
		return d.writeFormError(c, at, t, err)
	}
	return d.redirectWithNotice(c, d.rulesURL(at), component.Notice{Title: locale.T(ctx, says, locale.Args{"Rule": r.Name, "Name": pages.DisplayPath(at.Path)})})
}

// tryRule shows the form again with the result of trying its rule on its message, or with errors
// beside the fields. Nothing is saved.
func (d *Handler) tryRule(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	t := pages.FormState{Values: typed, Errors: map[string]component.Text{}}
	if k, err := strconv.ParseUint(typed.Get(labpage.RuleTake), 10, 64); err == nil {
		known, err := entity.FillFrom(ctx, d.pages, typed, engine.Key(k))
		if err != nil {
			return err
		}
		if !known {
			t.Refused = component.Notice{Tone: component.Low, Title: locale.T(ctx, "lab.unknown")}
		}
	}
	r := lab.ParseRule(ctx, &t, d.b.Limits())
	if r.Name = at.Query.Get("rule"); r.Name == "" {
		r.Name = typed.Get(labpage.RuleName)
	}
	sound := len(t.Errors)+len(t.SyntaxErrors) == 0
	if m, ok := d.parseTrialMessage(ctx, &t); sound && ok {
		t.Trial = &pages.RuleTrial{Rule: r, Message: m}
	}
	return d.writeForm(c, http.StatusOK, at, t)
}

// parseTrialMessage reads the message to try a rule on. `ok` is false if the broker would not
// accept the message, in which case the reason is in `t`.
func (d *Handler) parseTrialMessage(ctx context.Context, t *pages.FormState) (m engine.Content, ok bool) {
	read := pages.FormState{Values: t.Values, Errors: map[string]component.Text{}}
	compiled, seed, _, err := d.parseMessageForm(ctx, read, 0)
	refused := component.Notice{Tone: component.Critical, Title: locale.T(ctx, "lab.wrong")}
	if compiled != nil && len(read.Errors) == 0 && err == nil {
		m, err = compiled.Head(1, 0, seed)
		m.MessageID = t.Values.Get(send.SendMessageID) // not the generated message id
	}
	if len(read.Errors) > 0 {
		maps.Copy(t.Errors, read.Errors)
		first := slices.Min(slices.Collect(maps.Keys(read.Errors)))
		of, why := component.ShowInvisible(cmp.Or(t.Values.Get(first+send.SendPropertyName), first)+": "), read.Errors[first]
		if why.English {
			refused.ServerText = of + component.ShowInvisible(why.S)
		} else {
			refused.Detail = of + why.S
		}
	} else if err != nil {
		refused = withError(refused, err)
	} else {
		return m, true
	}
	t.Refused = refused
	return m, false
}
