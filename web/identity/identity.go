package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// A Role is what somebody may do. Each may do what those before it may.
type Role uint8

// The roles, in order.
const (
	None     Role = iota // nothing
	Viewer               // read
	Operator             // act on messages
	Admin                // act on entities and settings
)

// Roles are those that somebody can have, the least first.
func Roles() []Role { return []Role{Viewer, Operator, Admin} }

func (r Role) String() string {
	switch r {
	case Viewer:
		return "viewer"
	case Operator:
		return "operator"
	case Admin:
		return "admin"
	default:
		return "none"
	}
}

// ParseRole is the role that is called so. None is not one that is given.
func ParseRole(name string) (Role, error) {
	for _, r := range Roles() {
		if r.String() == name {
			return r, nil
		}
	}
	return None, fmt.Errorf("a role is viewer, operator or admin, not %q", name)
}

// May tells whether the role is enough for what needs another.
func (r Role) May(need Role) bool { return r >= need }

// A Way is how somebody became known.
type Way uint8

// The ways.
const (
	Open     Way = iota // not at all: the server asks nobody
	Password            // signed in with a password
	OIDC                // signed in with OpenID Connect
	Token               // a bearer token
	Link                // a link that was passed on
)

func (w Way) String() string {
	return [...]string{"open", "password", "openid", "token", "link"}[w]
}

// Who is somebody. The zero value is nobody, who may do nothing.
type Who struct {
	Name string // as activity tells it; empty where the server is open
	Role Role
	Way  Way
	ID   string // of the session, token or link, by which it is taken back; not its secret
	// Subject is what the provider of OIDC knows it by, whatever it has itself be called.
	// Empty: Name says it.
	Subject string
	// Over is closed when what it became known by is no longer good: what the
	// request still does ends then. Nil: never.
	Over <-chan struct{} `json:"-"`
	// Within is the one namespace that it is good for. Empty: all, and what is of none.
	Within string
	// Talk is the id of the one that a link is to follow. Empty: there is none.
	Talk string
	// Until is when it ends by itself. Zero: nobody knows.
	Until time.Time
}

// Anybody is who comes to an open server.
func Anybody() Who { return Who{Role: Admin, Way: Open} }

// Known tells whether it is somebody at all.
func (w Who) Known() bool { return w.Role != None }

// Key is the same for whoever is the same, and for nobody else, however they are called:
// it is nothing to be shown.
func (w Who) Key() string {
	switch w.Way {
	case Token, Link:
		return w.Way.String() + " " + w.ID
	default:
		return w.Way.String() + " " + cmp.Or(w.Subject, w.Name)
	}
}

type whoKey struct{}

// With has Of tell who in the context that it returns.
func With(ctx context.Context, who Who) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

// Of is who the context's request is of; nobody, if With was never called.
func Of(ctx context.Context) Who {
	who, _ := ctx.Value(whoKey{}).(Who)
	return who
}

// Asking is who r is of, as Of has it.
func Asking(r *http.Request) Who { return Of(r.Context()) }

// ErrNone is what a Source says of a request that has nothing of its kind, or, for a
// cookie, nothing that is still good: the next Source may know.
var ErrNone = errors.New("the request does not say who it is of")

// A Refused is what a Source says of a request that has something of its kind which
// is not good: no other is asked. It is answered with 401.
type Refused struct {
	Text   string // a sentence for people; it does not say more than the sender knows
	Cookie string // the name of the one that it came in, which a browser is told to forget; empty: in none
}

func (e *Refused) Error() string { return e.Text }

// A Source is one way to become known. It is safe for concurrent use.
type Source interface {
	// Identify is who r is of. The error is ErrNone, a *Refused, or one that is not
	// the request's fault.
	Identify(r *http.Request) (Who, error)
}

// Everybody is the Source that knows everybody as Anybody: the last one of an open
// server, where there are others.
type Everybody struct{}

// Identify is Anybody.
func (Everybody) Identify(*http.Request) (Who, error) { return Anybody(), nil }

// Sources are tried in order. None at all is an open server.
type Sources []Source

// Open tells whether everybody may do everything.
func (s Sources) Open() bool { return len(s) == 0 || slices.Contains(s, Source(Everybody{})) }

// Identify is who r is of, as Source has it.
func (s Sources) Identify(r *http.Request) (Who, error) {
	if len(s) == 0 {
		return Anybody(), nil
	}
	for _, source := range s {
		who, err := source.Identify(r)
		if !errors.Is(err, ErrNone) {
			return who, err
		}
	}
	return Who{}, ErrNone
}

// ErrNobody is told to nobody in particular where it takes somebody: 401.
var ErrNobody = errors.New("This server wants to know who you are: sign in, or send a token.") //nolint:revive,staticcheck // shown to people as it is

// A RoleError is told to somebody whose role is not enough: 403.
type RoleError struct {
	Has, Needs Role
	Within     string // the one namespace that it is good for, where that is why; else empty
}

func (e *RoleError) Error() string {
	if e.Within != "" {
		return fmt.Sprintf("What you have is for the namespace '%s' alone.", e.Within)
	}
	return fmt.Sprintf("This is for the role %s; yours is %s.", e.Needs, e.Has)
}

// ErrOver is why what a request did has ended: it is signed out, or what it became
// known by was taken back.
var ErrOver = errors.New("You are signed out.") //nolint:revive,staticcheck // shown to people as it is

// Challenge is what an answer of 401 says in WWW-Authenticate: tokens are what
// programs send. It makes no browser ask for a password.
const Challenge = `Bearer realm="mayfly"`

// Judge is nil where who may do what needs a role.
func Judge(who Who, needs Role) error {
	switch {
	case who.Role.May(needs):
		return nil
	case !who.Known():
		return ErrNobody
	default:
		return &RoleError{Has: who.Role, Needs: needs}
	}
}
