package dashboard

import (
	"context"
	"maps"
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
	entitypage "mayfly/views/page/entity"
	"mayfly/views/view"
	"mayfly/web/auth/origin"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/lab"
	"mayfly/web/dashboard/pages"
)

// createEntity creates a queue, a topic or a subscription from its form.
func (d *Handler) createEntity(c echo.Context, at pages.Address, typed url.Values) error {
	at.Action = "new"
	kind, ctx := at.EntityKind(), c.Request().Context()
	name := strings.TrimSpace(typed.Get("name"))
	config, wrong := entity.ParseConfig(kind, engine.Config{}, true, d.b.Limits(), typed)
	if err := engine.CheckName(kind, name, d.b.Limits()); err != nil {
		wrong["name"] = errorMessage(err)
	}
	t := pages.FormState{Values: typed, Errors: wrong}
	if addRows(typed) {
		clear(wrong) // the form is not finished
		return d.writeForm(c, http.StatusOK, at, t)
	}
	path := engine.Path(name)
	var rules []engine.Rule
	if kind == engine.Subscription {
		path = engine.SubscriptionPath(string(at.Path), name)
		first := lab.ParseRule(ctx, &t, d.b.Limits())
		first.Name = engine.DefaultRule
		rules = append(rules, first)
	}
	if len(wrong)+len(t.SyntaxErrors) > 0 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	if t.Refused = d.selfForwardWarning(ctx, at, path, engine.Config{}, config); t.Refused.Visible() {
		return d.writeForm(c, http.StatusUnprocessableEntity, withWarningShown(at), t)
	}
	made, err := d.b.CreateWithRules(ctx, kind, path, config, rules, actor(c))
	if statusCode(err) == http.StatusConflict && err != nil {
		t.Errors["name"] = errorMessage(err)
		return d.writeForm(c, http.StatusConflict, at, t)
	}
	if err != nil {
		return d.writeFormError(c, at, t, err)
	}
	return d.redirectWithNotice(c, d.pages.EntityURL(kind, made.Path), component.Notice{
		Title: locale.T(ctx, "ui.created", locale.Args{"Kind": pages.KindName(ctx, kind), "Name": pages.DisplayPath(made.Path)}),
	})
}

// selfForwardWarning returns a warning if a change from the configuration `is` to `next` would
// make an entity forward to itself (PROP-9). It returns zero if not, or if the query of `at` says
// that the warning was shown.
func (d *Handler) selfForwardWarning(ctx context.Context, at pages.Address, path engine.Path, is, next engine.Config) (n component.Notice) {
	if at.Query.Get(entitypage.QuerySelfForward) != "" {
		return n
	}
	itself := func(to string) bool { return engine.Path(to).Fold() == path.Fold() }
	args := locale.Args{"Name": pages.DisplayPath(path), "Hops": d.b.Limits().ForwardHops}
	switch {
	case itself(next.ForwardTo) && !itself(is.ForwardTo):
		n.Title, n.Detail = locale.T(ctx, "ui.itself", args), locale.T(ctx, "ui.itself.detail", args)
	case itself(next.ForwardDeadLetteredMessagesTo) && !itself(is.ForwardDeadLetteredMessagesTo):
		n.Title, n.Detail = locale.T(ctx, "ui.itself.dead", args), locale.T(ctx, "ui.itself.dead.detail", args)
	default:
		return n
	}
	n.Tone = component.Low
	return n
}

// withWarningShown returns `at` with a query parameter that says that the warning of
// selfForwardWarning was shown.
func withWarningShown(at pages.Address) pages.Address {
	q := url.Values{entitypage.QuerySelfForward: {"1"}}
	maps.Copy(q, at.Query)
	at.Query = q
	return at
}

// readEntityState returns the current state of an entity.
func (d *Handler) readEntityState(c echo.Context, path engine.Path) (e engine.EntityState, err error) {
	err = d.b.Read(c.Request().Context(), func(r broker.Reader) error {
		e, err = r.State(path)
		return err
	})
	return e, err
}

// editEntity replaces an entity's properties (PROP-2). An edit that would make messages expire at
// once has to be confirmed with their number. A preview shows the form again with the effects of
// the edit.
func (d *Handler) editEntity(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	e, err := d.readEntityState(c, at.Path)
	if err != nil {
		return err
	}
	config, wrong := entity.ParseConfig(e.Kind, e.Config, false, d.b.Limits(), typed)
	t := pages.FormState{Values: typed, Errors: wrong}
	if at.Query.Has(entitypage.QueryPreview) {
		at.Query = nil
		return d.writeForm(c, http.StatusOK, at, t)
	}
	if len(wrong) > 0 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	agreed, err := strconv.Atoi(at.Query.Get("agreed"))
	if err != nil || agreed < 0 {
		agreed = 0 // nothing was confirmed yet
	}
	if t.Refused = d.selfForwardWarning(ctx, at, e.Path, e.Config, config); t.Refused.Visible() {
		return d.writeForm(c, http.StatusUnprocessableEntity, withWarningShown(at), t)
	}
	what, err := entity.PreviewTTL(ctx, d.pages, e.Path, typed)
	if err != nil {
		return err
	}
	if what.Expire > 0 && view.SafeModeOn(ctx) {
		return origin.ErrSafeMode
	}
	if broker.ConfirmedCount(agreed).Check(int64(what.Expire)) != nil {
		t.Refused = component.Notice{
			Tone:  component.Low,
			Title: locale.N(ctx, "ui.whatif", what.Expire, locale.Args{"TTL": what.TTL}), Detail: locale.T(ctx, "ui.whatif.detail"),
		}
		at.Query = url.Values{"agreed": {strconv.Itoa(what.Expire)}, entitypage.QuerySelfForward: {at.Query.Get(entitypage.QuerySelfForward)}}
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	if _, err := d.b.Update(ctx, e.Path, config, actor(c)); err != nil {
		return d.writeFormError(c, at, t, err)
	}
	return d.redirectWithNotice(c, d.pages.EntityURL(e.Kind, e.Path)+"?tab=settings", component.Notice{
		Title: locale.T(ctx, "ui.saved", locale.Args{"Name": pages.DisplayPath(e.Path)}),
	})
}

// confirmedCount returns the number that the user confirmed.
func confirmedCount(typed url.Values) (n int64, ok bool) {
	n, err := strconv.ParseInt(typed.Get(page.FieldCount), 10, 64)
	return n, err == nil && n >= 0
}

// confirmedCountOf returns the number that the form showed for the selected states.
func confirmedCountOf(typed url.Values, chosen []string) (n int64, ok bool) {
	if typed.Has(page.FieldCount) {
		return confirmedCount(typed)
	}
	for _, s := range chosen {
		seen, err := strconv.ParseInt(typed.Get(page.FieldCountOf+s), 10, 64)
		if err != nil || seen < 0 {
			return 0, false
		}
		n += min(seen, math.MaxInt64-n)
	}
	return n, true
}

// checkTypedName checks that the user has typed the name that confirms a large deletion.
func checkTypedName(c echo.Context, typed url.Values, name string, t *pages.FormState) bool {
	if strings.TrimSpace(typed.Get(page.FieldConfirm)) == name {
		return true
	}
	t.Errors = map[string]component.Text{page.FieldConfirm: {S: locale.T(c.Request().Context(), "ui.typename", locale.Args{"Name": name})}}
	return false
}

// deleteEntity deletes an entity with everything in it, once the user has typed its name.
func (d *Handler) deleteEntity(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	e, err := d.readEntityState(c, at.Path)
	if err != nil {
		return err
	}
	t := pages.FormState{Values: typed}
	agreed, ok := confirmedCount(typed)
	if !checkTypedName(c, typed, e.Path.Name(), &t) || !ok {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	if err := d.b.Delete(ctx, e.Path, broker.ConfirmedCount(agreed), actor(c)); err != nil {
		return d.writeFormError(c, at, t, err)
	}
	to := d.pages.Home() + "/queues"
	switch topic, _, ok := e.Path.Subscription(); {
	case ok:
		to = d.pages.EntityURL(engine.Topic, engine.Path(topic))
	case e.Kind == engine.Topic:
		to = d.pages.Home() + "/topics"
	}
	return d.redirectWithNotice(c, to, component.Notice{Title: locale.T(ctx, "ui.deleted", locale.Args{"Name": pages.DisplayPath(e.Path)})})
}

// touchEntity records a use of a temporary entity, so that its idle time starts again. pinEntity
// keeps the entity from being deleted when idle, and unpinEntity allows the deletion again
// (OPS-9).
func (d *Handler) touchEntity(c echo.Context, at pages.Address, _ url.Values) error {
	return d.changeAutoDelete(c, at, d.b.Touch, "ui.touched", nil)
}

func (d *Handler) pinEntity(c echo.Context, at pages.Address, _ url.Values) error {
	return d.changeAutoDelete(c, at, d.b.Pin, "ui.pinned", d.b.Unpin)
}

func (d *Handler) unpinEntity(c echo.Context, at pages.Address, _ url.Values) error {
	return d.changeAutoDelete(c, at, d.b.Unpin, "ui.unpinned", d.b.Pin)
}

// changeAutoDelete calls `do` to change an entity's automatic deletion, and redirects back with
// the notice `says`. The notice offers to undo the change by calling `back`, unless that is nil.
func (d *Handler) changeAutoDelete(c echo.Context, at pages.Address, do func(ctx context.Context, p engine.Path, actor string) error, says string, back func(ctx context.Context, p engine.Path, actor string) error) error {
	ctx := c.Request().Context()
	if err := do(ctx, at.Path, actor(c)); err != nil {
		return err
	}
	n := component.Notice{Title: locale.T(ctx, says, locale.Args{"Name": pages.DisplayPath(at.Path)})}
	if back != nil {
		n.Undo = d.keepUndo(func(c echo.Context) (component.Notice, error) {
			ctx := c.Request().Context()
			if err := back(ctx, at.Path, actor(c)); err != nil {
				return withError(component.Notice{Tone: component.Low, Title: locale.T(ctx, "ui.undo.none")}, err), nil
			}
			return component.Notice{Title: locale.T(ctx, "ui.undone.idle", locale.Args{"Name": pages.DisplayPath(at.Path)})}, nil
		})
	}
	return d.redirectBack(c, d.pages.EntityURL(at.EntityType, at.Path), n)
}

// restoreEntity recreates an entity that was deleted automatically, from the record of its
// deletion (OPS-9).
func (d *Handler) restoreEntity(c echo.Context, at pages.Address, _ url.Values) error {
	ctx := c.Request().Context()
	gone, ok := d.pages.AutoDeletion(at.Epoch, at.ID)
	if !ok {
		return &pages.LocalizedError{Err: engine.ErrNotFound, Text: locale.T(ctx, "ui.tombstone.none")}
	}
	if err := d.b.RestoreEntity(ctx, gone, actor(c)); err != nil {
		return err
	}
	return d.redirectWithNotice(c, d.pages.EntityURL(gone.Entity.Kind, gone.Path), component.Notice{
		Title: locale.T(ctx, "ui.restored", locale.Args{"Name": pages.DisplayPath(gone.Path)}), Detail: locale.T(ctx, "ui.restored.detail"),
	})
}
