// Package layout holds the elements around every page (the rail, the bar and notices), and the data
// for the script.
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

// A Shell holds the data for the elements around a page: the rail, the bar, notices and menus.
type Shell struct {
	Namespace     string
	Home          string          // the namespace's address, "/n/default", base path included
	Namespaces    []NamespaceLink // the server's namespaces, including this one, as many as fit into the menu; none means no menu
	AllNamespaces string          // address of the page of all namespaces
	Title         string          // of the page, without the namespace
	Active        Section         // the current section
	Appearance    Appearance
	Settings      string // address of the page of this browser's settings; empty means none
	CSRF          string // the token that every form sends back
	Back          string // this page's address, where actions return to; empty means the overview
	User          User
	Scenes        string    // address of the scenes; empty means none
	Docs          string    // address of the documentation; empty means none
	Scene         *SceneBar // of a scene that is played in this namespace; nil means none
	Live          Live
	Refresh       int              // seconds between checks of a page that is not live for changes; zero means none
	Notice        component.Notice // what just happened; shown once
	Banner        component.Notice // a problem that concerns all users, such as a store that cannot be written
	Jobs          Jobs             // background jobs; zero means none
}

// Jobs are the namespace's running jobs, and the one that ended last.
type Jobs struct {
	Running  int // number of running jobs
	Percent  int // percentage of their messages that were processed
	Href     string
	Ended    string // id of the job that has just ended; empty means none
	EndState string // its state: done, cancelled, failed or interrupted
}

// ended returns the tone and the icon of the ended job's state, and the id of its text.
func (j Jobs) ended() (tone component.Tone, icon, words string) {
	switch j.EndState {
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

// A NamespaceLink is a namespace of the server in the menu.
type NamespaceLink struct {
	Name, Href string
	Here       bool // the page belongs to it
	Unserved   bool // no known server serves it
	Elsewhere  bool // another server serves it
}

// Live is a page's position in the stream of changes. Its zero value is a page that is not
// live.
type Live struct {
	URL   string // the page as a topic: its address without the base path
	N     uint64 // number of the last event that the page includes
	Epoch uint64
	Now   time.Time // the broker's clock when rendered
	Pace  Pace      // how that clock runs; zero means at normal speed
	Build string
	// Selectable is set if rows of the page can be selected. Without scripts such a page does not
	// reload itself, because a reload would lose the selection.
	Selectable bool
}

// A Pace is how a manual clock runs.
type Pace struct {
	Turned bool      // it does not run at normal speed
	Rate   int       // its seconds per second, if Turned; zero means stopped
	Until  time.Time // when it stops by itself; zero means never
}

// On reports whether the page is live.
func (l Live) On() bool { return l.URL != "" }

// Parts returns the live parts of the shell itself. Pages put them before their own.
func (s Shell) Parts() []view.Part {
	parts := []view.Part{{Name: "banner", Slot: component.NoticeBox(s.Banner)}, {Name: "jobs-now", Slot: jobsNow(s.Jobs)}}
	if s.Scene != nil {
		parts = append(parts, view.Part{Name: "scene", Slot: sceneBarContent(s.Scene)})
	}
	return parts
}

// WithTitle returns the shell with another page title.
func (s Shell) WithTitle(title string) Shell {
	s.Title = title
	return s
}

func (s Shell) back() string {
	if s.Back == "" {
		return s.Home
	}
	return s.Back
}

// here returns the address of this page, escaped for a query.
func (s Shell) here() string { return url.QueryEscape(s.back()) }

func (s Shell) initial() string {
	for _, r := range s.Namespace {
		return string(r)
	}
	return ""
}

// live returns the attributes of the body that the script reads at its start.
func (s Shell) live(ctx context.Context) templ.Attributes {
	a := templ.Attributes{
		"data-base":  view.Base(ctx),
		"data-words": scriptTexts(ctx),
	}
	if s.Refresh > 0 {
		a["data-again"] = strconv.Itoa(s.Refresh)
	}
	if s.Live.On() {
		a["data-live"] = s.Live.URL
		a["data-n"] = strconv.FormatUint(s.Live.N, 10)
		a["data-epoch"] = strconv.FormatUint(s.Live.Epoch, 10)
		a["data-now"] = isoTime(s.Live.Now)
		a["data-build"] = s.Live.Build
		if p := s.Live.Pace; p.Turned {
			a["data-rate"] = strconv.Itoa(p.Rate)
			if !p.Until.IsZero() {
				a["data-until"] = isoTime(p.Until)
			}
		}
	}
	return a
}

func isoTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// scriptTexts returns the translated texts that the script shows, as a JSON object. {n} is a
// placeholder for a number.
func scriptTexts(ctx context.Context) string {
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
	if day := locale.DateLayout(ctx); day != time.DateOnly { // the default of scripts
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

// languageName returns the page's language, as its speakers call it.
func languageName(ctx context.Context) string {
	for _, l := range locale.Languages() {
		if l.Tag == locale.Lang(ctx) {
			return l.Name
		}
	}
	return ""
}
