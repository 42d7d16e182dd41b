package admin

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// The fields of the form for a token or a link. Its address and lifetime use the fields of
// Share.
const (
	TokenName  = "name"
	TokenRole  = "role"
	TokenSpace = "namespace"
	TokenPage  = "page"
)

// Tokens is the page of tokens for programs and of read-only links, which give access without
// signing in. It contains no secret. It is not live.
type Tokens struct {
	Shell        layout.Shell
	Open         bool   // the server does not require signing in
	All          bool   // the viewer sees all tokens; otherwise only their own
	New, NewLink string // addresses of the forms
	Rows         []TokenRow
}

// A TokenRow is a token or a link in the list.
type TokenRow struct {
	ID        string
	Link      bool
	Name      string
	Role      string // viewer, operator or admin, as granted
	Namespace string // the only namespace it gives access to; empty means all
	Page      string // the page that a link opens
	By        string // its creator; empty if the server was open
	With      string // name of the token it was created with; empty means none, or removed
	State     TokenState
	Made      time.Time
	Until     time.Time // zero means until it is revoked
	Used      time.Time // zero means never
	Now       time.Time
	Revoke    string // address of the form that confirms its revocation
}

// A TokenState is whether a token or link is valid.
type TokenState string

// The states. TokenCreatorLostAccess means that it has not expired, but its creator has lost access
// to this server.
const (
	TokenValid             TokenState = ""
	TokenExpired           TokenState = "expired"
	TokenCreatorLostAccess TokenState = "void"
)

// Title returns the page's title.
func (Tokens) Title(ctx context.Context) string { return locale.T(ctx, "tokens.title") }

// Full returns the whole page.
func (m Tokens) Full() templ.Component { return tokens(m) }

// Watches returns nil, because the page is not live.
func (m Tokens) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Tokens) Parts() []view.Part { return m.Shell.Parts() }

func (r TokenRow) kind(ctx context.Context) string {
	if r.Link {
		return locale.T(ctx, "tokens.link")
	}
	return locale.T(ctx, "tokens.token")
}

// where returns what the token or link gives access to: a page, a namespace or all namespaces.
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

// TokenForm is the form for a token or a link. It is not live.
type TokenForm struct {
	Shell     layout.Shell
	Link      bool
	To, All   string
	FormToken string                    // value of page.FieldFormToken
	Typed     map[string]string         // by the name of the field
	Errors    map[string]component.Text // by the name of the field
	Roles     []string                  // roles to choose from, the least powerful first
	Spaces    []string                  // namespaces
	Addresses []string                  // for a link, as in Share
	Local     bool                      // only this machine can reach the address
	Spans     []TokenLifetime
	Refused   component.Notice
}

// A TokenLifetime is a lifetime of a token or link in hours or days; neither means until it is
// revoked.
type TokenLifetime struct {
	Value       string
	Hours, Days int
}

func (s TokenLifetime) words(ctx context.Context) string {
	switch {
	case s.Days > 0:
		return locale.N(ctx, "tokens.days", s.Days)
	case s.Hours > 0:
		return locale.N(ctx, "share.hours", s.Hours)
	default:
		return locale.T(ctx, "tokens.for.ever")
	}
}

// Title returns the page's title.
func (m TokenForm) Title(ctx context.Context) string {
	if m.Link {
		return locale.T(ctx, "tokens.link.new")
	}
	return locale.T(ctx, "tokens.new")
}

// Full returns the whole page.
func (m TokenForm) Full() templ.Component { return tokenForm(m) }

// Watches returns nil, because the page is not live.
func (m TokenForm) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m TokenForm) Parts() []view.Part { return m.Shell.Parts() }

// field returns a field of the form, as typed.
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
	role.Kind = component.RadioField
	for _, r := range m.Roles {
		role.Options = append(role.Options, component.Option{Value: r, Label: locale.T(ctx, layout.RoleWord(r))})
	}
	space := m.field(ctx, TokenSpace, "tokens.space", "tokens.space.tip")
	space.Kind = component.SelectField
	if !m.Link {
		space.Options = []component.Option{{Label: locale.T(ctx, "tokens.within.all")}}
	}
	for _, n := range m.Spaces {
		space.Options = append(space.Options, component.Option{Value: n, Label: n})
	}
	stays := m.field(ctx, ShareFor, "tokens.for", "tokens.for.tip")
	stays.Kind = component.SelectField
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
		at.Kind, at.Text = component.SelectField, false
		for _, a := range m.Addresses {
			at.Options = append(at.Options, component.Option{Value: a, Label: a})
		}
		all = append(all, at)
	}
	return all
}

// TokenCreated is the page that shows the secret of a new token, or the address of a new link. It
// is shown only once.
type TokenCreated struct {
	Shell  layout.Shell
	All    string
	Row    TokenRow
	Secret string       // of a token
	Curl   string       // shell command that uses it
	URL    string       // of a link
	QR     component.QR // unless Local
	Local  bool         // only this machine can reach the address
}

// Title returns the page's title.
func (m TokenCreated) Title(ctx context.Context) string {
	if m.Row.Link {
		return locale.T(ctx, "tokens.link.made", locale.Args{"Name": component.ShowInvisible(m.Row.Name)})
	}
	return locale.T(ctx, "tokens.made", locale.Args{"Name": component.ShowInvisible(m.Row.Name)})
}

// Full returns the whole page.
func (m TokenCreated) Full() templ.Component { return tokenCreated(m) }

// Watches returns nil, because the page is not live.
func (m TokenCreated) Watches() []string { return nil }

// Parts returns the shell's parts: secrets are not pushed.
func (m TokenCreated) Parts() []view.Part { return m.Shell.Parts() }

// ConfirmRevokeToken asks to confirm the revocation of a token or link. It is not live.
type ConfirmRevokeToken struct {
	Shell   layout.Shell
	Row     TokenRow
	Made    []string // names of the tokens and links created with it, which are revoked too
	To, All string
}

// Title returns the page's title.
func (m ConfirmRevokeToken) Title(ctx context.Context) string {
	args := locale.Args{"Name": component.ShowInvisible(m.Row.Name)}
	if m.Row.Link {
		return locale.T(ctx, "tokens.revoke.link", args)
	}
	return locale.T(ctx, "tokens.revoke.token", args)
}

// Full returns the whole page.
func (m ConfirmRevokeToken) Full() templ.Component { return confirmRevokeToken(m) }

// Dialog returns the form of the page, which the script shows over another page.
func (m ConfirmRevokeToken) Dialog() templ.Component { return confirmRevokeTokenForm(m) }

// Watches returns nil, because the page is not live.
func (m ConfirmRevokeToken) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m ConfirmRevokeToken) Parts() []view.Part { return m.Shell.Parts() }

// do returns the button's label, with the number if others are revoked too.
func (m ConfirmRevokeToken) do(ctx context.Context) string {
	if len(m.Made) > 0 {
		return locale.N(ctx, "tokens.revoke.all", len(m.Made)+1)
	}
	return locale.T(ctx, "tokens.revoke.do", locale.Args{"Name": component.ShowInvisible(m.Row.Name)})
}

func (m TokenCreated) shownOnceTitle(ctx context.Context) string {
	if m.Row.Link {
		return locale.T(ctx, "tokens.link.once")
	}
	return locale.T(ctx, "tokens.once")
}

func (m TokenCreated) shownOnceText(ctx context.Context) string {
	if m.Row.Link {
		return locale.T(ctx, "tokens.link.once.detail")
	}
	return locale.T(ctx, "tokens.once.detail")
}

// grantText returns what the new token or link gives access to, its role and its expiry.
func (m TokenCreated) grantText(ctx context.Context) string {
	is := m.Row.where(ctx) + " · " + locale.T(ctx, layout.RoleWord(m.Row.Role)) + " · "
	if m.Row.Until.IsZero() {
		return is + locale.T(ctx, "tokens.for.ever")
	}
	return is + locale.T(ctx, "tokens.good", locale.Args{"Until": locale.Date(ctx, m.Row.Until) + m.Row.Until.UTC().Format(" 15:04 UTC")})
}
