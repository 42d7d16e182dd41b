package dashboard

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/views/component"
	"mayfly/web/dashboard/lab"
	"mayfly/web/dashboard/pages"
)

// tryInLab shows the filter lab with the result of each subscription for the message in the form.
// Nothing is sent.
func (d *Handler) tryInLab(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	t := pages.FormState{Values: typed, Errors: map[string]component.Text{}}
	if !addRows(typed) {
		if m, ok := d.parseTrialMessage(ctx, &t); ok {
			t.Trial = &pages.RuleTrial{Message: m}
		}
	}
	return d.writeLab(c, http.StatusOK, at, t)
}

func (d *Handler) writeLab(c echo.Context, status int, at pages.Address, t pages.FormState) error {
	p, err := lab.WithForm(c.Request().Context(), d.pages, at, t)
	if err != nil {
		return err
	}
	return d.writeComponent(c, status, p.Full())
}

// suggestSubscription redirects to the form of a subscription that would have received the selected
// messages.
func (d *Handler) suggestSubscription(c echo.Context) error {
	d.prepareContext(c)
	at, err := d.address(c)
	if err != nil {
		return err
	}
	form, err := lab.SuggestSubscription(c.Request().Context(), d.pages, at)
	if err != nil {
		at.Action, at.Query = "", url.Values{}
		return d.writeLab(c, http.StatusUnprocessableEntity, at, pages.FormState{Refused: withError(component.Notice{Tone: component.Critical}, err)})
	}
	return c.Redirect(http.StatusSeeOther, d.pages.URL(form))
}
