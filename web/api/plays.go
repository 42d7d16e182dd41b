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
	"mayfly/engine/scene"
	"mayfly/web/identity"
)

// Plays is the answer of GET /plays.
type Plays struct {
	Plays []Play `json:"plays"` // by their names
}

// Play is a scene that is played.
type Play struct {
	Name      string    `json:"name"`               // of the play, and of the namespace that it has for itself
	Scene     string    `json:"scene"`              // the id of what is played
	Title     string    `json:"title"`              // of the scene
	Language  string    `json:"language"`           // that of its texts here, as a tag
	Step      int       `json:"step"`               // which was played last, from 1; 0: none was
	Steps     int       `json:"steps"`              // how many there are
	Caption   string    `json:"caption"`            // of that step; before the first, what the scene teaches
	Playing   bool      `json:"playing,omitempty"`  // the step is being played
	Over      bool      `json:"over,omitempty"`     // there is no next one
	Findings  []Finding `json:"findings,omitempty"` // what the step has led to
	Trouble   string    `json:"trouble,omitempty"`  // what kept the step from being played to its end
	Clock     time.Time `json:"clock"`              // what time it is in its namespace
	Rate      int       `json:"rate"`               // how fast that passes: 0 stands, 1 is as real time does
	Until     time.Time `json:"until,omitzero"`     // where the clock stops by itself
	Now       time.Time `json:"now"`                // the real time
	Address   string    `json:"address"`            // where the API of its namespace is: /api/v1/n/deadline-1f2e3d
	Dashboard string    `json:"dashboard"`          // the page to watch it on
	Stays     string    `json:"stays"`              // for how long it does when nobody looks at it
}

// Finding is something that a step says will be so.
type Finding struct {
	Text string `json:"text"`
	OK   bool   `json:"ok"`           // it is
	Is   string `json:"is,omitempty"` // what is so instead
}

// NewPlay is what POST /plays takes.
type NewPlay struct {
	Scene string `json:"scene"` // the id of the scene to play
}

// Turn is what PUT /plays/{name}/clock takes.
type Turn struct {
	Rate *int `json:"rate"` // seconds that pass in one: 0, 1, 10 or 60
}

// Leap is what POST /plays/{name}/leap takes.
type Leap struct {
	To string `json:"to"` // what happens next: expiry, activation, unlock or auto-delete
}

// Leapt is the answer of POST /plays/{name}/leap.
type Leapt struct {
	To   time.Time `json:"to,omitzero"` // when that is; missing: nothing of the kind is to come, and the clock was not turned
	Play Play      `json:"play"`
}

func playRoutes() []route {
	const part = "The name of a play, which is that of its namespace."
	fails := func(more ...string) []string { return append(more, "PlayNotFound", "NotSupported") }
	step := needed(whole("step", 0, 1000, "The step that was played last, as the caller knows it: another one is a 409, so that a request that is sent twice does nothing twice.")).like("0")
	one := func(method, path, id, summary string) route {
		return route{method: method, path: "/plays/{name}" + path, id: id, group: groupScenes, summary: summary, at: "deadline-1f2e3d", part: part, gives: Play{}, fails: fails()}
	}
	get := one("GET", "", "getPlay", "Where a play stands")
	get.about, get.serve = "To ask for it is to look at it: it stays.", (*door).play
	next := one("POST", "/next", "playNextStep", "Play the next step")
	next.ask, next.query = "step=0", []parameter{step, yes("glide", "Let time pass within a few seconds, for those who watch, and answer at once: until the step is played, playing is true.")}
	next.fails, next.serve = fails("Changed", "InvalidOperation"), (*door).playNext
	back := one("POST", "/back", "playBack", "Go back by a step")
	back.about = "All steps before it are played again, in a fresh namespace of the same name."
	back.ask, back.query, back.fails, back.serve = "step=0", []parameter{step}, fails("Changed", "InvalidOperation"), (*door).playBack
	reset := one("POST", "/reset", "resetPlay", "Go to the beginning, in a fresh namespace of the same name")
	reset.serve = (*door).resetPlay
	clock := one("PUT", "/clock", "turnClock", "Have the clock of a play run at another rate")
	clock.about, clock.sends, clock.takes, clock.serve = "Only the namespace of a play has a clock that can be turned.", `{"rate":10}`, Turn{}, (*door).turnClock
	leap := one("POST", "/leap", "leapClock", "Have the clock of a play leap to what happens next")
	leap.sends, leap.takes, leap.gives, leap.fails, leap.serve = `{"to":"expiry"}`, Leap{}, Leapt{}, fails("Changed"), (*door).leapClock
	end := one("DELETE", "", "endPlay", "End a play, and remove its namespace")
	end.gives, end.serve = nil, (*door).endPlay
	for _, r := range []*route{&get, &next, &back, &reset, &clock, &leap} {
		r.query = append(r.query, inLanguage())
	}
	for _, r := range []*route{&next, &back, &reset, &clock, &leap} {
		r.needs = identity.Operator
	}
	end.needs = identity.Admin
	return []route{
		{
			method: "GET", path: "/plays", id: "listPlays", group: groupScenes, summary: "The scenes that are played", query: []parameter{inLanguage()},
			gives: Plays{}, fails: []string{"NotSupported"}, serve: (*door).listPlays,
		},
		{
			method: "POST", path: "/plays", id: "startPlay", needs: identity.Admin, group: groupScenes, summary: "Begin to play a scene, in a namespace of its own",
			sends: `{"scene":"deadline"}`,
			about: "The namespace is in memory alone, and has a clock of its own, which stands at first. It goes with the play: when that is ended, or when nobody has looked at it for long.",
			query: []parameter{inLanguage()},
			takes: NewPlay{}, status: http.StatusCreated, gives: Play{}, fails: []string{"SceneNotFound", "QuotaExceeded", "NotSupported"}, serve: (*door).startPlay,
		},
		get, next, back, reset, clock, leap, end,
	}
}

// presentPlay is where a play stands, in the language that is asked for.
func (d *door) presentPlay(c echo.Context, p *scene.Play) Play {
	is := p.State().In(query(c).Get("lang"))
	out := Play{
		Name: is.Namespace, Scene: is.Scene.ID, Title: is.Scene.Title, Language: is.Scene.Language, Step: is.Done, Steps: len(is.Scene.Steps), Caption: is.Scene.Teaches,
		Playing: is.Playing, Over: is.Over(), Clock: is.Clock.Time(), Rate: is.Pace.Rate, Until: is.Pace.Until.Time(), Now: time.Now().UTC(),
		Address: d.base + "/api/v1/n/" + is.Namespace, Dashboard: d.base + "/n/" + url.PathEscape(is.Namespace) + strings.TrimSuffix(is.Look(), "/"), Stays: engine.FormatDuration(d.plays.Stay()),
	}
	if step := is.Step(); step != nil {
		out.Caption = step.Say
	}
	for _, f := range is.Findings {
		out.Findings = append(out.Findings, Finding{Text: f.Text, OK: f.OK, Is: f.Is.String()})
	}
	if is.Trouble != nil {
		out.Trouble = sentence(is.Trouble.Error())
	}
	return out
}

func (d *door) listPlays(c echo.Context) error {
	stages, err := d.stages()
	if err != nil {
		return err
	}
	out := Plays{Plays: []Play{}}
	for _, p := range stages.List() {
		out.Plays = append(out.Plays, d.presentPlay(c, p))
	}
	return reply(c, http.StatusOK, out)
}

func (d *door) startPlay(c echo.Context) error {
	stages, err := d.stages()
	if err != nil {
		return err
	}
	var in NewPlay
	if err := d.read(c, &in); err != nil {
		return err
	}
	p, err := stages.Begin(c.Request().Context(), in.Scene, client(c.Request()))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return reply(c, http.StatusCreated, d.presentPlay(c, p))
}

// playNamed is the play that an address names.
func (d *door) playNamed(c echo.Context) (*scene.Play, error) {
	stages, err := d.stages()
	if err != nil {
		return nil, err
	}
	name, err := nameIn(c)
	if err != nil {
		return nil, err
	}
	return stages.Play(name) //nolint:wrapcheck // it says what it is about
}

func (d *door) play(c echo.Context) error {
	p, err := d.playNamed(c)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, d.presentPlay(c, p))
}

// stepSeen is which step the caller has seen.
func stepSeen(c echo.Context) (int, error) {
	if !query(c).Has("step") {
		return 0, argument("The step that was played last is missing: step=0 before the first.")
	}
	return int(number(c, "step", 0)), nil
}

// played answers with where a play stands after its steps were played. That one of
// them was not played to its end is said there.
func (d *door) played(c echo.Context, p *scene.Play, err error) error {
	if err != nil && (errors.Is(err, engine.ErrChanged) || p.State().Trouble == nil) {
		return err
	}
	return reply(c, http.StatusOK, d.presentPlay(c, p))
}

func (d *door) playNext(c echo.Context) error {
	p, err := d.playNamed(c)
	if err != nil {
		return err
	}
	n, err := stepSeen(c)
	if err != nil {
		return err
	}
	is := p.State()
	if is.Over() && is.Done == n {
		return &engine.Refusal{Kind: engine.ErrNotAllowed, Text: "The scene is over: it can only go back, be reset or be ended."}
	}
	tempo := scene.AtOnce
	if query(c).Has("glide") {
		tempo = scene.Gliding
	}
	return d.played(c, p, p.Next(c.Request().Context(), n, tempo, client(c.Request())))
}

func (d *door) playBack(c echo.Context) error {
	p, err := d.playNamed(c)
	if err != nil {
		return err
	}
	n, err := stepSeen(c)
	if err != nil {
		return err
	}
	return d.played(c, p, p.Back(c.Request().Context(), n, client(c.Request())))
}

func (d *door) resetPlay(c echo.Context) error {
	p, err := d.playNamed(c)
	if err != nil {
		return err
	}
	return d.played(c, p, p.Reset(c.Request().Context(), client(c.Request())))
}

func (d *door) turnClock(c echo.Context) error {
	var in Turn
	if err := d.read(c, &in); err != nil {
		return err
	}
	if in.Rate == nil || !slices.Contains(broker.Rates(), *in.Rate) {
		given := "missing"
		if in.Rate != nil {
			given = strconv.Itoa(*in.Rate)
		}
		return argument("The value for 'rate' is 0, 1, 10 or 60 seconds a second, and is %s.", given)
	}
	p, err := d.playNamed(c)
	if err != nil {
		return err
	}
	if err := p.Turn(c.Request().Context(), *in.Rate, client(c.Request())); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return reply(c, http.StatusOK, d.presentPlay(c, p))
}

func (d *door) leapClock(c echo.Context) error {
	var in Leap
	if err := d.read(c, &in); err != nil {
		return err
	}
	p, err := d.playNamed(c)
	if err != nil {
		return err
	}
	moments := make([]string, 0, len(scene.Moments()))
	for _, m := range scene.Moments() {
		moments = append(moments, string(m))
	}
	if !slices.Contains(moments, in.To) {
		return argument("The value for 'to' is %s, not '%s'.", orList(moments), cut(in.To))
	}
	to, err := p.Leap(c.Request().Context(), scene.Moment(in.To), client(c.Request()))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return reply(c, http.StatusOK, Leapt{To: to.Time(), Play: d.presentPlay(c, p)})
}

func (d *door) endPlay(c echo.Context) error {
	p, err := d.playNamed(c)
	if err != nil {
		return err
	}
	if err := d.plays.End(c.Request().Context(), p.Name(), client(c.Request())); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return c.NoContent(http.StatusNoContent)
}
