package ui

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

// startJob begins what was counted before, if there are not more by now.
func (d *Door) startJob(c echo.Context, at show.Place, typed url.Values) error {
	if d.jobs == nil {
		return show.ErrNoPage
	}
	ctx := c.Request().Context()
	t := show.Typed{Values: typed}
	plan := show.ReadPlan(ctx, &t, d.b.Clock(), d.b.Limits())
	agreed, seen := agreedTo(typed)
	if !seen || len(t.Errors) > 0 || string(plan.Kind) != typed.Get(page.AskKind) {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	if name := d.pages.JobConfirm(plan, agreed); name != "" && strings.TrimSpace(typed.Get(page.AskConfirm)) != name {
		t.Errors[page.AskConfirm] = component.Text{S: locale.T(ctx, "ui.typename", locale.Args{"Name": name})}
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	plan.Once = onceWord(typed)
	is, err := d.jobs.Start(ctx, plan, broker.Agreed(agreed), actor(c))
	if err != nil {
		return d.again(c, at, t, err)
	}
	return d.goTo(c, d.pages.JobURL(is.ID), component.Notice{Title: locale.T(ctx, "jobs.started.notice")})
}

// onceWord is the word that a form was given out with: the form that is sent twice
// starts one job.
func onceWord(typed url.Values) string {
	const most = 64 // ours are shorter
	word := typed.Get(page.Once)
	return word[:min(len(word), most)]
}

// onJob cancels a job, has it go on, or takes back what it did.
func (d *Door) onJob(c echo.Context, at show.Place, _ url.Values) error {
	if d.jobs == nil {
		return show.ErrNoPage
	}
	ctx := c.Request().Context()
	var is job.Job
	var err error
	said := ""
	switch at.Do {
	case "cancel":
		is, err = d.jobs.Cancel(ctx, job.ID(at.ID), actor(c))
		said = locale.T(ctx, "jobs.cancelled.notice")
		if is.State == job.Done { // it was quicker
			said = locale.T(ctx, "jobs.state.done")
		}
	case "resume":
		is, err = d.jobs.Resume(ctx, job.ID(at.ID), actor(c))
		said = locale.T(ctx, "jobs.resumed.notice")
	case "undo":
		is, err = d.jobs.Undo(ctx, job.ID(at.ID), actor(c))
		said = locale.T(ctx, "jobs.undo.notice")
	default:
		return show.ErrNoPage
	}
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.goTo(c, d.pages.JobURL(is.ID), component.Notice{Title: said})
}
