// Package layout is what stands around every page: the rail, the bar, notices,
// and what the script needs to know.
package layout

import (
	"context"
	"encoding/json"
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
	Title     string  // of the page, without the namespace
	Active    Section // where the rail stands
	Theme     string  // "light", "dark"; empty: as the system has it
	CSRF      string  // the token every form sends back
	Back      string  // this page's address, where actions return to; empty: the overview
	Live      Live
	Refresh   int              // after so many seconds a page that stands still loads itself again; zero: it does not
	Notice    component.Notice // what just happened; shown once
	Banner    component.Notice // what is wrong for everybody, such as a store that cannot be written
}

// Live is where the page stands in the stream of changes. Its zero value is a
// page that stands still.
type Live struct {
	URL   string // the page as a topic: its address without the base path
	N     uint64 // the number of the last event it knows
	Epoch uint64
	Now   time.Time // the broker's clock at rendering
	Build string
	// Picking is set when rows of the page can be chosen, which a page that
	// loads itself again would forget: without scripts it then does not.
	Picking bool
}

// On says whether the page is live.
func (l Live) On() bool { return l.URL != "" }

// Parts is what is live in the shell itself. Pages put it before their own.
func (s Shell) Parts() []view.Part {
	return []view.Part{{Name: "banner", Slot: component.NoticeBox(s.Banner)}}
}

func (s Shell) back() string {
	if s.Back == "" {
		return s.Home
	}
	return s.Back
}

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
	if s.Live.On() {
		a["data-live"] = s.Live.URL
		a["data-n"] = strconv.FormatUint(s.Live.N, 10)
		a["data-epoch"] = strconv.FormatUint(s.Live.Epoch, 10)
		a["data-now"] = s.Live.Now.UTC().Format("2006-01-02T15:04:05.000Z07:00")
		a["data-build"] = s.Live.Build
	}
	return a
}

// words is what the script says, so that its words stand in the catalogue
// too: an object of texts in which {n} is a place to fill.
func words(ctx context.Context) string {
	n := locale.Args{"N": "{n}"}
	b, err := json.Marshal(map[string]string{
		"live":         locale.T(ctx, "live.live"),
		"paused":       locale.T(ctx, "live.paused"),
		"pausedNew":    locale.T(ctx, "live.paused.new", n),
		"reconnecting": locale.T(ctx, "live.reconnecting", n),
		"polling":      locale.T(ctx, "live.polling", n),
		"stale":        locale.T(ctx, "live.stale", n),
		"lost":         locale.T(ctx, "live.lost"),
		"reload":       locale.T(ctx, "live.reload"),
		"newRows":      locale.T(ctx, "live.new", n),
		"came":         locale.T(ctx, "live.came", n),
		"went":         locale.T(ctx, "live.went", n),
		"copied":       locale.T(ctx, "live.copied"),
		"expiring":     locale.T(ctx, "time.expiring"),
		"expired":      locale.T(ctx, "board.expired"),
		"leaves":       locale.T(ctx, "toast.leaves", locale.Args{"Name": "{name}", "N": "{n}"}),
		"ago":          locale.T(ctx, "time.ago", locale.Args{"Span": "{n}"}),
	})
	if err != nil {
		return "{}" // a map of strings always marshals
	}
	return string(b)
}

func asset(ctx context.Context, name string) string {
	return view.Base(ctx) + static.URL(name)
}
