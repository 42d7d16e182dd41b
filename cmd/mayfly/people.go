package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/views/page"
	"mayfly/web"
	"mayfly/web/identity"
	"mayfly/web/keys"
	"mayfly/web/login"
	"mayfly/web/oidc"
	"mayfly/web/users"
)

// people are those who may use the dashboard and its API, where the server asks who
// they are.
type people struct {
	sources   identity.Sources
	gates     []web.Gate
	file      *users.File    // nil: nobody has a password
	elsewhere bool           // a provider knows some
	provider  *oidc.Provider // that one
	door      *login.Door    // nil: nobody signs in
}

// openPeople reads who they are. What lets them in is on the board, where servers share
// one.
func (p *program) openPeople(board fleet.Board) (err error) {
	a := &p.people
	if p.c.Auth != "" {
		if a.file, err = users.Open(p.c.Auth, p.c.Logger); err != nil {
			return &misuse{err}
		}
	}
	a.elsewhere = p.c.OIDC != nil
	asks := a.file != nil || a.elsewhere
	p.keys = keys.New(keys.Options{Open: !asks, Base: p.c.BasePath, Standing: a.standing, Gone: a.gone, Since: p.since, Board: board, Remember: p.rememberKeys, Logger: p.c.Logger})
	tokens, links, gate := p.keys.Tokens(), p.keys.Links(), &keys.Gate{Ring: p.keys, Check: p.forms.Check, Within: p.within}
	if !asks {
		a.sources, a.gates = identity.Sources{tokens, links, identity.Everybody{}}, []web.Gate{gate}
		return nil
	}
	sessions := login.NewSessions()
	sessions.Base = p.c.BasePath
	if board != nil {
		sessions.Share(board, a.stamp, p.c.Logger)
	}
	o := login.Options{Base: p.c.BasePath, Sessions: sessions, Users: a.file, Changed: p.keys.Recheck, Forms: p.forms, Remember: p.remember, Logger: p.c.Logger}
	var there *oidc.Door
	if p.c.OIDC != nil {
		if there, err = p.openProvider(sessions); err != nil {
			return err
		}
		a.provider = there.Provider
		name := a.provider.Title()
		o.Others = []page.OtherWay{{Label: name, Href: p.c.BasePath + oidc.SignIn}}
		o.Elsewhere = func(w http.ResponseWriter, r *http.Request, who identity.Who) (page.OtherWay, error) {
			at, err := there.End(w, r, who)
			return page.OtherWay{Label: name, Href: at}, err
		}
	}
	a.door = login.New(o)
	if there != nil {
		there.Try, there.Good, there.Failed, there.Refuse = a.door.Try, a.door.Good, a.door.Failed, a.door.Refuse
		a.gates = append(a.gates, there)
	}
	// A token is meant, whoever's browser it comes from.
	a.sources, a.gates = identity.Sources{tokens, sessions, links}, append(a.gates, a.door, gate)
	return nil
}

// openProvider is a door to the OpenID provider, which lacks what the login's door has.
func (p *program) openProvider(sessions *login.Sessions) (*oidc.Door, error) {
	c, a := *p.c.OIDC, &p.people
	c.Logger, c.Base = p.c.Logger, p.c.BasePath
	provider, err := oidc.New(c)
	if err != nil {
		return nil, misused("--oidc: %w", err)
	}
	return &oidc.Door{
		Provider: provider, At: p.c.Advertise, Within: p.within, SignOut: p.c.BasePath + login.SignOut, Out: p.c.BasePath + login.SignIn,
		Called: func(name string) string { return a.called(name, provider.Title()) },
		Begin: func(w http.ResponseWriter, r *http.Request, who identity.Who) {
			sessions.Begin(w, r, login.Start{Who: who})
			a.door.SignedIn(r, who, provider.Title())
		},
		Lasts: login.LastsFor,
	}, nil
}

// within is an address of the dashboard to return to.
func (p *program) within(to string) string { return login.Within(p.c.BasePath, to) }

// standing is which role a user has now. Of who signs in elsewhere it is not known; who
// signed in by a way that there is no longer has none. Where nobody is asked, it is not
// known of anybody.
func (a *people) standing(name string, way identity.Way) (identity.Role, bool) {
	switch {
	case way == identity.Password && a.file != nil:
		u, _ := a.file.Find(name)
		return u.Role, true
	case way == identity.Password:
		return identity.None, a.elsewhere
	case way == identity.OIDC && !a.elsewhere:
		return identity.None, a.file != nil
	default:
		return identity.None, false
	}
}

// called is what somebody is called here whom a provider calls so. Its people choose that
// themselves, but nobody is called as one in the file, or as what the server calls a token
// or an address.
func (a *people) called(name, provider string) string {
	if a.file != nil || strings.Contains(name, " ") {
		return name + " (" + provider + ")"
	}
	return name
}

// gone tells whether a user is not in the file any more.
func (a *people) gone(name string, way identity.Way) bool {
	if way != identity.Password || a.file == nil {
		return false
	}
	_, there := a.file.Find(name)
	return !there
}

// since is when a namespace was made, if it is known.
func (p *program) since(namespace string) time.Time {
	n, _ := p.fleet.Find(namespace)
	return n.Created
}

// stamp is what a user with a password is known by.
func (a *people) stamp(name string) (stamp [sha256.Size]byte, ok bool) {
	if a.file == nil {
		return stamp, false
	}
	u, ok := a.file.Find(name)
	return u.Stamp, ok
}

// watch looks after them until ctx ends.
func (a *people) watch(ctx context.Context) {
	if a.door != nil {
		a.door.Watch(ctx)
	}
}

// remember has the activity of the server's own namespace tell what was done that is of
// none. The log tells it in any case.
func (p *program) remember(ctx context.Context, kind engine.EventKind, about, actor string) {
	p.c.Logger.InfoContext(ctx, "somebody did something", "who", actor, "what", kind, "about", about)
	p.fleet.Remember(ctx, kind, about, actor)
}

// rememberKeys is remember for what was done to tokens and links that servers share.
func (p *program) rememberKeys(ctx context.Context, done []broker.Deed, actor string) {
	for _, d := range done {
		p.remember(ctx, d.Kind, d.About, actor)
	}
}

// provider is what the flags say of an OpenID provider; nil: nothing.
func (c *serveCommand) provider() (*oidc.Config, error) {
	f := c.OIDC
	if f.Issuer == "" {
		if f.Client != "" || f.Secret != "" || len(f.Role) > 0 {
			return nil, errors.New("--oidc-client, --oidc-secret and --oidc-role are for --oidc-issuer, and there is none")
		}
		return nil, nil //nolint:nilnil // as said
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
