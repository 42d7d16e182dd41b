package admin

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Access is the page of the access rules of the namespace, or of a queue or topic. It contains
// no key.
type Access struct {
	Shell    layout.Shell
	In       AccessOwnerRef
	Enforced bool // the server checks tokens
	Rules    []AccessRow
	Max      int           // the largest number of rules
	Owners   []AccessOwner // entities with rules of their own; none on an entity's page
	Left     int           // entities with rules of their own that are not listed
	New      AccessForm
}

// An AccessOwnerRef identifies the owner of access rules: a queue, a topic or the namespace. For
// the namespace all fields but All are empty.
type AccessOwnerRef struct {
	All  string // address of the namespace's rules
	Name string // of the entity
	Href string // of its page
	Here string // address of its rules
}

// crumbs returns the breadcrumbs to a page of the owner with the label `last`, or to the owner's list
// of rules if `last` is empty.
func (o AccessOwnerRef) crumbs(ctx context.Context, last string) []component.Crumb {
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

// AccessRow is a rule in the list.
type AccessRow struct {
	Key     string
	Name    string
	Rights  []string  // Service Bus names
	Show    string    // address to post to for its keys
	Remove  string    // address of the form that confirms its removal; empty if it cannot be removed
	Changed time.Time // zero if unknown
	Now     time.Time
}

// AccessOwner is an entity with rules of its own.
type AccessOwner struct {
	Key   string
	Name  string
	Href  string // of its rules
	Rules []AccessRow
}

// AccessForm is the form for a new rule.
type AccessForm struct {
	To          string
	Name        string
	Rights      map[string]bool // the selected ones
	NameError   component.Text
	RightsError component.Text
	Refused     component.Notice
}

// The fields of the form of a rule.
const (
	FieldRule   = "name"
	FieldRights = "rights"
)

// Title returns the page's title.
func (m Access) Title(ctx context.Context) string {
	if m.In.Name == "" {
		return locale.T(ctx, "access.title")
	}
	return locale.T(ctx, "access.of", locale.Args{"Name": component.ShowInvisible(m.In.Name)})
}

// Full returns the whole page.
func (m Access) Full() templ.Component { return access(m) }

// Watches returns NoEntity: no event is specific to the rules, so no event updates the page. It is
// read again at intervals while it is open.
func (m Access) Watches() []string { return []string{page.NoEntity} }

// Parts returns the live parts of the page.
func (m Access) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.List("rules", m.Rules, func(r AccessRow) view.Row { return view.Row{Key: r.Key, Content: accessRow(r)} }),
		page.Slot("rules-empty", accessEmpty(m)),
		page.Slot("owners", accessOwners(m)),
	)
}

// AccessKeys is the page of a rule's keys, shown on request. It is not live: nothing pushed to
// browsers contains keys.
type AccessKeys struct {
	Shell    layout.Shell
	In       AccessOwnerRef
	Enforced bool
	Rule     AccessRow
	Keys     []AccessKey
}

// AccessKey is one of a rule's two keys.
type AccessKey struct {
	Second     bool
	Value      string // empty if there is no key
	Connection string // for messages; empty if the key does not fit, or AMQP is off
	Admin      string // for administration; empty if the rule does not allow it, or the key does not fit
	Renew      string // address of the form that confirms its regeneration
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

// Full returns the whole page.
func (m AccessKeys) Full() templ.Component { return accessKeys(m) }

// Watches returns nil, because the page is not live.
func (m AccessKeys) Watches() []string { return nil }

// Parts returns the shell's parts: keys are not pushed.
func (m AccessKeys) Parts() []view.Part { return m.Shell.Parts() }

// ConfirmAccessChange asks to confirm the removal of a rule or the regeneration of a key. It is not
// live.
type ConfirmAccessChange struct {
	Shell    layout.Shell
	In       AccessOwnerRef
	Enforced bool
	Rule     AccessRow
	Renew    bool // regenerate a key; otherwise remove the rule
	Second   bool // it is the secondary key
	To       string
	Cancel   string
	Refused  component.Notice
}

func (m ConfirmAccessChange) title(ctx context.Context) string {
	args := locale.Args{"Name": component.ShowInvisible(m.Rule.Name)}
	switch {
	case !m.Renew:
		return locale.T(ctx, "access.remove.title", args)
	case m.Second:
		return locale.T(ctx, "access.renew.secondary", args)
	default:
		return locale.T(ctx, "access.renew.primary", args)
	}
}

// notes returns the consequences: which clients lose access, and which keep it.
func (m ConfirmAccessChange) notes(ctx context.Context) []string {
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

func (m ConfirmAccessChange) gone(ctx context.Context) string {
	switch {
	case !m.Renew:
		return locale.T(ctx, "access.remove.gone")
	case m.Second:
		return locale.T(ctx, "access.renew.gone.secondary")
	default:
		return locale.T(ctx, "access.renew.gone.primary")
	}
}

// Full returns the whole page.
func (m ConfirmAccessChange) Full() templ.Component { return confirmAccessChange(m) }

// Dialog returns the form of the page.
func (m ConfirmAccessChange) Dialog() templ.Component { return confirmAccessChangeForm(m) }

// Watches returns nil, because the page is not live.
func (m ConfirmAccessChange) Watches() []string { return nil }

// Parts returns the shell's parts: the confirmation form is not live.
func (m ConfirmAccessChange) Parts() []view.Part { return m.Shell.Parts() }

var accessColumns = []page.Heading{
	{Name: "access.rule", Class: "name"},
	{Name: "access.rights", Class: ""},
	{Name: "access.changed", Class: "opt"},
	{Name: "access.do", Class: "keys"},
}

// accessRights are the rights to choose from, and what each allows.
var accessRights = []struct{ name, note string }{
	{"Listen", "access.right.listen"}, {"Send", "access.right.send"}, {"Manage", "access.right.manage"},
}
