package oidc

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mayfly/web/identity"
)

// A Config is which provider, and who is what there. Issuer, ClientID and Roles are
// needed.
type Config struct {
	Issuer    string // URL, as the provider's document and tokens have it
	ClientID  string
	Secret    string   // of the client; empty: it is a public one
	Title     string   // what people know the provider by; zero: the issuer's host
	Scopes    []string // beside openid; zero: profile and email
	NameClaim string   // zero: the first of preferred_username, email and sub that there is
	RoleClaim string   // such as groups, or realm_access.roles; zero: roles
	Roles     []Rule   // who has none of them may not come in
	// Base is the path that the dashboard is served under. Empty: the root.
	Base string
	// Insecure permits an issuer without TLS that is not on this machine.
	Insecure bool

	Transport http.RoundTripper // zero: http.DefaultTransport
	Logger    *slog.Logger      // zero: slog.Default
}

// A Rule gives a role to those whose claim has a value.
type Rule struct {
	Value string // as the token has it; * is everybody who can sign in
	Role  identity.Role
}

// ParseRule reads VALUE=ROLE, such as mayfly-admins=admin or *=viewer.
func ParseRule(text string) (Rule, error) {
	i := strings.LastIndex(text, "=") // distinguished names have some
	if i <= 0 {
		return Rule{}, fmt.Errorf("a role is given as VALUE=ROLE, such as mayfly-admins=admin or *=viewer, not %q", text)
	}
	role, err := identity.ParseRole(text[i+1:])
	return Rule{Value: text[:i], Role: role}, err //nolint:wrapcheck // it says what it is about
}

// complete fills in defaults and says what is missing.
func (c *Config) complete() error {
	switch {
	case c.Issuer == "":
		return errors.New("there is no issuer, the URL of the provider")
	case c.ClientID == "":
		return errors.New("there is no client ID, by which the provider knows this server")
	case len(c.Roles) == 0:
		return errors.New("nobody has a role: say which values of which claim give one")
	}
	u, err := url.Parse(c.Issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("the issuer is a URL such as https://login.example.com, not %q", c.Issuer)
	}
	if u.Scheme == "http" && !c.Insecure && !loopback(u.Hostname()) {
		return fmt.Errorf("the issuer %s has no TLS: whoever is on the way can be anybody here", c.Issuer)
	}
	c.Title = cmp.Or(c.Title, u.Host)
	if c.Scopes == nil {
		c.Scopes = []string{"profile", "email"}
	}
	c.Scopes = append([]string{"openid"}, slices.DeleteFunc(slices.Clone(c.Scopes), func(s string) bool { return s == "openid" })...)
	c.RoleClaim = cmp.Or(c.RoleClaim, "roles")
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
