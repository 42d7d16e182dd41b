package ui

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/scene"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/web/show"
)

// mountScenes adds the page of all scenes and what is done to plays. What is done
// to a clock is done to that of a play, by its namespace: no other has one.
func (d *Door) mountScenes(g *echo.Group) {
	if d.scenes == nil {
		return
	}
	g.GET("/scenes", func(c echo.Context) error { return d.allScenes(c, http.StatusOK, component.Notice{}) })
	g.GET("/scenes/new", d.newScene)
	g.POST("/scenes/new", d.addScene)
	g.GET("/scenes/text/:scene", d.sceneText)
	g.GET("/scenes/remove/:scene", d.askScene)
	g.POST("/scenes/remove/:scene", d.sent(d.removeScene))
	g.POST("/scenes/play/:scene", d.sent(d.beginScene))
	for verb, do := range map[string]func(echo.Context, *scene.Play, url.Values) error{
		"next": d.nextStep, "back": d.stepBack, "reset": d.resetScene, "leave": d.leaveScene, "clock": d.turnClock, "leap": d.leapClock,
	} {
		g.POST("/scenes/on/:play/"+verb, d.onPlay(do))
	}
	g.GET("/scenes/on/:play/:verb", d.toPlay)
}

// onPlay acts on a play. That it is over is said before the form is looked at: one that
// a former server made is of a play that has ended with it.
func (d *Door) onPlay(do func(echo.Context, *scene.Play, url.Values) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		p, err := d.scenes.Play(c.Param("play"))
		if err != nil {
			return d.sceneOver(c)
		}
		return d.sent(func(c echo.Context, typed url.Values) error { return do(c, p, typed) })(c)
	}
}

// toPlay leads who looks at the address of a form to where the play is watched.
func (d *Door) toPlay(c echo.Context) error {
	p, err := d.scenes.Play(c.Param("play"))
	if err != nil {
		return d.sceneOver(c)
	}
	return c.Redirect(http.StatusSeeOther, d.pages.WatchURL(p.State()))
}

// sceneOver leads to the scenes, and says why nothing is done.
func (d *Door) sceneOver(c echo.Context) error {
	r := c.Request()
	if over(r) {
		handOver(c)
	}
	ctx := locale.With(r.Context(), locale.Asked(r))
	says := locale.T(ctx, "scenes.gone")
	if is, ok := d.fleet.Find(c.Param("play")); ok && !is.Temporary {
		says = locale.T(ctx, "scenes.real", locale.Args{"Name": is.Name})
	}
	return d.goTo(c, d.pages.ScenesURL(), component.Notice{Tone: component.Low, Title: says})
}

func (d *Door) allScenes(c echo.Context, status int, refused component.Notice) error {
	d.visit(c)
	p, err := d.pages.Scenes(c.Request().Context(), refused)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.write(c, status, p.Full())
}

// beginScene makes a stage for a scene, and leads there.
func (d *Door) beginScene(c echo.Context, _ url.Values) error {
	p, err := d.scenes.Begin(c.Request().Context(), c.Param("scene"), actor(c))
	switch {
	case errors.Is(err, engine.ErrQuota):
		return d.allScenes(c, http.StatusForbidden, component.Notice{Tone: component.Critical, Said: told(err), Detail: locale.T(c.Request().Context(), "scenes.full")})
	case err != nil:
		return err //nolint:wrapcheck // it says what it is about
	}
	return c.Redirect(http.StatusSeeOther, d.pages.WatchURL(p.State()))
}

// stepIn is which step a form says was played last.
func stepIn(typed url.Values) (int, error) {
	n, err := strconv.Atoi(typed.Get(layout.AskStep))
	if err != nil || n < 0 {
		return 0, show.ErrNoPage // none that a strip has
	}
	return n, nil
}

// watch leads to where the play is watched. That it was played on meanwhile shows
// there; what else is wrong is said.
func (d *Door) watch(c echo.Context, p *scene.Play, err error) error {
	to := d.pages.WatchURL(p.State())
	if err != nil && !errors.Is(err, engine.ErrChanged) && p.State().Trouble == nil {
		return d.goTo(c, to, because(component.Notice{Tone: component.Critical}, err))
	}
	return c.Redirect(http.StatusSeeOther, to)
}

func (d *Door) nextStep(c echo.Context, p *scene.Play, typed url.Values) error {
	n, err := stepIn(typed)
	if err != nil {
		return err
	}
	tempo := scene.AtOnce
	if typed.Get(layout.AskTempo) == layout.TempoGlide {
		tempo = scene.Gliding
	}
	return d.watch(c, p, p.Next(c.Request().Context(), n, tempo, actor(c)))
}

func (d *Door) stepBack(c echo.Context, p *scene.Play, typed url.Values) error {
	n, err := stepIn(typed)
	if err != nil {
		return err
	}
	return d.watch(c, p, p.Back(c.Request().Context(), n, actor(c)))
}

func (d *Door) resetScene(c echo.Context, p *scene.Play, _ url.Values) error {
	return d.watch(c, p, p.Reset(c.Request().Context(), actor(c)))
}

func (d *Door) leaveScene(c echo.Context, p *scene.Play, _ url.Values) error {
	ctx := c.Request().Context()
	if err := d.scenes.End(ctx, p.Name(), actor(c)); err != nil && !errors.Is(err, scene.ErrNoPlay) {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.goTo(c, d.pages.ScenesURL(), component.Notice{Title: locale.T(ctx, "scenes.left", locale.Args{"Name": p.Name()})})
}

// turnClock has the clock of a play run otherwise.
func (d *Door) turnClock(c echo.Context, p *scene.Play, typed url.Values) error {
	rate, err := strconv.Atoi(typed.Get(layout.AskRate))
	if err != nil || !slices.Contains(broker.Rates(), rate) {
		return show.ErrNoPage // none that a strip has
	}
	if err := p.Turn(c.Request().Context(), rate, actor(c)); err != nil {
		return d.watch(c, p, err)
	}
	return c.Redirect(http.StatusSeeOther, d.stageBack(c, p))
}

// leapClock has the clock of a play leap to what happens next.
func (d *Door) leapClock(c echo.Context, p *scene.Play, typed url.Values) error {
	ctx, m := c.Request().Context(), scene.Moment(typed.Get(layout.AskMoment))
	if !slices.Contains(scene.Moments(), m) {
		return show.ErrNoPage // none that a strip has
	}
	to, err := p.Leap(ctx, m, actor(c))
	switch {
	case err != nil:
		return d.watch(c, p, err)
	case to == 0:
		return d.goTo(c, d.stageBack(c, p), component.Notice{Tone: component.Low, Title: locale.T(ctx, "stage.leap.none")})
	}
	return c.Redirect(http.StatusSeeOther, d.stageBack(c, p))
}

// stageBack is the page of the play that a form came from; where that is none of
// its namespace, where it is watched.
func (d *Door) stageBack(c echo.Context, p *scene.Play) string {
	return d.pages.StagePage(c.Request().PostFormValue("back"), p.State())
}
