package layout

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// A SceneBar is the footer of a page whose namespace belongs to a scene: the caption, the
// state, and the adjustable clock. Other pages have none.
type SceneBar struct {
	Title      string
	Lang       string // of Title, Caption and Checks, if it is not the page's
	URL        string // address of the scene; actions such as /next are posted below it
	All        string // address of the scenes; empty means that the user may not see them
	Step       int    // the step played last; zero means none
	Of         int
	Caption    string // the step's caption, with names between backticks; before the first step, the scene's summary
	Checks     []StepCheck
	Highlights []Highlight

	Playing bool
	Over    bool       // no steps are left
	Rebuilt bool       // the scene was rebuilt for the step, because manual changes did not fit it
	Next    *NextScene // the scene to play next; nil if this one is not over
	Trouble string     // why the step was not played to its end, in English; empty if it was

	Rate     int  // speed of the clock; zero means stopped
	Animated bool // the clock runs to the end of the step, and stops there
	Now      time.Time
	RealTime time.Time
}

// A NextScene is the scene that follows one that is over.
type NextScene struct {
	Title string
	Lang  string // of Title, if it is not the page's
	Play  string // address that starts it
}

// A StepCheck reports whether a statement of the step is true.
type StepCheck struct {
	Text   string // names between backticks
	Actual string // the actual state; empty if the statement is true
}

// A Highlight is a link to something to look at.
type Highlight struct {
	Label, Href string
}

// The form fields of a scene bar.
const (
	FieldStep     = "step"   // the step played last, as shown by the page
	FieldRate     = "rate"   // speed of the clock
	FieldMoment   = "moment" // the moment to advance to
	FieldTempo    = "tempo"  // TempoAnimated if the script can show the time passing
	TempoAnimated = "glide"
)

// rates are the clock speeds to choose from, in seconds per second.
var rates = []int{
	0, 1, 10, 60,
}

// moments are the moments that the clock can advance to.
var moments = []string{
	"expiry", "activation", "unlock", "auto-delete",
}

// advanceText returns the text for a moment.
func advanceText(ctx context.Context, moment string) string {
	return map[string]string{
		"expiry": locale.T(ctx, "stage.leap.expiry"), "activation": locale.T(ctx, "stage.leap.activation"),
		"unlock": locale.T(ctx, "stage.leap.unlock"), "auto-delete": locale.T(ctx, "stage.leap.autodelete"),
	}[moment]
}

func rateLabel(ctx context.Context, rate int) string {
	if rate == 0 {
		return locale.T(ctx, "stage.rate.stand")
	}
	return locale.T(ctx, "stage.rate.run", locale.Args{"Rate": rate})
}

func rateFace(rate int) string { return strconv.Itoa(rate) + "×" }

// chosen reports whether the user has set this rate.
func (s SceneBar) chosen(rate int) bool { return !s.Animated && s.Rate == rate }

func (s SceneBar) step() string { return strconv.Itoa(s.Step) }

// highlights returns the addresses that the script highlights, as a JSON list.
func (s SceneBar) highlights() string {
	at := []string{}
	for _, m := range s.Highlights {
		at = append(at, m.Href)
	}
	b, err := json.Marshal(at)
	if err != nil {
		return "[]" // a list of strings always marshals
	}
	return string(b)
}

// ahead returns how many days the scene's date is ahead of the real date. The page shows that
// number because clock faces have no date.
func (s SceneBar) ahead() int {
	date := func(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
	return int(date(s.Now).Sub(date(s.RealTime)).Hours() / 24)
}

// clockFace returns the text of a clock; the script updates it on a live page.
func clockFace(ctx context.Context, t time.Time) string {
	if view.ClocksFrozen(ctx) {
		return "··:··:··"
	}
	return t.UTC().Format("15:04:05")
}

func (f StepCheck) tone() component.Tone {
	if f.Actual == "" {
		return component.Yes
	}
	return component.Critical
}

func (f StepCheck) icon() string {
	if f.Actual == "" {
		return "check"
	}
	return "close"
}
