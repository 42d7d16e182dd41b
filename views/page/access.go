package page

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Access is the page of access rules: the namespace's, or those of a queue or
// topic. No key is in it.
type Access struct {
	Shell    layout.Shell
	In       AccessOf
	Enforced bool // tokens are looked at
	Rules    []AccessRow
	Most     int           // rules there may be
	Owners   []AccessOwner // entities that have rules of their own; none on the page of one
	Left     int           // that are not among them
	New      AccessForm
}

// An AccessOf is who has access rules: a queue or topic, or the namespace, of which
// all is empty but All.
type AccessOf struct {
	All  string // address of the namespace's rules
	Name string // of the entity
	Href string // of its page
	Here string // address of its rules
}

// crumbs is the way to something of the owner.
func (o AccessOf) crumbs(ctx context.Context, last string) []component.Crumb {
	all := []component.Crumb{{Label: locale.T(ctx, "access.title"), Href: o.All}}
	if o.Name != "" {
		all = append(all, component.Crumb{Label: o.Name, Href: o.Here})
	}
	if last == "" {
		all[len(all)-1].Href = ""
		return all
	}
	return append(all, component.Crumb{Label: last})
}

// AccessRow is one rule.
type AccessRow struct {
	Key     string
	Name    string
	Rights  []string  // as Service Bus calls them
	Show    string    // address that is posted to for its keys
	Remove  string    // address that asks whether to remove it; empty: it stays
	Changed time.Time // zero: not known
	Now     time.Time
}

// AccessOwner is an entity that has rules of its own.
type AccessOwner struct {
	Key   string
	Name  string
	Href  string // of its rules
	Rules []AccessRow
}

// AccessForm asks for a new rule.
type AccessForm struct {
	To          string
	Name        string
	Rights      map[string]bool // that are chosen
	NameError   component.Text
	RightsError component.Text
	Refused     component.Notice
}

// The names of what is sent by the form of a rule.
const (
	AskRule   = "name"
	AskRights = "rights"
)

// Title is what the page is called.
func (m Access) Title(ctx context.Context) string {
	if m.In.Name == "" {
		return locale.T(ctx, "access.title")
	}
	return locale.T(ctx, "access.of", locale.Args{"Name": component.Visible(m.In.Name)})
}

// Full is the page.
func (m Access) Full() templ.Component { return access(m) }

// Watches is the entity whose rules these are; of the namespace's, which are
// nobody's, no event is told apart.
func (m Access) Watches() []string { return []string{noEntity} }

// Parts is what is live in the page.
func (m Access) Parts() []view.Part {
	return append(m.Shell.Parts(),
		list("rules", m.Rules, func(r AccessRow) view.Row { return view.Row{Key: r.Key, Content: accessRow(r)} }),
		slot("rules-empty", accessEmpty(m)),
		slot("owners", accessOwners(m)),
	)
}

// AccessKeys is the page of a rule's keys, for who has asked for them. It stands
// still: what is pushed to browsers holds no keys.
type AccessKeys struct {
	Shell    layout.Shell
	In       AccessOf
	Enforced bool
	Rule     AccessRow
	Keys     []AccessKey
}

// AccessKey is one of a rule's two keys.
type AccessKey struct {
	Second     bool
	Value      string // empty: there is none
	Connection string // for messages; empty: it cannot be written, or AMQP is not to be had
	Admin      string // for entities; empty: it may not, or it cannot be written
	Renew      string // address that asks whether to make it anew
}

func (k AccessKey) title(ctx context.Context) string {
	if k.Second {
		return locale.T(ctx, "access.secondary")
	}
	return locale.T(ctx, "access.primary")
}

func (k AccessKey) id() string {
	if k.Second {
		return "secondary"
	}
	return "primary"
}

// Full is the page.
func (m AccessKeys) Full() templ.Component { return accessKeys(m) }

// Watches is none.
func (m AccessKeys) Watches() []string { return nil }

// Parts is the shell's: keys are not pushed.
func (m AccessKeys) Parts() []view.Part { return m.Shell.Parts() }

// AccessAsk asks before a rule goes or a key of it is made anew. It stands still.
type AccessAsk struct {
	Shell    layout.Shell
	In       AccessOf
	Enforced bool
	Rule     AccessRow
	Renew    bool // a key; else the rule goes
	Second   bool // it is the secondary key
	To       string
	Cancel   string
	Refused  component.Notice
}

func (m AccessAsk) title(ctx context.Context) string {
	args := locale.Args{"Name": component.Visible(m.Rule.Name)}
	switch {
	case !m.Renew:
		return locale.T(ctx, "access.remove.title", args)
	case m.Second:
		return locale.T(ctx, "access.renew.secondary", args)
	default:
		return locale.T(ctx, "access.renew.primary", args)
	}
}

// notes say what stops working, and what does not.
func (m AccessAsk) notes(ctx context.Context) []string {
	if !m.Enforced {
		return []string{m.gone(ctx), locale.T(ctx, "access.ask.accepted")}
	}
	if !m.Renew {
		return []string{m.gone(ctx), locale.T(ctx, "access.ask.links")}
	}
	other := locale.T(ctx, "access.renew.other.secondary")
	if m.Second {
		other = locale.T(ctx, "access.renew.other.primary")
	}
	return []string{m.gone(ctx), locale.T(ctx, "access.ask.links"), other}
}

func (m AccessAsk) gone(ctx context.Context) string {
	switch {
	case !m.Renew:
		return locale.T(ctx, "access.remove.gone")
	case m.Second:
		return locale.T(ctx, "access.renew.gone.secondary")
	default:
		return locale.T(ctx, "access.renew.gone.primary")
	}
}

// Full is the page.
func (m AccessAsk) Full() templ.Component { return accessAsk(m) }

// Asks is the form of the page.
func (m AccessAsk) Asks() templ.Component { return accessAskForm(m) }

// Watches is none.
func (m AccessAsk) Watches() []string { return nil }

// Parts is the shell's: the question stands still.
func (m AccessAsk) Parts() []view.Part { return m.Shell.Parts() }

func accessColumns() []heading {
	return []heading{
		{name: "access.rule", class: "name"},
		{name: "access.rights", class: ""},
		{name: "access.changed", class: "opt"},
		{name: "access.do", class: "keys"},
	}
}

// accessRights are the rights that can be given, and what each is for.
func accessRights() []struct{ name, note string } {
	return []struct{ name, note string }{
		{"Listen", "access.right.listen"}, {"Send", "access.right.send"}, {"Manage", "access.right.manage"},
	}
}
