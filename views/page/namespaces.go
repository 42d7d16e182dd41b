package page

import (
	"cmp"
	"context"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Namespaces is the page of all namespaces of a server. It stands still.
type Namespaces struct {
	Shell   layout.Shell
	Rows    []NamespaceRow
	Most    int    // that there may be beside the server's own
	Trouble string // why it is not known whether these are all, in the server's own words; empty: they are
	New     NamespaceForm
}

// A NamespaceRow is one namespace.
type NamespaceRow struct {
	Name  string
	Href  string // of its overview
	Own   bool   // it is the server's own
	State string // serving, opening, standby or failing
	Why   string // what keeps it from being served, in the server's own words
	Owner string // URL of the server that owns it
	Tier  string
	// Connection is what SDKs are given; empty: nobody knows.
	Connection string
	Kept       string // where what is in it is kept; empty: in memory
	Served     bool   // the numbers are known
	Counts     NamespaceCounts
	Until      time.Time // when a temporary one goes; zero: it does not
	Remove     string    // address that asks whether to remove it; empty: it stays
	Limits     string    // address where it is given other limits; empty: it keeps its own
	Now        time.Time
	Created    time.Time // zero: not known

	Temporary bool
}

// NamespaceCounts is how much is in a namespace.
type NamespaceCounts struct {
	Entities, Messages, Dead, Clients int
}

// NamespaceForm asks for a new one.
type NamespaceForm struct {
	To        string
	Name      string
	Profile   string
	Profiles  []string
	Stay      string // AskStay's value
	NameError component.Text
	// Config is a Config.json, and ConfigError what is wrong with it.
	Config      string
	ConfigError component.Text
	Refused     component.Notice
}

// The names of what the forms of namespaces send.
const (
	AskNamespace = "name"
	AskProfile   = "profile"
	AskConfig    = "config"
	AskStay      = "stay" // for how long it stays; empty: until it is removed
)

// Stays are the durations that can be chosen for a temporary namespace.
func Stays() []string { return []string{"", "1h", "8h", "24h"} }

// Title is the page's.
func (Namespaces) Title(ctx context.Context) string { return locale.T(ctx, "spaces.title") }

// Full is the whole document.
func (m Namespaces) Full() templ.Component { return namespaces(m) }

// Watches is nothing.
func (Namespaces) Watches() []string { return nil }

// Parts is what is live in it: the shell's.
func (m Namespaces) Parts() []view.Part { return m.Shell.Parts() }

func (f NamespaceForm) profiles(ctx context.Context) []component.Option {
	out := []component.Option{{Value: "", Label: locale.T(ctx, "spaces.profile.server")}}
	for _, p := range f.Profiles {
		out = append(out, component.Option{Value: p, Label: p})
	}
	return out
}

func (f NamespaceForm) stays(ctx context.Context) (out []component.Option) {
	for _, s := range Stays() {
		o := component.Option{Value: s, Label: locale.T(ctx, "spaces.stay.keep")}
		if s != "" {
			o.Label = locale.T(ctx, "spaces.stay.for", locale.Args{"For": s})
		}
		out = append(out, o)
	}
	return out
}

func (r NamespaceRow) tone() component.Tone {
	switch r.State {
	case "serving":
		return component.Plenty
	case "failing":
		return component.Lost
	default:
		return component.Low
	}
}

func (r NamespaceRow) state(ctx context.Context) string {
	return map[string]string{
		"serving": locale.T(ctx, "spaces.state.serving"), "opening": locale.T(ctx, "spaces.state.opening"),
		"standby": locale.T(ctx, "spaces.state.standby"), "failing": locale.T(ctx, "spaces.state.failing"),
	}[r.State]
}

// tier is whose limits a namespace has, as far as is known.
func (r NamespaceRow) tier(ctx context.Context) string {
	return cmp.Or(r.Tier, locale.T(ctx, "spaces.profile"))
}

// NamespaceLimits asks for other limits of a namespace. It stands still.
type NamespaceLimits struct {
	Shell    layout.Shell
	Row      NamespaceRow
	All      string   // address of the namespaces
	Profile  string   // AskProfile's value
	Profiles []string // there are
	Refused  component.Notice
}

// Title is the page's.
func (m NamespaceLimits) Title(ctx context.Context) string {
	return locale.T(ctx, "spaces.limits.title", locale.Args{"Name": m.Row.Name})
}

// Full is the whole document.
func (m NamespaceLimits) Full() templ.Component { return namespaceLimits(m) }

// Watches is nothing.
func (NamespaceLimits) Watches() []string { return nil }

// Parts is what is live in it: the shell's.
func (m NamespaceLimits) Parts() []view.Part { return m.Shell.Parts() }

// NamespaceRemoval asks whether to remove a namespace. It stands still.
type NamespaceRemoval struct {
	Shell     layout.Shell
	Row       NamespaceRow
	To        string // it posts to
	All       string // address of the namespaces
	Aside     string // the folder that it would be moved to; empty: all is gone for good
	Typed     string
	TypeError component.Text
	Refused   component.Notice
}

// Title is the page's.
func (m NamespaceRemoval) Title(ctx context.Context) string {
	return locale.T(ctx, "spaces.remove.title", locale.Args{"Name": m.Row.Name})
}

// Full is the whole document.
func (m NamespaceRemoval) Full() templ.Component { return namespaceRemoval(m) }

// Asks is the form of the page.
func (m NamespaceRemoval) Asks() templ.Component { return namespaceRemovalForm(m) }

// Watches is nothing.
func (NamespaceRemoval) Watches() []string { return nil }

// Parts is what is live in it: the shell's.
func (m NamespaceRemoval) Parts() []view.Part { return m.Shell.Parts() }

// goes is what goes with the namespace.
func (m NamespaceRemoval) goes(ctx context.Context) []string {
	c := m.Row.Counts
	return []string{
		locale.N(ctx, "spaces.goes.entities", c.Entities), locale.N(ctx, "spaces.goes.messages", c.Messages),
		locale.N(ctx, "spaces.goes.dead", c.Dead), locale.N(ctx, "spaces.goes.clients", c.Clients),
		locale.T(ctx, "spaces.goes.rest"),
	}
}
