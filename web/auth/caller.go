package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// A Role determines what a caller may do. Each role includes those before it.
type Role uint8

// The roles, in order.
const (
	None     Role = iota // nothing
	Viewer               // read
	Operator             // act on messages
	Admin                // act on entities and settings
)

// Roles returns the roles that a caller can have, from the least to the most privileged.
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

// ParseRole returns the role of that name. None cannot be named.
func ParseRole(name string) (Role, error) {
	for _, r := range Roles() {
		if r.String() == name {
			return r, nil
		}
	}
	return None, fmt.Errorf("the role must be viewer, operator or admin, not %q", name)
}

// Includes reports whether the role includes need.
func (r Role) Includes(need Role) bool { return r >= need }

// A Method is how a caller authenticated.
type Method uint8

// The methods.
const (
	Open     Method = iota // not at all: the server is open
	Password               // signed in with a password
	OIDC                   // signed in with OpenID Connect
	Token                  // a bearer token
	Link                   // a link that was shared
)

func (w Method) String() string {
	return [...]string{"open", "password", "openid", "token", "link"}[w]
}

// Caller is the caller of a request. The zero value is an unknown caller, who may do nothing.
type Caller struct {
	Name   string // as activity shows it; empty if the server is open
	Role   Role
	Method Method
	ID     string // of the session, token or link, to revoke it by; not its secret
	// Subject is the caller's identifier at the OIDC provider, independent of the name. Empty
	// means that Name identifies the caller.
	Subject string
	// Done is closed when the credential is no longer valid: the request's work ends then. Nil
	// means never.
	Done <-chan struct{} `json:"-"`
	// Namespace is the only namespace that the credential is valid for. Empty means all, and the
	// server itself.
	Namespace string
	// Presentation is the id of the presentation that a link follows, or "".
	Presentation string
	// Expires is when the credential expires. Zero means unknown.
	Expires time.Time
}

// OpenCaller returns the caller of an open server.
func OpenCaller() Caller { return Caller{Role: Admin, Method: Open} }

// IsKnown reports whether the caller has a role: it was identified, or the server is open.
func (w Caller) IsKnown() bool { return w.Role != None }

// Key returns a key that is the same for the same caller and differs for all others, whatever
// their names are. It is not for display.
func (w Caller) Key() string {
	switch w.Method {
	case Token, Link:
		return w.Method.String() + " " + w.ID
	default:
		return w.Method.String() + " " + cmp.Or(w.Subject, w.Name)
	}
}

type callerKey struct{}

// WithCaller returns a context for which FromContext returns caller.
func WithCaller(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// FromContext returns the caller of the context's request, or the zero value if WithCaller was never called.
func FromContext(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// FromRequest returns the caller of r; see FromContext.
func FromRequest(r *http.Request) Caller { return FromContext(r.Context()) }

// ErrNoCredential is what a Source returns for a request without a credential of its kind, or with a
// cookie that is no longer valid: the next Source is tried.
var ErrNoCredential = errors.New("the request has no credential")

// A CredentialError is what a Source returns for an invalid credential of its kind: no other Source is
// tried. The answer is 401.
type CredentialError struct {
	Text   string // a sentence for people; it reveals no more than the sender knows
	Cookie string // the name of the credential's cookie, which the browser is to delete; empty if it was in none
}

func (e *CredentialError) Error() string { return e.Text }

// A Source is one way to authenticate. It is safe for concurrent use.
type Source interface {
	// Identify returns the caller of r. The error is ErrNoCredential, a *CredentialError, or another one
	// if the request is not at fault.
	Identify(r *http.Request) (Caller, error)
}

// OpenSource is the Source that returns OpenCaller for every request: the last one of an open
// server that has others.
type OpenSource struct{}

// Identify returns OpenCaller.
func (OpenSource) Identify(*http.Request) (Caller, error) { return OpenCaller(), nil }

// Sources are tried in order. A server without any is open.
type Sources []Source

// IsOpen reports whether everybody may do everything.
func (s Sources) IsOpen() bool { return len(s) == 0 || slices.Contains(s, Source(OpenSource{})) }

// Identify returns the caller of r, as Source does.
func (s Sources) Identify(r *http.Request) (Caller, error) {
	if len(s) == 0 {
		return OpenCaller(), nil
	}
	for _, source := range s {
		caller, err := source.Identify(r)
		if !errors.Is(err, ErrNoCredential) {
			return caller, err
		}
	}
	return Caller{}, ErrNoCredential
}

// ErrUnauthenticated answers an unknown caller where a known one is required: 401.
var ErrUnauthenticated = errors.New("This server requires authentication. Sign in, or send a token.") //nolint:revive,staticcheck // shown to people as it is

// A RoleError answers a caller whose role is not enough: 403.
type RoleError struct {
	Has, Needs Role
	Namespace  string // the only namespace of the caller's credential, if that is the reason; else empty
}

func (e *RoleError) Error() string {
	if e.Namespace != "" {
		return fmt.Sprintf("Your token or link is valid for the namespace '%s' only.", e.Namespace)
	}
	return fmt.Sprintf("This requires the role %s; yours is %s.", e.Needs, e.Has)
}

// ErrSignedOut is why a running request was ended: the user was signed out, or the credential was
// revoked.
var ErrSignedOut = errors.New("You are signed out.") //nolint:revive,staticcheck // shown to people as it is

// Challenge is the WWW-Authenticate header of a 401: programs send tokens. It makes no browser
// ask for a password.
const Challenge = `Bearer realm="mayfly"`

// Authorize returns nil if caller has the role needs, else ErrUnauthenticated or a *RoleError.
func Authorize(caller Caller, needs Role) error {
	switch {
	case caller.Role.Includes(needs):
		return nil
	case !caller.IsKnown():
		return ErrUnauthenticated
	default:
		return &RoleError{Has: caller.Role, Needs: needs}
	}
}
