package ui

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/access"
	"mayfly/web/show"
)

// create makes a queue, a topic or a subscription from its form.
func (d *Door) create(c echo.Context, at show.Place, typed url.Values) error {
	at.Do = "new"
	kind, ctx := at.EntityKind(), c.Request().Context()
	name := strings.TrimSpace(typed.Get("name"))
	config, wrong := show.ReadConfig(kind, engine.Config{}, true, d.b.Limits(), typed)
	if err := engine.CheckName(kind, name, d.b.Limits()); err != nil {
		wrong["name"] = why(err)
	}
	t := show.Typed{Values: typed, Errors: wrong}
	if addRows(typed) {
		clear(wrong) // it is not finished
		return d.form(c, http.StatusOK, at, t)
	}
	path := engine.Path(name)
	var rules []engine.Rule
	if kind == engine.Subscription {
		path = engine.SubscriptionPath(string(at.Path), name)
		first := show.ReadRule(ctx, &t, d.b.Limits())
		first.Name = engine.DefaultRule
		rules = append(rules, first)
	}
	if len(wrong)+len(t.Faults) > 0 {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	made, err := d.b.CreateWithRules(ctx, kind, path, config, rules, actor(c))
	if status(err) == http.StatusConflict && err != nil {
		t.Errors["name"] = why(err)
		return d.form(c, http.StatusConflict, at, t)
	}
	if err != nil {
		return d.again(c, at, t, err)
	}
	return d.goTo(c, d.pages.EntityURL(kind, made.Path), component.Notice{
		Title: locale.T(ctx, "ui.created", locale.Args{"Kind": show.KindWord(ctx, kind), "Name": show.Shown(made.Path)}),
	})
}

// state is an entity as it is now.
func (d *Door) state(c echo.Context, path engine.Path) (e engine.EntityState, err error) {
	err = d.b.Read(c.Request().Context(), func(r broker.Reader) error {
		e, err = r.State(path)
		return err //nolint:wrapcheck // it says what it is about
	})
	return e, err //nolint:wrapcheck // it says what it is about
}

// edit replaces an entity's description (PROP-2). One that would let messages
// run out at once has to be sent a second time, with their number agreed to. One
// that is only tried is answered with what it would do.
func (d *Door) edit(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	e, err := d.state(c, at.Path)
	if err != nil {
		return err
	}
	config, wrong := show.ReadConfig(e.Kind, e.Config, false, d.b.Limits(), typed)
	t := show.Typed{Values: typed, Errors: wrong}
	if at.Query.Has(page.Try) {
		at.Query = nil
		return d.form(c, http.StatusOK, at, t)
	}
	if len(wrong) > 0 {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	agreed, err := strconv.Atoi(at.Query.Get("agreed"))
	if err != nil || agreed < 0 {
		agreed = 0 // nobody has agreed to anything yet
	}
	what, err := d.pages.WhatIf(ctx, e.Path, typed)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	if what.Expire > 0 && view.Safe(ctx) {
		return access.ErrSafe
	}
	if broker.Agreed(agreed).Check(int64(what.Expire)) != nil {
		t.Refused = component.Notice{
			Tone:  component.Low,
			Title: locale.N(ctx, "ui.whatif", what.Expire, locale.Args{"TTL": what.TTL}), Detail: locale.T(ctx, "ui.whatif.detail"),
		}
		at.Query = url.Values{"agreed": {strconv.Itoa(what.Expire)}}
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	if _, err := d.b.Update(ctx, e.Path, config, actor(c)); err != nil {
		return d.again(c, at, t, err)
	}
	return d.goTo(c, d.pages.EntityURL(e.Kind, e.Path)+"?tab=settings", component.Notice{
		Title: locale.T(ctx, "ui.saved", locale.Args{"Name": show.Shown(e.Path)}),
	})
}

// agreedTo is the number that somebody saw before agreeing.
func agreedTo(typed url.Values) (n int64, ok bool) {
	n, err := strconv.ParseInt(typed.Get(page.AskCount), 10, 64)
	return n, err == nil && n >= 0
}

// agreedOf is the number that somebody saw of the states that were then chosen.
func agreedOf(typed url.Values, chosen []string) (n int64, ok bool) {
	if typed.Has(page.AskCount) {
		return agreedTo(typed)
	}
	for _, s := range chosen {
		seen, err := strconv.ParseInt(typed.Get(page.AskCountOf+s), 10, 64)
		if err != nil || seen < 0 {
			return 0, false
		}
		n += min(seen, math.MaxInt64-n)
	}
	return n, true
}

// nameTyped checks what has to be typed before something large goes.
func nameTyped(c echo.Context, typed url.Values, name string, t *show.Typed) bool {
	if strings.TrimSpace(typed.Get(page.AskConfirm)) == name {
		return true
	}
	t.Errors = map[string]component.Text{page.AskConfirm: {S: locale.T(c.Request().Context(), "ui.typename", locale.Args{"Name": name})}}
	return false
}

// deleteEntity removes an entity with everything in it, once its name was typed.
func (d *Door) deleteEntity(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	e, err := d.state(c, at.Path)
	if err != nil {
		return err
	}
	t := show.Typed{Values: typed}
	agreed, ok := agreedTo(typed)
	if !nameTyped(c, typed, e.Path.Name(), &t) || !ok {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	if err := d.b.Delete(ctx, e.Path, broker.Agreed(agreed), actor(c)); err != nil {
		return d.again(c, at, t, err)
	}
	to := d.pages.Home() + "/queues"
	switch topic, _, ok := e.Path.Subscription(); {
	case ok:
		to = d.pages.EntityURL(engine.Topic, engine.Path(topic))
	case e.Kind == engine.Topic:
		to = d.pages.Home() + "/topics"
	}
	return d.goTo(c, to, component.Notice{Title: locale.T(ctx, "ui.deleted", locale.Args{"Name": show.Shown(e.Path)})})
}

// touch counts as use of a temporary entity; pin keeps it, unpin lets it go
// again (OPS-9).
func (d *Door) touch(c echo.Context, at show.Place, _ url.Values) error {
	return d.idle(c, at, d.b.Touch, "ui.touched", nil)
}

func (d *Door) pin(c echo.Context, at show.Place, _ url.Values) error {
	return d.idle(c, at, d.b.Pin, "ui.pinned", d.b.Unpin)
}

func (d *Door) unpin(c echo.Context, at show.Place, _ url.Values) error {
	return d.idle(c, at, d.b.Unpin, "ui.unpinned", d.b.Pin)
}

// idle does something to how an entity deletes itself, which back takes back; nil:
// nothing does.
func (d *Door) idle(c echo.Context, at show.Place, do func(ctx context.Context, p engine.Path, actor string) error, says string, back func(ctx context.Context, p engine.Path, actor string) error) error {
	ctx := c.Request().Context()
	if err := do(ctx, at.Path, actor(c)); err != nil {
		return err
	}
	n := component.Notice{Title: locale.T(ctx, says, locale.Args{"Name": show.Shown(at.Path)})}
	if back != nil {
		n.Undo = d.undoURL(func(c echo.Context) (component.Notice, error) {
			ctx := c.Request().Context()
			if err := back(ctx, at.Path, actor(c)); err != nil {
				return because(component.Notice{Tone: component.Low, Title: locale.T(ctx, "ui.undo.none")}, err), nil
			}
			return component.Notice{Title: locale.T(ctx, "ui.undone.idle", locale.Args{"Name": show.Shown(at.Path)})}, nil
		})
	}
	return d.done(c, d.pages.EntityURL(at.Entity, at.Path), n)
}

// restore brings back the description of an entity that deleted itself (OPS-9).
func (d *Door) restore(c echo.Context, at show.Place, _ url.Values) error {
	ctx := c.Request().Context()
	gone, ok := d.pages.Tombstone(at.Epoch, at.ID)
	if !ok {
		return &show.Refusal{Kind: engine.ErrNotFound, Text: locale.T(ctx, "ui.tombstone.none")}
	}
	if err := d.b.Restore(ctx, gone, actor(c)); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.goTo(c, d.pages.EntityURL(gone.Entity.Kind, gone.Path), component.Notice{
		Title: locale.T(ctx, "ui.restored", locale.Args{"Name": show.Shown(gone.Path)}), Detail: locale.T(ctx, "ui.restored.detail"),
	})
}
