package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/web/auth"
	"mayfly/web/auth/token"
	"mayfly/web/proxy"
)

// Tokens is the answer of GET /tokens.
type Tokens struct {
	Tokens []Token `json:"tokens"` // the latest first
}

// Token is a token or a read-only link, without its secret.
type Token struct {
	ID          string    `json:"id"`   // identifies it in requests
	Kind        string    `json:"kind"` // token or link
	Name        string    `json:"name"`
	Role        string    `json:"role"`                // viewer, operator or admin
	Namespace   string    `json:"namespace,omitempty"` // the only one that it is valid for; missing means all
	Page        string    `json:"page,omitempty"`      // the page that a link opens
	State       string    `json:"state"`               // active or expired
	CreatedBy   string    `json:"createdBy,omitempty"` // the user who made it; missing if the server was open to everybody
	CreatedAt   time.Time `json:"createdAt"`
	ExpiresAt   time.Time `json:"expiresAt,omitzero"`    // when it expires; missing if it does not
	LastUsedAt  time.Time `json:"lastUsedAt,omitzero"`   // when it was last used, to the minute; missing if never
	CreatedWith string    `json:"createdWith,omitempty"` // the id of the token that it was made with; it ends when that token ends
	Secret      string    `json:"secret,omitempty"`      // for a token, only in the answer that made it: the value after Bearer
	URL         string    `json:"url,omitempty"`         // for a link, only in the answer that made it: its address
}

// NewToken is the request of POST /tokens.
type NewToken struct {
	Name      string `json:"name"`                // 1 to 100 characters
	Role      string `json:"role"`                // viewer, operator or admin, up to the caller's own
	Namespace string `json:"namespace,omitempty"` // the only one that it is valid for; missing means all
	ExpiresIn string `json:"expiresIn,omitempty"` // how long it is valid, such as 90d; missing means until it is revoked
}

// NewLink is the request of POST /links.
type NewLink struct {
	Name      string `json:"name"`                // 1 to 100 characters
	Namespace string `json:"namespace,omitempty"` // the namespace that it shows; missing means that of the address
	Page      string `json:"page,omitempty"`      // the page that it opens, such as /n/shop/queues; missing means the overview
	ExpiresIn string `json:"expiresIn,omitempty"` // how long it is valid, such as 2h, up to 30d; missing means 8h
}

func tokenRoutes() []route {
	return []route{
		{
			method: "GET", path: "/tokens", id: "listTokens", role: auth.Viewer, group: groupTokens, summary: "List tokens and read-only links, the latest first",
			description: "Admins see all tokens and links, other users their own.",
			response:    Tokens{}, problems: []string{"NotSupported"}, handle: (*handler).tokens,
		},
		{
			method: "POST", path: "/tokens", id: "createToken", role: auth.Viewer, group: groupTokens, summary: "Create a token for a program",
			exampleBody: `{"name":"ci","role":"operator","expiresIn":"90d"}`,
			description: "The secret is only in this answer. A token created with another token ends with it.",
			request:     NewToken{}, status: http.StatusCreated, response: Token{}, problems: []string{"InvalidOperation", "QuotaExceeded", "NotSupported"}, handle: (*handler).createToken,
		},
		{
			method: "POST", path: "/links", id: "createLink", role: auth.Operator, group: groupTokens, summary: "Create a read-only link",
			exampleBody: `{"name":"monday's demo","page":"/n/default/queues","expiresIn":"2h"}`,
			description: "A viewer with the link can see one namespace and change nothing. The URL is only in this answer.",
			request:     NewLink{}, status: http.StatusCreated, response: Token{}, problems: []string{"InvalidOperation", "QuotaExceeded", "NotSupported"}, handle: (*handler).createLink,
		},
		{
			method: "DELETE", path: "/tokens/{id}", id: "revokeToken", role: auth.Viewer, group: groupTokens, summary: "Revoke a token or a link",
			exampleParam: "abcdefghij", nameMeaning: "The ID of a token or link.",
			description: "The token or link, everything created with it, and their sessions end at once.",
			response:    Token{}, problems: []string{"TokenNotFound", "NotSupported"}, handle: (*handler).revokeToken,
		},
	}
}

func presentToken(k token.Key) Token {
	return Token{
		ID: k.ID, Kind: k.Kind.String(), Name: k.Name, Role: k.Role.String(), Namespace: k.Namespace, Page: k.Page, State: k.State(time.Now()),
		CreatedBy: k.MadeBy, CreatedAt: k.Made, ExpiresAt: k.Expires, LastUsedAt: k.LastUsed, CreatedWith: k.Parent,
	}
}

// registry returns the server's tokens, or an error if it has none.
func (d *handler) registry() (*token.Registry, error) {
	if d.tokenRegistry == nil {
		return nil, engine.Refuse(engine.ErrNotImplemented, "This server keeps no tokens.")
	}
	return d.tokenRegistry, nil
}

func (d *handler) tokens(c echo.Context) error {
	registry, err := d.registry()
	if err != nil {
		return err
	}
	all, err := registry.List(auth.FromRequest(c.Request()))
	if err != nil {
		return err
	}
	out := Tokens{Tokens: []Token{}}
	for _, k := range all {
		out.Tokens = append(out.Tokens, presentToken(k))
	}
	return reply(c, http.StatusOK, out)
}

// parseLifetime parses a lifetime, which must be positive. It returns zero for an empty `text`.
func parseLifetime(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, never, err := engine.ParseDuration(text)
	if err != nil || never || d <= 0 {
		return 0, engine.Refuse(engine.ErrArgument, "The value for 'expiresIn' must be a duration such as 8h, not '%s'.", shorten.Quote(text))
	}
	return d, nil
}

func (d *handler) createToken(c echo.Context) error {
	registry, err := d.registry()
	if err != nil {
		return err
	}
	var in NewToken
	if err := d.read(c, &in); err != nil {
		return err
	}
	w := token.Request{Name: in.Name}
	if w.Role, err = auth.ParseRole(in.Role); err != nil {
		return engine.Refuse(engine.ErrArgument, "The value for 'role' must be viewer, operator or admin, not '%s'.", shorten.Quote(in.Role))
	}
	if w.Namespace, err = d.namespaceOf(in.Namespace); err != nil {
		return err
	}
	if w.Lifetime, err = parseLifetime(in.ExpiresIn); err != nil {
		return err
	}
	k, secret, err := registry.CreateToken(c.Request().Context(), auth.FromRequest(c.Request()), client(c.Request()), w)
	if err != nil {
		return err
	}
	out := presentToken(k)
	out.Secret = secret
	return reply(c, http.StatusCreated, out)
}

func (d *handler) createLink(c echo.Context) error {
	registry, err := d.registry()
	if err != nil {
		return err
	}
	var in NewLink
	if err := d.read(c, &in); err != nil {
		return err
	}
	w := token.Request{Name: in.Name, Page: in.Page}
	if w.Namespace, err = d.namespaceOf(in.Namespace); err != nil {
		return err
	}
	if w.Namespace == "" {
		w.Namespace = strings.ToLower(d.broker.Name())
	}
	if w.Lifetime, err = parseLifetime(in.ExpiresIn); err != nil {
		return err
	}
	k, at, err := registry.CreateLink(c.Request().Context(), auth.FromRequest(c.Request()), client(c.Request()), w)
	if err != nil {
		return err
	}
	out := presentToken(k)
	out.URL = proxy.Origin(c.Request()) + d.base + at
	return reply(c, http.StatusCreated, out)
}

// namespaceOf returns the name of an existing namespace, in lower case, or "" for "".
func (d *handler) namespaceOf(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	for _, n := range d.allNamespaces() {
		if strings.EqualFold(n.Name, name) {
			return strings.ToLower(name), nil
		}
	}
	return "", engine.Refuse(engine.ErrArgument, "The namespace '%s' does not exist.", shorten.Quote(name))
}

func (d *handler) revokeToken(c echo.Context) error {
	registry, err := d.registry()
	if err != nil {
		return err
	}
	k, err := registry.Revoke(c.Request().Context(), auth.FromRequest(c.Request()), client(c.Request()), c.Param("id"))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentToken(k))
}
