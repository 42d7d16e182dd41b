package api

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/identity"
	"mayfly/web/keys"
)

// Tokens is the answer of GET /tokens.
type Tokens struct {
	Tokens []Token `json:"tokens"` // the latest first
}

// Token is a token or a read-only link, without its secret.
type Token struct {
	ID        string    `json:"id"`   // by which it is revoked
	Kind      string    `json:"kind"` // token or link
	Name      string    `json:"name"`
	Role      string    `json:"role"`                // viewer, operator or admin
	Namespace string    `json:"namespace,omitempty"` // the only one that it is good for; missing: all
	Page      string    `json:"page,omitempty"`      // where a link leads
	State     string    `json:"state"`               // active or expired
	MadeBy    string    `json:"madeBy,omitempty"`    // who made it; missing: the server was open to everybody
	Made      time.Time `json:"made"`
	Until     time.Time `json:"until,omitzero"`   // from then on it is not good; missing: it is until it is revoked
	Used      time.Time `json:"used,omitzero"`    // when it was good the last time, to the minute; missing: never
	With      string    `json:"with,omitempty"`   // the id of the token that it was made with, and ends with
	Secret    string    `json:"secret,omitempty"` // of a token, in the answer to making it alone: what follows Bearer
	URL       string    `json:"url,omitempty"`    // of a link, in the answer to making it alone: what opens it
}

// NewToken is what POST /tokens takes.
type NewToken struct {
	Name      string `json:"name"`                // 1 to 100 characters
	Role      string `json:"role"`                // viewer, operator or admin, up to one's own
	Namespace string `json:"namespace,omitempty"` // the only one that it is to be good for; missing: all
	For       string `json:"for,omitempty"`       // how long it is good, such as 90d; missing: until it is revoked
}

// NewLink is what POST /links takes.
type NewLink struct {
	Name      string `json:"name"`                // 1 to 100 characters
	Namespace string `json:"namespace,omitempty"` // what it shows; missing: that of the address
	Page      string `json:"page,omitempty"`      // where it leads, such as /n/shop/queues; missing: the overview
	For       string `json:"for,omitempty"`       // how long it is good, such as 2h, up to 30d; missing: 8h
}

func tokenRoutes() []route {
	return []route{
		{
			method: "GET", path: "/tokens", id: "listTokens", needs: identity.Viewer, group: groupTokens, summary: "Tokens and read-only links, the latest first",
			about: "An admin is told of all, others of their own.",
			gives: Tokens{}, fails: []string{"NotSupported"}, serve: (*door).tokens,
		},
		{
			method: "POST", path: "/tokens", id: "makeToken", needs: identity.Viewer, group: groupTokens, summary: "Make a token for programs",
			sends: `{"name":"ci","role":"operator","for":"90d"}`,
			about: "Its secret is in this answer alone. What is made with a token is good no longer than that is.",
			takes: NewToken{}, status: http.StatusCreated, gives: Token{}, fails: []string{"InvalidOperation", "QuotaExceeded", "NotSupported"}, serve: (*door).makeToken,
		},
		{
			method: "POST", path: "/links", id: "makeLink", needs: identity.Operator, group: groupTokens, summary: "Make a read-only link for an audience",
			sends: `{"name":"monday's demo","page":"/n/default/queues","for":"2h"}`,
			about: "Whoever opens it may look at one namespace, and do nothing. Its URL is in this answer alone.",
			takes: NewLink{}, status: http.StatusCreated, gives: Token{}, fails: []string{"InvalidOperation", "QuotaExceeded", "NotSupported"}, serve: (*door).makeLink,
		},
		{
			method: "DELETE", path: "/tokens/{id}", id: "revokeToken", needs: identity.Viewer, group: groupTokens, summary: "Revoke a token or a link",
			at: "abcdefghij", part: "The id of a token or link.",
			about: "It is good no longer, nor what was made with it, and what they let in ends at once.",
			gives: Token{}, fails: []string{"TokenNotFound", "NotSupported"}, serve: (*door).revokeToken,
		},
	}
}

func presentToken(k keys.Key) Token {
	return Token{
		ID: k.ID, Kind: k.Kind.String(), Name: k.Name, Role: k.Role.String(), Namespace: k.Namespace, Page: k.Page, State: k.State(time.Now()),
		MadeBy: k.By, Made: k.Made, Until: k.Until, Used: k.Used, With: k.Parent,
	}
}

// ring is where tokens are kept. The error is for a door that has none.
func (d *door) ring() (*keys.Ring, error) {
	if d.keys == nil {
		return nil, &engine.Refusal{Kind: engine.ErrNotImplemented, Text: "This server keeps no tokens."}
	}
	return d.keys, nil
}

func (d *door) tokens(c echo.Context) error {
	ring, err := d.ring()
	if err != nil {
		return err
	}
	all, err := ring.List(identity.Asking(c.Request()))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	out := Tokens{Tokens: []Token{}}
	for _, k := range all {
		out.Tokens = append(out.Tokens, presentToken(k))
	}
	return reply(c, http.StatusOK, out)
}

// goodFor reads how long something is to be good; zero: it is not said.
func goodFor(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, never, err := engine.ParseDuration(text)
	if err != nil || never || d <= 0 {
		return 0, argument("The value for 'for' is a duration such as 8h, not '%s'.", cut(text))
	}
	return d, nil
}

func (d *door) makeToken(c echo.Context) error {
	ring, err := d.ring()
	if err != nil {
		return err
	}
	var in NewToken
	if err := d.read(c, &in); err != nil {
		return err
	}
	w := keys.Wish{Name: in.Name}
	if w.Role, err = identity.ParseRole(in.Role); err != nil {
		return argument("The value for 'role' is viewer, operator or admin, not '%s'.", cut(in.Role))
	}
	if w.Namespace, err = d.namespaceOf(in.Namespace); err != nil {
		return err
	}
	if w.For, err = goodFor(in.For); err != nil {
		return err
	}
	k, secret, err := ring.MakeToken(c.Request().Context(), identity.Asking(c.Request()), client(c.Request()), w)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	out := presentToken(k)
	out.Secret = secret
	return reply(c, http.StatusCreated, out)
}

func (d *door) makeLink(c echo.Context) error {
	ring, err := d.ring()
	if err != nil {
		return err
	}
	var in NewLink
	if err := d.read(c, &in); err != nil {
		return err
	}
	w := keys.Wish{Name: in.Name, Page: in.Page}
	if w.Namespace, err = d.namespaceOf(in.Namespace); err != nil {
		return err
	}
	if w.Namespace == "" {
		w.Namespace = strings.ToLower(d.broker.Name())
	}
	if w.For, err = goodFor(in.For); err != nil {
		return err
	}
	k, at, err := ring.MakeLink(c.Request().Context(), identity.Asking(c.Request()), client(c.Request()), w)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	out := presentToken(k)
	out.URL = origin(c.Request()) + d.base + at
	return reply(c, http.StatusCreated, out)
}

// namespaceOf is the name of a namespace that there is, in lower case; empty for none.
func (d *door) namespaceOf(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	for _, n := range d.listed() {
		if strings.EqualFold(n.Name, name) {
			return strings.ToLower(name), nil
		}
	}
	return "", argument("There is no namespace '%s'.", cut(name))
}

// origin is how who asks reaches the server, as far as can be known.
func origin(r *http.Request) string {
	u := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil || strings.EqualFold(r.Header.Get(echo.HeaderXForwardedProto), "https") {
		u.Scheme = "https"
	}
	return u.String()
}

func (d *door) revokeToken(c echo.Context) error {
	ring, err := d.ring()
	if err != nil {
		return err
	}
	k, err := ring.Revoke(c.Request().Context(), identity.Asking(c.Request()), client(c.Request()), c.Param("id"))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return reply(c, http.StatusOK, presentToken(k))
}
