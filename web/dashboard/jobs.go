package dashboard

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
	"mayfly/web/dashboard/operate"
	"mayfly/web/dashboard/pages"
)

// startJob starts a job once the user has confirmed the number of its messages. It fails if there
// are more by now.
func (d *Handler) startJob(c echo.Context, at pages.Address, typed url.Values) error {
	if d.jobs == nil {
		return pages.ErrPageNotFound
	}
	ctx := c.Request().Context()
	t := pages.FormState{Values: typed}
	plan := operate.ParsePlan(ctx, &t, d.b.ClockTime(), d.b.Limits())
	agreed, seen := confirmedCount(typed)
	if !seen || len(t.Errors) > 0 || string(plan.Kind) != typed.Get(page.FieldJobKind) {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	if name := operate.JobConfirmName(d.pages, plan, agreed); name != "" && strings.TrimSpace(typed.Get(page.FieldConfirm)) != name {
		t.Errors[page.FieldConfirm] = component.Text{S: locale.T(ctx, "ui.typename", locale.Args{"Name": name})}
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	plan.IdempotencyKey = formToken(typed)
	is, err := d.jobs.Start(ctx, plan, broker.ConfirmedCount(agreed), actor(c))
	if err != nil {
		return d.writeFormError(c, at, t, err)
	}
	return d.redirectWithNotice(c, d.pages.JobURL(is.ID), component.Notice{Title: locale.T(ctx, "jobs.started.notice")})
}

// formToken returns the random word in a form, by which a form that is sent twice is recognized.
func formToken(typed url.Values) string {
	const most = 64 // generated words are shorter
	word := typed.Get(page.FieldFormToken)
	return word[:min(len(word), most)]
}

// changeJob cancels, resumes or undoes a job.
func (d *Handler) changeJob(c echo.Context, at pages.Address, _ url.Values) error {
	if d.jobs == nil {
		return pages.ErrPageNotFound
	}
	ctx := c.Request().Context()
	var is job.Job
	var err error
	said := ""
	switch at.Action {
	case "cancel":
		is, err = d.jobs.Cancel(ctx, job.ID(at.ID), actor(c))
		said = locale.T(ctx, "jobs.cancelled.notice")
		if is.State == job.Done { // it finished before it was cancelled
			said = locale.T(ctx, "jobs.state.done")
		}
	case "resume":
		is, err = d.jobs.Resume(ctx, job.ID(at.ID), actor(c))
		said = locale.T(ctx, "jobs.resumed.notice")
	case "undo":
		is, err = d.jobs.Undo(ctx, job.ID(at.ID), actor(c))
		said = locale.T(ctx, "jobs.undo.notice")
	default:
		return pages.ErrPageNotFound
	}
	if err != nil {
		return err
	}
	return d.redirectWithNotice(c, d.pages.JobURL(is.ID), component.Notice{Title: said})
}
