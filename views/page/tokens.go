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

// The names of the fields that a token or a link is asked for with. Its address, and how
// long it is good, are those of Share.
const (
	TokenName  = "name"
	TokenRole  = "role"
	TokenSpace = "namespace"
	TokenPage  = "page"
)

// Tokens is the page of what gives access without signing in: tokens for programs, and
// read-only links. No secret is in it. It stands still.
type Tokens struct {
	Shell        layout.Shell
	Open         bool   // the server asks nobody who he is
	All          bool   // whoever looks is told of all; else of those that are theirs
	New, NewLink string // addresses of the forms
	Rows         []TokenRow
}

// A TokenRow is one of them.
type TokenRow struct {
	ID        string
	Link      bool
	Name      string
	Role      string // viewer, operator or admin: what it was made with
	Namespace string // the only one that it is good for; empty: all
	Page      string // where a link leads
	By        string // who made it; empty: the server was open
	With      string // what the token is called that it was made with; empty: with none, or that is gone
	State     TokenState
	Made      time.Time
	Until     time.Time // zero: until it is revoked
	Used      time.Time // zero: never
	Now       time.Time
	Revoke    string // address that asks whether to
}

// A TokenState is whether one is good.
type TokenState string

// The states. One that is void is not over, but whoever made it may do nothing here any
// more.
const (
	TokenGood    TokenState = ""
	TokenExpired TokenState = "expired"
	TokenVoid    TokenState = "void"
)

// Title is what the page is called.
func (Tokens) Title(ctx context.Context) string { return locale.T(ctx, "tokens.title") }

// Full is the page.
func (m Tokens) Full() templ.Component { return tokens(m) }

// Watches is nil; the page stands still.
func (m Tokens) Watches() []string { return nil }

// Parts are those of the shell.
func (m Tokens) Parts() []view.Part { return m.Shell.Parts() }

func (r TokenRow) kind(ctx context.Context) string {
	if r.Link {
		return locale.T(ctx, "tokens.link")
	}
	return locale.T(ctx, "tokens.token")
}

// where is what it is good for.
func (r TokenRow) where(ctx context.Context) string {
	switch {
	case r.Link:
		return r.Page
	case r.Namespace != "":
		return locale.T(ctx, "tokens.within", locale.Args{"Name": r.Namespace})
	default:
		return locale.T(ctx, "tokens.within.all")
	}
}

// TokenForm asks for a token, or for a link. It stands still.
type TokenForm struct {
	Shell     layout.Shell
	Link      bool
	To, All   string
	Once      string                    // see the field of that name
	Typed     map[string]string         // by the name of the field
	Errors    map[string]component.Text // likewise
	Roles     []string                  // that can be given, the least first
	Spaces    []string                  // namespaces
	Addresses []string                  // of a link: as Share has them
	Local     bool                      // only this machine reaches the address
	Spans     []TokenSpan
	Refused   component.Notice
}

// A TokenSpan is how long one can be good: so many hours, or days; neither is until it
// is revoked.
type TokenSpan struct {
	Value       string
	Hours, Days int
}

func (s TokenSpan) words(ctx context.Context) string {
	switch {
	case s.Days > 0:
		return locale.N(ctx, "tokens.days", s.Days)
	case s.Hours > 0:
		return locale.N(ctx, "share.hours", s.Hours)
	default:
		return locale.T(ctx, "tokens.for.ever")
	}
}

// Title is what the page is called.
func (m TokenForm) Title(ctx context.Context) string {
	if m.Link {
		return locale.T(ctx, "tokens.link.new")
	}
	return locale.T(ctx, "tokens.new")
}

// Full is the page.
func (m TokenForm) Full() templ.Component { return tokenForm(m) }

// Watches is nil; the page stands still.
func (m TokenForm) Watches() []string { return nil }

// Parts are those of the shell.
func (m TokenForm) Parts() []view.Part { return m.Shell.Parts() }

// field is one of the form as it was typed.
func (m TokenForm) field(ctx context.Context, name, words, tip string) component.Field {
	return component.Field{
		Name: name, Label: locale.T(ctx, words), Value: m.Typed[name], Error: m.Errors[name], Focus: m.Errors[name].S != "", Text: true,
		Tip: []component.Text{{S: locale.T(ctx, tip)}},
	}
}

func (m TokenForm) fields(ctx context.Context) []component.Field {
	name := m.field(ctx, TokenName, "tokens.name", "tokens.name.tip")
	name.Required, name.Placeholder = true, "ci"
	role := m.field(ctx, TokenRole, "tokens.role", "tokens.role.tip")
	role.Kind = component.Radios
	for _, r := range m.Roles {
		role.Options = append(role.Options, component.Option{Value: r, Label: locale.T(ctx, layout.RoleWord(r))})
	}
	space := m.field(ctx, TokenSpace, "tokens.space", "tokens.space.tip")
	space.Kind = component.Select
	if !m.Link {
		space.Options = []component.Option{{Label: locale.T(ctx, "tokens.within.all")}}
	}
	for _, n := range m.Spaces {
		space.Options = append(space.Options, component.Option{Value: n, Label: n})
	}
	stays := m.field(ctx, ShareFor, "tokens.for", "tokens.for.tip")
	stays.Kind = component.Select
	for _, s := range m.Spans {
		stays.Options = append(stays.Options, component.Option{Value: s.Value, Label: s.words(ctx)})
	}
	if !m.Link {
		return []component.Field{name, role, space, stays}
	}
	name.Placeholder = locale.T(ctx, "share.link.name")
	leads := m.field(ctx, TokenPage, "tokens.page", "tokens.page.tip")
	leads.Text, leads.Placeholder = false, m.Shell.Home+"/queues"
	all := []component.Field{name, space, leads, stays}
	if len(m.Addresses) > 1 {
		at := m.field(ctx, ShareAt, "tokens.at", "tokens.at.tip")
		at.Kind, at.Text = component.Select, false
		for _, a := range m.Addresses {
			at.Options = append(at.Options, component.Option{Value: a, Label: a})
		}
		all = append(all, at)
	}
	return all
}

// TokenMade is the page that tells the secret of a token, or the address of a link, the
// one time that it is told.
type TokenMade struct {
	Shell  layout.Shell
	All    string
	Row    TokenRow
	Secret string       // of a token
	Curl   string       // a line that sends it
	URL    string       // of a link
	QR     component.QR // unless Local
	Local  bool         // only this machine reaches the address
}

// Title is what the page is called.
func (m TokenMade) Title(ctx context.Context) string {
	if m.Row.Link {
		return locale.T(ctx, "tokens.link.made", locale.Args{"Name": component.Visible(m.Row.Name)})
	}
	return locale.T(ctx, "tokens.made", locale.Args{"Name": component.Visible(m.Row.Name)})
}

// Full is the page.
func (m TokenMade) Full() templ.Component { return tokenMade(m) }

// Watches is nil; the page stands still.
func (m TokenMade) Watches() []string { return nil }

// Parts are those of the shell: secrets are not pushed.
func (m TokenMade) Parts() []view.Part { return m.Shell.Parts() }

// TokenAsk asks before one is revoked. It stands still.
type TokenAsk struct {
	Shell   layout.Shell
	Row     TokenRow
	Made    []string // what is called so was made with it, and goes too
	To, All string
}

// Title is what the page is called.
func (m TokenAsk) Title(ctx context.Context) string {
	args := locale.Args{"Name": component.Visible(m.Row.Name)}
	if m.Row.Link {
		return locale.T(ctx, "tokens.revoke.link", args)
	}
	return locale.T(ctx, "tokens.revoke.token", args)
}

// Full is the page.
func (m TokenAsk) Full() templ.Component { return tokenAsk(m) }

// Asks is what the script shows over a page.
func (m TokenAsk) Asks() templ.Component { return tokenAskForm(m) }

// Watches is nil; the page stands still.
func (m TokenAsk) Watches() []string { return nil }

// Parts are those of the shell.
func (m TokenAsk) Parts() []view.Part { return m.Shell.Parts() }

// do is what the button says: that one goes, or with how many.
func (m TokenAsk) do(ctx context.Context) string {
	if len(m.Made) > 0 {
		return locale.N(ctx, "tokens.revoke.all", len(m.Made)+1)
	}
	return locale.T(ctx, "tokens.revoke.do", locale.Args{"Name": component.Visible(m.Row.Name)})
}

func (m TokenMade) once(ctx context.Context) string {
	if m.Row.Link {
		return locale.T(ctx, "tokens.link.once")
	}
	return locale.T(ctx, "tokens.once")
}

func (m TokenMade) onceDetail(ctx context.Context) string {
	if m.Row.Link {
		return locale.T(ctx, "tokens.link.once.detail")
	}
	return locale.T(ctx, "tokens.once.detail")
}

// good is what it may do, where, and until when.
func (m TokenMade) good(ctx context.Context) string {
	is := m.Row.where(ctx) + " · " + locale.T(ctx, layout.RoleWord(m.Row.Role)) + " · "
	if m.Row.Until.IsZero() {
		return is + locale.T(ctx, "tokens.for.ever")
	}
	return is + locale.T(ctx, "tokens.good", locale.Args{"Until": locale.Date(ctx, m.Row.Until) + m.Row.Until.UTC().Format(" 15:04 UTC")})
}
