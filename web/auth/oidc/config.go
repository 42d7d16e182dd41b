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

	"mayfly/web/auth"
)

// A Config describes the provider and the roles of its users. Issuer, ClientID and Roles are
// required.
type Config struct {
	Issuer    string // URL, as the provider's document and tokens have it
	ClientID  string
	Secret    string   // of the client; empty if it is a public one
	Title     string   // the provider's name for people; zero means the issuer's host
	Scopes    []string // beside openid; zero means profile and email
	NameClaim string   // zero means the first of preferred_username, email and sub that exists
	RoleClaim string   // such as groups, or realm_access.roles; zero means roles
	Roles     []Rule   // a user whom no rule gives a role is refused
	// Base is the path that the dashboard is served under. Empty means the root.
	Base string
	// Insecure permits an issuer without TLS that is not on this machine.
	Insecure bool

	Transport http.RoundTripper // zero means http.DefaultTransport
	Logger    *slog.Logger      // zero means slog.Default
}

// A Rule gives a role to the users whose claim has a value.
type Rule struct {
	Value string // as in the token; * matches every user of the provider
	Role  auth.Role
}

// ParseRule reads VALUE=ROLE, such as mayfly-admins=admin or *=viewer.
func ParseRule(text string) (Rule, error) {
	i := strings.LastIndex(text, "=") // distinguished names contain =
	if i <= 0 {
		return Rule{}, fmt.Errorf("a role rule is VALUE=ROLE, such as mayfly-admins=admin or *=viewer, not %q", text)
	}
	role, err := auth.ParseRole(text[i+1:])
	return Rule{Value: text[:i], Role: role}, err
}

// complete fills in defaults and returns an error for missing or invalid fields.
func (c *Config) complete() error {
	switch {
	case c.Issuer == "":
		return errors.New("the issuer, the URL of the provider, is missing")
	case c.ClientID == "":
		return errors.New("the client ID, under which the provider has registered this server, is missing")
	case len(c.Roles) == 0:
		return errors.New("no claim value gives a role: add at least one rule, VALUE=ROLE")
	}
	u, err := url.Parse(c.Issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("the issuer must be a URL such as https://login.example.com, not %q", c.Issuer)
	}
	if u.Scheme == "http" && !c.Insecure && !isLoopback(u.Hostname()) {
		return fmt.Errorf("the issuer %s has no TLS: an attacker on the network could sign in as any user", c.Issuer)
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

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
