package api

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/shorten"
	"mayfly/web/auth"
)

// Playbacks is the answer of GET /playbacks.
type Playbacks struct {
	Playbacks []Playback `json:"playbacks"` // by name
}

// Playback is a running demo of a scene.
type Playback struct {
	Name         string        `json:"name"`                   // of the playback, which is also its namespace's
	Scene        string        `json:"scene"`                  // the id of its scene
	Title        string        `json:"title"`                  // of the scene
	Language     string        `json:"language"`               // of its texts here, as a tag
	Step         int           `json:"step"`                   // the last step that was played, from 1; 0 before the first
	Steps        int           `json:"steps"`                  // the number of steps
	Caption      string        `json:"caption"`                // of that step; before the first, the scene's summary
	Playing      bool          `json:"playing,omitempty"`      // a step is being played
	Finished     bool          `json:"finished,omitempty"`     // the last step was played
	Expectations []CheckResult `json:"expectations,omitempty"` // results of the last step
	Error        string        `json:"error,omitempty"`        // why the last step could not be completed
	Clock        time.Time     `json:"clock"`                  // the time in its namespace
	Rate         int           `json:"rate"`                   // seconds of that clock in a second: 0 means stopped, 1 is real time
	ClockStopsAt time.Time     `json:"clockStopsAt,omitzero"`  // when the clock stops by itself
	Now          time.Time     `json:"now"`                    // the real time
	Address      string        `json:"address"`                // of its namespace's API: /api/v1/n/deadline-1f2e3d
	Dashboard    string        `json:"dashboard"`              // the page to watch it on
	IdleTimeout  string        `json:"idleTimeout"`            // how long it stays when it is not watched
}

// CheckResult is the result of an expectation of a step.
type CheckResult struct {
	Text   string `json:"text"`
	OK     bool   `json:"ok"`               // it was met
	Actual string `json:"actual,omitempty"` // the actual state if it was not
}

// NewPlayback is the request of POST /playbacks.
type NewPlayback struct {
	Scene string `json:"scene"` // the id of the scene to play
}

// ClockRate is the request of PUT /playbacks/{name}/clock.
type ClockRate struct {
	Rate *int `json:"rate"` // seconds of the clock in a second: 0, 1, 10 or 60
}

// ClockAdvance is the request of POST /playbacks/{name}/advance.
type ClockAdvance struct {
	Next string `json:"next"` // the next event of this kind: expiry, activation, unlock or auto-delete
}

// AdvanceResult is the answer of POST /playbacks/{name}/advance.
type AdvanceResult struct {
	To       time.Time `json:"to,omitzero"` // its time; missing if there will be no such event, and the clock was not moved
	Playback Playback  `json:"playback"`
}

func playbackRoutes() []route {
	const part = "The name of a playback, which is also the name of its namespace."
	fails := func(more ...string) []string { return append(more, "PlaybackNotFound", "NotSupported") }
	step := requiredParameter(numberParameter("step", 0, 1000, "The last played step as the caller knows it. If it differs, the answer is 409, so a repeated request has no effect.")).withExample("0").routeRole()
	one := func(method, path, id, summary string) route {
		return route{method: method, path: "/playbacks/{name}" + path, id: id, group: groupScenes, summary: summary, exampleParam: "deadline-1f2e3d", nameMeaning: part, response: Playback{}, problems: fails()}
	}
	get := one("GET", "", "getPlayback", "Get the state of a playback")
	get.description, get.handle = "This request counts as viewing, so it keeps the playback from ending.", (*handler).getPlayback
	next := one("POST", "/next", "playNextStep", "Play the next step")
	next.exampleQuery, next.query = "step=0", []parameter{step, flagParameter("animate", "Answer at once and let the step's time pass within a few seconds, for viewers. playing is true until the step has been played.").routeRole()}
	next.problems, next.handle = fails("Changed", "InvalidOperation"), (*handler).playNext
	back := one("POST", "/back", "playPreviousStep", "Go back one step")
	back.description = "All previous steps are played again, in a new namespace of the same name."
	back.exampleQuery, back.query, back.problems, back.handle = "step=0", []parameter{step}, fails("Changed", "InvalidOperation"), (*handler).playPrevious
	reset := one("POST", "/reset", "resetPlayback", "Restart a playback, in a new namespace of the same name")
	reset.handle = (*handler).resetPlayback
	clock := one("PUT", "/clock", "setClockRate", "Set the rate of a playback's clock")
	clock.description, clock.exampleBody, clock.request, clock.handle = "Only the namespace of a playback has a clock that can be set.", `{"rate":10}`, ClockRate{}, (*handler).setClockRate
	advance := one("POST", "/advance", "advanceClock", "Move a playback's clock to the next event")
	advance.exampleBody, advance.request, advance.response, advance.problems, advance.handle = `{"next":"expiry"}`, ClockAdvance{}, AdvanceResult{}, fails("Changed"), (*handler).advanceClock
	end := one("DELETE", "", "endPlayback", "End a playback and delete its namespace")
	end.response, end.handle = nil, (*handler).endPlayback
	for _, r := range []*route{&get, &next, &back, &reset, &clock, &advance} {
		r.query = append(r.query, inLanguage())
	}
	for _, r := range []*route{&next, &back, &reset, &clock, &advance} {
		r.role = auth.Operator
	}
	end.role = auth.Admin
	return []route{
		{
			method: "GET", path: "/playbacks", id: "listPlaybacks", group: groupScenes, summary: "List playbacks of scenes", query: []parameter{inLanguage()},
			response: Playbacks{}, problems: []string{"NotSupported"}, handle: (*handler).listPlaybacks,
		},
		{
			method: "POST", path: "/playbacks", id: "startPlayback", role: auth.Admin, group: groupScenes, summary: "Play a scene in a new namespace",
			exampleBody: `{"scene":"deadline"}`,
			description: "The namespace is in memory and has its own clock, which is stopped at first. It is deleted when the playback is ended, or when it has not been viewed for a long time.",
			query:       []parameter{inLanguage()},
			request:     NewPlayback{}, status: http.StatusCreated, response: Playback{}, problems: []string{"SceneNotFound", "QuotaExceeded", "NotSupported"}, handle: (*handler).startPlayback,
		},
		get, next, back, reset, clock, advance, end,
	}
}

// presentPlayback presents the state of a playback, in the requested language.
func (d *handler) presentPlayback(c echo.Context, p *demo.Playback) Playback {
	is := p.State().InLanguage(query(c).Get("lang"))
	out := Playback{
		Name: is.Namespace, Scene: is.Scene.ID, Title: is.Scene.Title, Language: is.Scene.Language, Step: is.Done, Steps: len(is.Scene.Steps), Caption: is.Scene.Summary,
		Playing: is.Playing, Finished: is.Ended(), Clock: is.Clock.Time(), Rate: is.ClockState.Rate, ClockStopsAt: is.ClockState.Until.Time(), Now: time.Now().UTC(),
		Address: d.base + "/api/v1/n/" + is.Namespace, Dashboard: d.base + "/n/" + url.PathEscape(is.Namespace) + strings.TrimSuffix(is.Page(), "/"), IdleTimeout: engine.FormatDuration(d.player.IdleTimeout()),
	}
	if step := is.Step(); step != nil {
		out.Caption = step.Caption
	}
	for _, f := range is.Results {
		out.Expectations = append(out.Expectations, CheckResult{Text: f.Text, OK: f.OK, Actual: f.Actual.String()})
	}
	if is.Trouble != nil {
		out.Error = sentence(is.Trouble.Error())
	}
	return out
}

func (d *handler) listPlaybacks(c echo.Context) error {
	player, err := d.scenePlayer()
	if err != nil {
		return err
	}
	out := Playbacks{Playbacks: []Playback{}}
	for _, p := range player.List() {
		out.Playbacks = append(out.Playbacks, d.presentPlayback(c, p))
	}
	return reply(c, http.StatusOK, out)
}

func (d *handler) startPlayback(c echo.Context) error {
	player, err := d.scenePlayer()
	if err != nil {
		return err
	}
	var in NewPlayback
	if err := d.read(c, &in); err != nil {
		return err
	}
	p, err := player.Begin(c.Request().Context(), in.Scene, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusCreated, d.presentPlayback(c, p))
}

// namedPlayback returns the playback that the address names.
func (d *handler) namedPlayback(c echo.Context) (*demo.Playback, error) {
	player, err := d.scenePlayer()
	if err != nil {
		return nil, err
	}
	name, err := nameParam(c)
	if err != nil {
		return nil, err
	}
	return player.Playback(name)
}

func (d *handler) getPlayback(c echo.Context) error {
	p, err := d.namedPlayback(c)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, d.presentPlayback(c, p))
}

// stepSeen returns the step that the caller has seen.
func stepSeen(c echo.Context) (int, error) {
	if !query(c).Has("step") {
		return 0, engine.Refuse(engine.ErrArgument, "The query parameter 'step', the last played step, is missing. Use step=0 before the first.")
	}
	return int(number(c, "step", 0)), nil
}

// answerPlayback answers with the state of a playback. An incomplete step is reported in that state.
func (d *handler) answerPlayback(c echo.Context, p *demo.Playback, err error) error {
	if err != nil && (errors.Is(err, engine.ErrChanged) || p.State().Trouble == nil) {
		return err
	}
	return reply(c, http.StatusOK, d.presentPlayback(c, p))
}

func (d *handler) playNext(c echo.Context) error {
	p, err := d.namedPlayback(c)
	if err != nil {
		return err
	}
	n, err := stepSeen(c)
	if err != nil {
		return err
	}
	is := p.State()
	if is.Ended() && is.Done == n {
		return engine.Refuse(engine.ErrNotAllowed, "The scene has no more steps. Go back, reset it or end it.")
	}
	speed := demo.Instant
	if query(c).Has("animate") {
		speed = demo.Animated
	}
	return d.answerPlayback(c, p, p.NextStep(c.Request().Context(), n, speed, client(c.Request())))
}

func (d *handler) playPrevious(c echo.Context) error {
	p, err := d.namedPlayback(c)
	if err != nil {
		return err
	}
	n, err := stepSeen(c)
	if err != nil {
		return err
	}
	return d.answerPlayback(c, p, p.StepBack(c.Request().Context(), n, client(c.Request())))
}

func (d *handler) resetPlayback(c echo.Context) error {
	p, err := d.namedPlayback(c)
	if err != nil {
		return err
	}
	return d.answerPlayback(c, p, p.Reset(c.Request().Context(), client(c.Request())))
}

func (d *handler) setClockRate(c echo.Context) error {
	var in ClockRate
	if err := d.read(c, &in); err != nil {
		return err
	}
	if in.Rate == nil || !slices.Contains(broker.ClockRates(), *in.Rate) {
		given := "missing"
		if in.Rate != nil {
			given = strconv.Itoa(*in.Rate)
		}
		return engine.Refuse(engine.ErrArgument, "The value for 'rate' must be 0, 1, 10 or 60 seconds per second, not %s.", given)
	}
	p, err := d.namedPlayback(c)
	if err != nil {
		return err
	}
	if err := p.SetClockRate(c.Request().Context(), *in.Rate, client(c.Request())); err != nil {
		return err
	}
	return reply(c, http.StatusOK, d.presentPlayback(c, p))
}

func (d *handler) advanceClock(c echo.Context) error {
	var in ClockAdvance
	if err := d.read(c, &in); err != nil {
		return err
	}
	p, err := d.namedPlayback(c)
	if err != nil {
		return err
	}
	moments := make([]string, 0, len(demo.Moments()))
	for _, m := range demo.Moments() {
		moments = append(moments, string(m))
	}
	if !slices.Contains(moments, in.Next) {
		return engine.Refuse(engine.ErrArgument, "The value for 'next' must be %s, not '%s'.", orList(moments), shorten.Quote(in.Next))
	}
	to, err := p.JumpTo(c.Request().Context(), demo.Moment(in.Next), client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, AdvanceResult{To: to.Time(), Playback: d.presentPlayback(c, p)})
}

func (d *handler) endPlayback(c echo.Context) error {
	p, err := d.namedPlayback(c)
	if err != nil {
		return err
	}
	if err := d.player.End(c.Request().Context(), p.Name(), client(c.Request())); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
