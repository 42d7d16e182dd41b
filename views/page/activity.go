package page

import (
	"maps"
	"net/url"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// Activity is what operators did and what happened to the server, newest first.
type Activity struct {
	Shell  layout.Shell
	Lede   []component.Text
	None   bool               // the store keeps no history: there is nothing to show or to ask
	Scopes []component.Choice // how much is shown
	Sieve  Sieve

	Deeds []Deed
	// Audited is set when it is worth saying of a deed that it is audited,
	// because others are shown too.
	Audited bool

	Note   string    // how many are shown, or how far was looked
	Since  time.Time // how far back was looked without finding enough; zero: all was found
	Newest string    // address of the first page; empty: this is it
	Older  string    // address of what comes before; empty: nothing does
}

// A Sieve is what the events on the page have in common, as it was typed.
type Sieve struct {
	Scope        string // goes along with the form
	Text         string
	Path         string
	Group        string
	Actor        string
	From, Until  string             // "2026-07-14T10:30", in UTC
	Groups       []component.Option // what Group can be
	Paths        []string           // of entities there are, to choose from
	Wrong        map[string]string  // by the name of the field: why it was left out, in the server's own words
	CSV, JSON    string             // addresses of all of it as files
	All          string             // address of the page without the sieve
	MostExported int                // events in a file
}

// The names of the fields, which are the words of the address.
const (
	SieveScope = "scope"
	SieveText  = "q"
	SievePath  = "path"
	SieveGroup = "group"
	SieveActor = "actor"
	SieveFrom  = "from"
	SieveUntil = "until"
)

// detailed says whether more is asked for than the first line shows.
func (s Sieve) detailed() bool {
	return s.Path+s.Group+s.Actor+s.From+s.Until != "" || len(s.Wrong) > 0
}

// narrow says whether the sieve holds anything back.
func (s Sieve) narrow() bool { return s.detailed() || s.Text != "" }

// A Deed is one line of the page: something that happened, and who did it.
type Deed struct {
	Key     string
	At      time.Time
	Today   bool   // the time says enough
	Entity  string // as shown; empty: the server itself
	Href    string // the entity's page; empty: it is gone, or there is none
	Icon    string
	Tone    component.Tone
	Says    []component.Text
	Door    string // through which it was done: "REST"; empty: not known
	By      string // who; empty: the server itself
	Audited bool
}

// Full is the page.
func (m Activity) Full() templ.Component { return activity(m) }

// Watches is nil: the server itself has no path.
func (m Activity) Watches() []string { return nil }

// Parts is what is live in the page.
func (m Activity) Parts() []view.Part {
	if m.None {
		return m.Shell.Parts()
	}
	return append(m.Shell.Parts(),
		slot("lede", component.Lede(m.Lede)),
		list("rows", m.Deeds, func(d Deed) view.Row {
			return view.Row{Key: d.Key, Content: deedRow(d, m.Audited)}
		}),
		slot("empty", activityEmpty(m)),
		slot("pages", activityFoot(m)),
	)
}

// base is the address that the sieve's form asks.
func (m Activity) base() string { return m.Shell.Home + "/activity" }

// WithFormat is the address of an export in a format.
func WithFormat(base string, q url.Values, format string) string {
	all := url.Values{"format": {format}}
	maps.Copy(all, q)
	return base + "?" + all.Encode()
}
