package activity

import (
	"maps"
	"net/url"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Activity is the page of operations and of events of the server, newest first.
type Activity struct {
	Shell     layout.Shell
	Lede      []component.Text
	NoHistory bool               // the store keeps no history: there is nothing to show or search
	Scopes    []component.Choice // how much is shown
	Filter    Filter

	Rows []Row
	// Audited is set if audited events should be marked, because others are shown too.
	Audited bool

	Note   string    // how many are shown, or how far the search went
	Since  time.Time // how far back an incomplete search went; zero if it was complete
	Newest string    // address of the first page; empty if this is the first page
	Older  string    // address of the next, older page; empty if there is none
}

// A Filter is the filter of the page, as typed.
type Filter struct {
	Scope       string // sent along with the form
	Text        string
	Path        string
	Group       string
	Actor       string
	From, Until string             // "2026-07-14T10:30", in UTC
	Groups      []component.Option // choices for Group
	Paths       []string           // entities to choose from
	Errors      map[string]string  // by field: why it was ignored, in the server's own words
	CSV, JSON   string             // addresses of files with all matching events
	All         string             // address of the page without the filter
	MaxExported int                // events in a file
}

// The fields of the filter, which are also query parameters.
const (
	FieldScope     = "scope"
	FieldText      = "q"
	FieldPath      = "path"
	FieldGroup     = "group"
	FieldActor     = "actor"
	FieldFrom      = "from"
	FieldUntilTime = "until"
)

// detailed reports whether conditions beyond the first line of the form are set.
func (s Filter) detailed() bool {
	return s.Path+s.Group+s.Actor+s.From+s.Until != "" || len(s.Errors) > 0
}

// isSet reports whether the filter excludes anything.
func (s Filter) isSet() bool { return s.detailed() || s.Text != "" }

// A Row is a line of the page: an event and its actor.
type Row struct {
	Key      string
	At       time.Time
	Today    bool   // the time suffices without a date
	Entity   string // as shown; empty means the server itself
	Href     string // the entity's page; empty if it was deleted or does not exist
	Icon     string
	Tone     component.Tone
	Text     []component.Text
	Protocol string // protocol that was used: "REST"; empty if unknown
	Actor    string // the actor; empty means the server itself
	Audited  bool
}

// Full returns the whole page.
func (m Activity) Full() templ.Component { return activity(m) }

// Watches returns nil, because events of the server have no path.
func (m Activity) Watches() []string { return nil }

// Parts returns the live parts of the page.
func (m Activity) Parts() []view.Part {
	if m.NoHistory {
		return m.Shell.Parts()
	}
	return append(m.Shell.Parts(),
		page.Slot("lede", component.Lede(m.Lede)),
		page.List("rows", m.Rows, func(d Row) view.Row {
			return view.Row{Key: d.Key, Content: activityRow(d, m.Audited)}
		}),
		page.Slot("empty", activityEmpty(m)),
		page.Slot("pages", activityFoot(m)),
	)
}

// base returns the address that the filter's form submits to.
func (m Activity) base() string { return m.Shell.Home + "/activity" }

// WithFormat returns the address of an export: base with the query q, and with `format` as its
// format unless q has one.
func WithFormat(base string, q url.Values, format string) string {
	all := url.Values{"format": {format}}
	maps.Copy(all, q)
	return base + "?" + all.Encode()
}
