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

// A Strip is the foot of a page whose namespace is a scene's stage: the caption,
// what is so, and the clock that can be turned. Nothing else has one.
type Strip struct {
	Title string
	Lang  string // of Title, Say and what is so, where it is not the page's
	To    string // what follows the verbs below, such as /next, is posted behind it
	All   string // address of the scenes; empty: they are not for who looks
	Step  int    // that was played last; zero: none was
	Of    int
	Say   string // its caption, names between backticks; of none: what the scene teaches
	Done  []Finding
	Marks []Mark // what to look at

	Playing bool
	Over    bool    // no step is left
	Mended  bool    // what was done by hand did not fit the step: all was made anew for it
	Then    *Sequel // what can be played next; nil: something of this one is left
	Trouble string  // what kept the step from being played to its end, in English; empty: nothing

	Rate  int  // of the clock; zero: it stands
	Glide bool // it runs to where the step ends, and stops there
	Now   time.Time
	Wall  time.Time
}

// A Sequel is a scene that comes after one that is over.
type Sequel struct {
	Title string
	Lang  string // of Title, where it is not the page's
	Play  string // address that it is begun by
}

// A Finding is whether something is so that the step says.
type Finding struct {
	Text string // names between backticks
	Is   string // what is so instead; empty: it is so
}

// A Mark is something to look at.
type Mark struct {
	Label, Href string
}

// The fields of what a strip posts.
const (
	AskStep    = "step"   // that was played last, as the page says
	AskRate    = "rate"   // of the clock
	AskMoment  = "moment" // to leap to
	AskTempo   = "tempo"  // TempoGlide: the script is there to show time pass
	TempoGlide = "glide"
)

// rates are how fast the clock can run.
func rates() []int { return []int{0, 1, 10, 60} }

// moments are what the clock can leap to.
func moments() []string { return []string{"expiry", "activation", "unlock", "auto-delete"} }

// leaps is what is said of a moment.
func leaps(ctx context.Context, moment string) string {
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

// chosen tells whether the clock runs at a rate because somebody wants it.
func (s Strip) chosen(rate int) bool { return !s.Glide && s.Rate == rate }

func (s Strip) step() string { return strconv.Itoa(s.Step) }

// marks is where the script finds what to look at.
func (s Strip) marks() string {
	at := []string{}
	for _, m := range s.Marks {
		at = append(at, m.Href)
	}
	b, err := json.Marshal(at)
	if err != nil {
		return "[]" // a list of strings always marshals
	}
	return string(b)
}

// ahead is by how many days the scene's clock is before the real one, which their faces
// do not tell.
func (s Strip) ahead() int {
	date := func(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
	return int(date(s.Now).Sub(date(s.Wall)).Hours() / 24)
}

// face is a clock's face; the script keeps it going, where a page is live.
func face(ctx context.Context, t time.Time) string {
	if view.IsStill(ctx) {
		return "··:··:··"
	}
	return t.UTC().Format("15:04:05")
}

func (f Finding) tone() component.Tone {
	if f.Is == "" {
		return component.Yes
	}
	return component.Critical
}

func (f Finding) icon() string {
	if f.Is == "" {
		return "check"
	}
	return "close"
}
