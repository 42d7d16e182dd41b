package admin

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

// Namespaces is the page of all namespaces of a server. It is not live.
type Namespaces struct {
	Shell   layout.Shell
	Rows    []NamespaceRow
	Max     int    // the largest number of namespaces besides the server's own
	Trouble string // why the list may be incomplete, in the server's own words; empty if it is complete
	New     NamespaceForm
}

// A NamespaceRow is a namespace in the list.
type NamespaceRow struct {
	Name  string
	Href  string // its overview
	Own   bool   // the server's own namespace
	State string // serving, opening, standby or failing
	Why   string // why it is not served, in the server's own words
	Owner string // URL of the server that owns it
	Tier  string
	// Connection is its connection string; empty if unknown.
	Connection string
	Kept       string // where it is stored; empty means in memory
	Served     bool   // the counts are valid
	Counts     NamespaceCounts
	Until      time.Time // when a temporary one is removed; zero means never
	Remove     string    // address of the question whether to remove it; empty if not possible
	Limits     string    // address that changes its limits; empty if not possible
	Now        time.Time
	Created    time.Time // zero if unknown

	Temporary bool
}

// NamespaceCounts counts what a namespace holds.
type NamespaceCounts struct {
	Entities, Messages, Dead, Clients int
}

// NamespaceForm is the form for a new namespace.
type NamespaceForm struct {
	To        string
	Name      string
	Profile   string
	Profiles  []string
	Stay      string // FieldLifetime's value
	NameError component.Text
	// Config is a Config.json, and ConfigError its error.
	Config      string
	ConfigError component.Text
	Refused     component.Notice
}

// The fields of the forms of namespaces.
const (
	FieldNamespace = "name"
	FieldProfile   = "profile"
	FieldConfig    = "config"
	FieldLifetime  = "stay" // its lifetime; empty means until it is removed
)

// Stays returns the lifetimes offered for a temporary namespace.
func Stays() []string { return []string{"", "1h", "8h", "24h"} }

// Title returns the page's title.
func (Namespaces) Title(ctx context.Context) string { return locale.T(ctx, "spaces.title") }

// Full returns the whole page.
func (m Namespaces) Full() templ.Component { return namespaces(m) }

// Watches returns nil, because the page is not live.
func (Namespaces) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
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

// tier returns the tier whose limits the namespace has, or a placeholder if it is unknown.
func (r NamespaceRow) tier(ctx context.Context) string {
	return cmp.Or(r.Tier, locale.T(ctx, "spaces.profile"))
}

// NamespaceLimits is the form that changes a namespace's limits. It is not live.
type NamespaceLimits struct {
	Shell    layout.Shell
	Row      NamespaceRow
	All      string   // address of the namespaces
	Profile  string   // FieldProfile's value
	Profiles []string // to choose from
	Refused  component.Notice
}

// Title returns the page's title.
func (m NamespaceLimits) Title(ctx context.Context) string {
	return locale.T(ctx, "spaces.limits.title", locale.Args{"Name": m.Row.Name})
}

// Full returns the whole page.
func (m NamespaceLimits) Full() templ.Component { return namespaceLimits(m) }

// Watches returns nil, because the page is not live.
func (NamespaceLimits) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m NamespaceLimits) Parts() []view.Part { return m.Shell.Parts() }

// ConfirmRemoveNamespace asks to confirm the removal of a namespace. It is not live.
type ConfirmRemoveNamespace struct {
	Shell     layout.Shell
	Row       NamespaceRow
	To        string // address it posts to
	All       string // address of the namespaces
	Aside     string // folder that it would be moved to; empty means that it is deleted for good
	Typed     string
	TypeError component.Text
	Refused   component.Notice
}

// Title returns the page's title.
func (m ConfirmRemoveNamespace) Title(ctx context.Context) string {
	return locale.T(ctx, "spaces.remove.title", locale.Args{"Name": m.Row.Name})
}

// Full returns the whole page.
func (m ConfirmRemoveNamespace) Full() templ.Component { return confirmRemoveNamespace(m) }

// Dialog returns the form of the page.
func (m ConfirmRemoveNamespace) Dialog() templ.Component { return confirmRemoveNamespaceForm(m) }

// Watches returns nil, because the page is not live.
func (ConfirmRemoveNamespace) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m ConfirmRemoveNamespace) Parts() []view.Part { return m.Shell.Parts() }

// goes returns what is removed with the namespace.
func (m ConfirmRemoveNamespace) goes(ctx context.Context) []string {
	c := m.Row.Counts
	return []string{
		locale.N(ctx, "spaces.goes.entities", c.Entities), locale.N(ctx, "spaces.goes.messages", c.Messages),
		locale.N(ctx, "spaces.goes.dead", c.Dead), locale.N(ctx, "spaces.goes.clients", c.Clients),
		locale.T(ctx, "spaces.goes.rest"),
	}
}
