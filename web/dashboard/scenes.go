package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/pages"
)

// redirectToPlay redirects a GET of a form's address to the page where the playback is watched.
func (d *Handler) redirectToPlay(c echo.Context) error {
	p, err := d.scenes.Playback(c.Param("play"))
	if err != nil {
		return d.redirectPlayEnded(c)
	}
	return c.Redirect(http.StatusSeeOther, d.pages.WatchURL(p.State()))
}

// redirectPlayEnded redirects to the scenes, with a notice that there is no such playback.
func (d *Handler) redirectPlayEnded(c echo.Context) error {
	r := c.Request()
	if wantsDialog(r) {
		redirectInDialog(c)
	}
	ctx := locale.With(r.Context(), locale.Requested(r))
	says := locale.T(ctx, "scenes.gone")
	if is, ok := d.namespaces.Find(c.Param("play")); ok && !is.Temporary {
		says = locale.T(ctx, "scenes.real", locale.Args{"Name": is.Name})
	}
	return d.redirectWithNotice(c, d.pages.ScenesURL(), component.Notice{Tone: component.Low, Title: says})
}

func (d *Handler) writeScenes(c echo.Context, status int, refused component.Notice) error {
	d.prepareContext(c)
	p, err := activity.Scenes(c.Request().Context(), d.pages, refused)
	if err != nil {
		return err
	}
	return d.writeComponent(c, status, p.Full())
}

// startScene starts a playback of a scene, and redirects to it.
func (d *Handler) startScene(c echo.Context, _ url.Values) error {
	p, err := d.scenes.Begin(c.Request().Context(), c.Param("scene"), actor(c))
	switch {
	case errors.Is(err, engine.ErrQuota):
		return d.writeScenes(c, http.StatusForbidden, component.Notice{Tone: component.Critical, ServerText: errorText(err), Detail: locale.T(c.Request().Context(), "scenes.full")})
	case err != nil:
		return err
	}
	return c.Redirect(http.StatusSeeOther, d.pages.WatchURL(p.State()))
}

// shownStep returns the number of the step that had been played last when the form was rendered.
func shownStep(typed url.Values) (int, error) {
	n, err := strconv.Atoi(typed.Get(layout.FieldStep))
	if err != nil || n < 0 {
		return 0, pages.ErrPageNotFound // not offered by the scene bar
	}
	return n, nil
}

// redirectToWatch redirects to the page of the playback, which shows err unless err only means
// that the playback has moved on.
func (d *Handler) redirectToWatch(c echo.Context, p *demo.Playback, err error) error {
	to := d.pages.WatchURL(p.State())
	if err != nil && !errors.Is(err, engine.ErrChanged) && p.State().Trouble == nil {
		return d.redirectWithNotice(c, to, withError(component.Notice{Tone: component.Critical}, err))
	}
	return c.Redirect(http.StatusSeeOther, to)
}

func (d *Handler) nextStep(c echo.Context, p *demo.Playback, typed url.Values) error {
	n, err := shownStep(typed)
	if err != nil {
		return err
	}
	tempo := demo.Instant
	if typed.Get(layout.FieldTempo) == layout.TempoAnimated {
		tempo = demo.Animated
	}
	return d.redirectToWatch(c, p, p.NextStep(c.Request().Context(), n, tempo, actor(c)))
}

func (d *Handler) stepBack(c echo.Context, p *demo.Playback, typed url.Values) error {
	n, err := shownStep(typed)
	if err != nil {
		return err
	}
	return d.redirectToWatch(c, p, p.StepBack(c.Request().Context(), n, actor(c)))
}

func (d *Handler) resetScene(c echo.Context, p *demo.Playback, _ url.Values) error {
	return d.redirectToWatch(c, p, p.Reset(c.Request().Context(), actor(c)))
}

func (d *Handler) leaveScene(c echo.Context, p *demo.Playback, _ url.Values) error {
	ctx := c.Request().Context()
	if err := d.scenes.End(ctx, p.Name(), actor(c)); err != nil && !errors.Is(err, demo.ErrNotPlaying) {
		return err
	}
	return d.redirectWithNotice(c, d.pages.ScenesURL(), component.Notice{Title: locale.T(ctx, "scenes.left", locale.Args{"Name": p.Name()})})
}

// turnClock changes the rate of a playback's clock.
func (d *Handler) turnClock(c echo.Context, p *demo.Playback, typed url.Values) error {
	rate, err := strconv.Atoi(typed.Get(layout.FieldRate))
	if err != nil || !slices.Contains(broker.ClockRates(), rate) {
		return pages.ErrPageNotFound // not offered by the scene bar
	}
	if err := p.SetClockRate(c.Request().Context(), rate, actor(c)); err != nil {
		return d.redirectToWatch(c, p, err)
	}
	return c.Redirect(http.StatusSeeOther, d.playReturnURL(c, p))
}

// advanceClock moves the clock of a playback to the next event.
func (d *Handler) advanceClock(c echo.Context, p *demo.Playback, typed url.Values) error {
	ctx, m := c.Request().Context(), demo.Moment(typed.Get(layout.FieldMoment))
	if !slices.Contains(demo.Moments(), m) {
		return pages.ErrPageNotFound // not offered by the scene bar
	}
	to, err := p.JumpTo(ctx, m, actor(c))
	switch {
	case err != nil:
		return d.redirectToWatch(c, p, err)
	case to == 0:
		return d.redirectWithNotice(c, d.playReturnURL(c, p), component.Notice{Tone: component.Low, Title: locale.T(ctx, "stage.leap.none")})
	}
	return c.Redirect(http.StatusSeeOther, d.playReturnURL(c, p))
}

// playReturnURL returns the page that a form came from if it belongs to the playback's namespace, else
// the page where the playback is watched.
func (d *Handler) playReturnURL(c echo.Context, p *demo.Playback) string {
	return d.pages.PlayPage(c.Request().PostFormValue("back"), p.State())
}
