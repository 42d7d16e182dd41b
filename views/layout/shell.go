// Package layout is what stands around every page: the rail, the bar, notices,
// and what the script needs to know.
package layout

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"mayfly/static"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// A Shell is what a page needs to be told to stand in its surroundings.
type Shell struct {
	Namespace string
	Home      string  // the namespace's address, "/n/default", base path included
	Spaces    []Space // the server's namespaces, this one too, as far as the menu has room; none: there is no menu
	AllSpaces string  // address of the page of all of them
	Title     string  // of the page, without the namespace
	Active    Section // where the rail stands
	Looks     Looks
	Settings  string // address of the page of what this browser keeps; empty: there is none
	CSRF      string // the token every form sends back
	Back      string // this page's address, where actions return to; empty: the overview
	User      User
	Scenes    string // address of the scenes; empty: there are none
	Strip     *Strip // of a scene that is played here; nil: none is
	Live      Live
	Refresh   int              // every so many seconds a page that stands still looks whether it is another one; zero: it does not
	Notice    component.Notice // what just happened; shown once
	Banner    component.Notice // what is wrong for everybody, such as a store that cannot be written
	Jobs      Jobs             // what is done in the background; zero: nothing
}

// Jobs are those of the namespace that run, and the one that has just ended.
type Jobs struct {
	Running int // how many are not over
	Percent int // of their messages that were looked at
	Href    string
	Ended   string // the id of the one that has just ended; empty: none has
	How     string // in which state: done, cancelled, failed or interrupted
}

// ended is how that looks, and the id of what is said of it.
func (j Jobs) ended() (tone component.Tone, icon, words string) {
	switch j.How {
	case "done":
		return component.Plenty, "check", "jobs.now.done"
	case "failed":
		return component.Critical, "warn", "jobs.now.failed"
	case "cancelled":
		return component.Low, "pause", "jobs.now.cancelled"
	default:
		return component.Low, "pause", "jobs.now.interrupted"
	}
}

// A Space is one namespace of the server in the menu.
type Space struct {
	Name, Href string
	Here       bool // the page is of it
	Down       bool // nobody is known to serve it
	Away       bool // another server does
}

// Live is where the page stands in the stream of changes. Its zero value is a
// page that stands still.
type Live struct {
	URL   string // the page as a topic: its address without the base path
	N     uint64 // the number of the last event it knows
	Epoch uint64
	Now   time.Time // the broker's clock at rendering
	Pace  Pace      // how that runs; zero: as any clock does
	Build string
	// Picking is set when rows of the page can be chosen, which a page that
	// loads itself again would forget: without scripts it then does not.
	Picking bool
}

// A Pace is how a clock runs that somebody can turn.
type Pace struct {
	Turned bool      // it does not run as any other
	Rate   int       // seconds of it in a second, if it is Turned; zero: it stands
	Until  time.Time // where it stops by itself; zero: nowhere
}

// On says whether the page is live.
func (l Live) On() bool { return l.URL != "" }

// Parts is what is live in the shell itself. Pages put it before their own.
func (s Shell) Parts() []view.Part {
	parts := []view.Part{{Name: "banner", Slot: component.NoticeBox(s.Banner)}, {Name: "jobs-now", Slot: jobsNow(s.Jobs)}}
	if s.Strip != nil {
		parts = append(parts, view.Part{Name: "scene", Slot: stripInside(s.Strip)})
	}
	return parts
}

// Called is the shell of a page that goes by another title.
func (s Shell) Called(title string) Shell {
	s.Title = title
	return s
}

func (s Shell) back() string {
	if s.Back == "" {
		return s.Home
	}
	return s.Back
}

// here is the address of this page, as a value in another.
func (s Shell) here() string { return url.QueryEscape(s.back()) }

func (s Shell) initial() string {
	for _, r := range s.Namespace {
		return string(r)
	}
	return ""
}

// live is the attributes of the body that the script starts from.
func (s Shell) live(ctx context.Context) templ.Attributes {
	a := templ.Attributes{
		"data-base":  view.Base(ctx),
		"data-words": words(ctx),
	}
	if s.Refresh > 0 {
		a["data-again"] = strconv.Itoa(s.Refresh)
	}
	if s.Live.On() {
		a["data-live"] = s.Live.URL
		a["data-n"] = strconv.FormatUint(s.Live.N, 10)
		a["data-epoch"] = strconv.FormatUint(s.Live.Epoch, 10)
		a["data-now"] = stamp(s.Live.Now)
		a["data-build"] = s.Live.Build
		if p := s.Live.Pace; p.Turned {
			a["data-rate"] = strconv.Itoa(p.Rate)
			if !p.Until.IsZero() {
				a["data-until"] = stamp(p.Until)
			}
		}
	}
	return a
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// words is what the script says, so that its words stand in the catalogue
// too: an object of texts in which {n} is a place to fill.
func words(ctx context.Context) string {
	n, second := locale.Args{"N": "{n}"}, component.SpanWords(ctx)["s"]
	say := map[string]string{
		"live":         locale.T(ctx, "live.live"),
		"paused":       locale.T(ctx, "live.paused"),
		"pausedNew":    locale.T(ctx, "live.paused.new", n),
		"reconnecting": locale.T(ctx, "live.reconnecting", locale.Args{"Span": second}),
		"polling":      locale.T(ctx, "live.polling", locale.Args{"Span": second}),
		"stale":        locale.T(ctx, "live.stale", n),
		"lost":         locale.T(ctx, "live.lost"),
		"reload":       locale.T(ctx, "live.reload"),
		"newRows":      locale.T(ctx, "live.new", n),
		"came":         locale.T(ctx, "live.came", n),
		"went":         locale.T(ctx, "live.went", n),
		"copied":       locale.T(ctx, "live.copied"),
		"refreshed":    locale.T(ctx, "live.refreshed"),
		"expiring":     locale.T(ctx, "time.expiring"),
		"expired":      locale.T(ctx, "board.expired"),
		"leaves":       locale.T(ctx, "toast.leaves", locale.Args{"Name": "{name}", "N": "{n}"}),
		"unheard":      locale.T(ctx, "live.unheard"),
		"unheardNote":  locale.T(ctx, "live.unheard.note"),
		"close":        locale.T(ctx, "confirm.close"),

		"went.expired":       locale.T(ctx, "live.went.expired", n),
		"went.dead-lettered": locale.T(ctx, "live.went.dead", n),
		"went.completed":     locale.T(ctx, "live.went.completed", n),
		"went.deferred":      locale.T(ctx, "live.went.deferred", n),

		"presenting":         locale.T(ctx, "present.on"),
		"following":          locale.T(ctx, "follow.on", locale.Args{"Name": "{n}"}),
		"followingSomebody":  locale.T(ctx, "follow.on.somebody"),
		"followGone":         locale.T(ctx, "follow.gone", locale.Args{"Name": "{n}"}),
		"followGoneSomebody": locale.T(ctx, "follow.gone.somebody"),
		"followElsewhere":    locale.T(ctx, "follow.elsewhere"),
		"followEnded":        locale.T(ctx, "follow.ended"),
		"followScene":        locale.T(ctx, "follow.scene"),
		"followOff":          locale.T(ctx, "follow.off"),
		"followOver":         locale.T(ctx, "follow.over"),
		"followConnecting":   locale.T(ctx, "follow.connecting"),

		"ago": locale.T(ctx, "time.ago", locale.Args{"Span": "{n}"}),
	}
	if day := locale.DateLayout(ctx); day != time.DateOnly { // which scripts write unless they are told otherwise
		say["date"] = day
	}
	for unit, text := range component.SpanWords(ctx) {
		say["span."+unit] = text
	}
	b, err := json.Marshal(say)
	if err != nil {
		return "{}" // a map of strings always marshals
	}
	return string(b)
}

func asset(ctx context.Context, name string) string {
	return view.Base(ctx) + static.URL(name)
}

// speaks is the language of the page, as those call it who speak it.
func speaks(ctx context.Context) string {
	for _, l := range locale.Languages() {
		if l.Tag == locale.Lang(ctx) {
			return l.Name
		}
	}
	return ""
}
