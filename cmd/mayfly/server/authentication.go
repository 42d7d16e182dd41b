package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
	"mayfly/views/page"
	"mayfly/web"
	"mayfly/web/auth"
	"mayfly/web/auth/oidc"
	"mayfly/web/auth/password"
	"mayfly/web/auth/token"
	"mayfly/web/auth/users"
)

// authentication holds the users of the dashboard and its API, and their ways of signing in.
type authentication struct {
	sources     auth.Sources
	gates       []web.AuthRoutes
	users       *users.File       // nil if there are no passwords
	hasProvider bool              // whether users sign in with a provider
	provider    *oidc.Provider    // nil if there is none
	login       *password.Handler // nil if there is no sign-in
}

// openAuthentication sets up authentication. Servers on one store share sessions and tokens on
// board, which is nil if the store is not shared.
func (p *serverRun) openAuthentication(board namespaces.NoteStore) (err error) {
	a := &p.authentication
	if p.config.Auth != "" {
		if a.users, err = users.Open(p.config.Auth, p.config.Logger); err != nil {
			return &cli.UsageError{Err: err}
		}
	}
	a.hasProvider = p.config.OIDC != nil
	asks := a.users != nil || a.hasProvider
	p.tokens = token.New(token.Options{Open: !asks, Base: p.config.BasePath, CurrentRole: a.currentRole, UserGone: a.isRemoved, NamespaceCreated: p.namespaceCreated, Notes: board, RecordAudit: p.recordTokenActivity, Logger: p.config.Logger})
	tokens, links, gate := p.tokens.Tokens(), p.tokens.Links(), &token.LinkHandler{Registry: p.tokens, CheckForm: p.forms.Check, ReturnPath: p.returnURL}
	if !asks {
		a.sources, a.gates = auth.Sources{tokens, links, auth.OpenSource{}}, []web.AuthRoutes{gate}
		return nil
	}
	sessions := password.NewSessions()
	sessions.Base = p.config.BasePath
	if board != nil {
		sessions.Share(board, a.fingerprint, p.config.Logger)
	}
	o := password.Options{Base: p.config.BasePath, Sessions: sessions, Users: a.users, RightsChanged: p.tokens.Recheck, Forms: p.forms, RecordAudit: p.recordActivity, Logger: p.config.clientLogger}
	var there *oidc.Handler
	if p.config.OIDC != nil {
		if there, err = p.openOIDC(sessions); err != nil {
			return err
		}
		a.provider = there.Provider
		name := a.provider.Title()
		o.OtherSignIns = []page.SignInProvider{{Label: name, Href: p.config.BasePath + oidc.SignInPath}}
		o.ProviderSignOut = func(w http.ResponseWriter, r *http.Request, who auth.Caller) (page.SignInProvider, error) {
			at, err := there.SignOutURL(w, r, who)
			return page.SignInProvider{Label: name, Href: at}, err
		}
	}
	a.login = password.New(o)
	if there != nil {
		there.Throttle, there.Succeeded, there.Failed, there.ShowFailure = a.login.Throttle, a.login.Succeeded, a.login.Failed, a.login.ShowFailure
		a.gates = append(a.gates, there)
	}
	// A token takes precedence over the session of the browser.
	a.sources, a.gates = auth.Sources{tokens, sessions, links}, append(a.gates, a.login, gate)
	return nil
}

// openOIDC returns the handler of the OpenID provider, without the functions that it shares with
// the password handler.
func (p *serverRun) openOIDC(sessions *password.Sessions) (*oidc.Handler, error) {
	c, a := *p.config.OIDC, &p.authentication
	c.Logger, c.Base = p.config.clientLogger, p.config.BasePath
	provider, err := oidc.New(c)
	if err != nil {
		return nil, cli.UsageErrorf("--oidc: %w", err)
	}
	return &oidc.Handler{
		Provider: provider, PublicURL: p.config.Advertise, ReturnPath: p.returnURL, SignOutPath: p.config.BasePath + password.SignOutPath, SignedOutPath: p.config.BasePath + password.SignInPath,
		UserName: func(name string) string { return a.displayName(name, provider.Title()) },
		StartSession: func(w http.ResponseWriter, r *http.Request, who auth.Caller) {
			sessions.Begin(w, r, password.Start{Caller: who})
			a.login.SignedIn(r, who, provider.Title())
		},
		SessionLifetime: password.Lifetime,
	}, nil
}

// returnURL returns an address of the dashboard to return to after sign-in.
func (p *serverRun) returnURL(to string) string { return password.ReturnPath(p.config.BasePath, to) }

// currentRole returns a user's current role, or false if the server cannot look it up: for users
// of a provider, and on a server without sign-in. Users whose way of signing in no longer exists
// have no role.
func (a *authentication) currentRole(name string, way auth.Method) (auth.Role, bool) {
	switch {
	case way == auth.Password && a.users != nil:
		u, _ := a.users.Find(name)
		return u.Role, true
	case way == auth.Password:
		return auth.None, a.hasProvider
	case way == auth.OIDC && !a.hasProvider:
		return auth.None, a.users != nil
	default:
		return auth.None, false
	}
}

// displayName returns the name under which a provider's user appears on this server. If the server
// also has users of its own, or if the name has a space, it appends the provider's name. Users
// choose their names at a provider, so one could otherwise equal a name in the file, or a name
// that the server gives to a token or an address.
func (a *authentication) displayName(name, provider string) string {
	if a.users != nil || strings.Contains(name, " ") {
		return name + " (" + provider + ")"
	}
	return name
}

// isRemoved reports whether a user who signs in with a password is no longer in the file. It
// returns false for users of a provider, and on a server without a file.
func (a *authentication) isRemoved(name string, way auth.Method) bool {
	if way != auth.Password || a.users == nil {
		return false
	}
	_, there := a.users.Find(name)
	return !there
}

// namespaceCreated returns when a namespace was created, or zero if unknown.
func (p *serverRun) namespaceCreated(namespace string) time.Time {
	n, _ := p.namespaces.Find(namespace)
	return n.Created
}

// fingerprint returns the fingerprint of a user's password and role, or false if the file has no
// such user.
func (a *authentication) fingerprint(name string) (stamp [sha256.Size]byte, ok bool) {
	if a.users == nil {
		return stamp, false
	}
	u, ok := a.users.Find(name)
	return u.Stamp, ok
}

// watchSessions ends expired sessions, and follows changes of the users and of the sessions of other
// servers, until ctx ends.
func (a *authentication) watchSessions(ctx context.Context) {
	if a.login != nil {
		a.login.Run(ctx)
	}
}

// recordActivity logs an action that belongs to no namespace, and records it in the activity of the
// server's own namespace.
func (p *serverRun) recordActivity(ctx context.Context, kind engine.EventKind, about, actor string) {
	p.config.Logger.InfoContext(ctx, "an operation was performed", "action", kind, "target", about, "actor", actor)
	p.namespaces.Audit(ctx, kind, about, actor)
}

// recordTokenActivity calls recordActivity for each change to the tokens and links that servers on
// one store share.
func (p *serverRun) recordTokenActivity(ctx context.Context, done []broker.AuditEntry, actor string) {
	for _, d := range done {
		p.recordActivity(ctx, d.Kind, d.About, actor)
	}
}

// oidcConfig returns the configuration of the OpenID provider, or nil if there is none.
func (c *serveCommand) oidcConfig() (*oidc.Config, error) {
	f := c.OIDC
	if f.Issuer == "" {
		if f.Client != "" || f.Secret != "" || len(f.Role) > 0 {
			return nil, errors.New("--oidc-client, --oidc-secret and --oidc-role require --oidc-issuer")
		}
		return nil, nil
	}
	secret := f.Secret
	if path, ok := strings.CutPrefix(secret, "@"); ok {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--oidc-secret: %w", err)
		}
		if secret = strings.TrimSpace(string(raw)); secret == "" {
			return nil, fmt.Errorf("--oidc-secret: %s is empty", path)
		}
	}
	out := &oidc.Config{
		Issuer: f.Issuer, ClientID: f.Client, Secret: secret, Title: f.Title, Scopes: f.Scope, NameClaim: f.Name, RoleClaim: f.Roles, Insecure: c.Insecure,
	}
	for _, text := range f.Role {
		rule, err := oidc.ParseRule(text)
		if err != nil {
			return nil, fmt.Errorf("--oidc-role: %w", err)
		}
		out.Roles = append(out.Roles, rule)
	}
	if _, err := oidc.New(*out); err != nil {
		return nil, fmt.Errorf("--oidc: %w", err)
	}
	return out, nil
}
