package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/auth/sas"
)

// sasKeyActor is the actor of changes to access rules by --sas-key.
const sasKeyActor = "--sas-key"

// authenticates reports whether a port authenticates its clients: the dashboard by sign-in, the
// port for other servers by the shared secret, and the others by SAS tokens.
func (c *Config) authenticates(flag string) bool {
	switch flag {
	case "--http":
		return c.Auth != "" || c.OIDC != nil
	case "--peer":
		return true
	default:
		return c.SAS == sas.Enforce
	}
}

// parseSASPolicy parses --sas.
func parseSASPolicy(name string) (sas.Policy, error) {
	for p := range sas.Policies() {
		if sas.Policy(p).String() == name {
			return sas.Policy(p), nil
		}
	}
	return 0, fmt.Errorf("--sas must be %s, not %q", strings.Join(sas.Policies(), " or "), name)
}

// parseSASKeys parses --sas-key flags. Its errors contain no keys.
func parseSASKeys(given []string) (rules []engine.AccessRule, err error) {
	for _, g := range given {
		name, rest, named := strings.Cut(strings.TrimSpace(g), "=")
		at := strings.LastIndexByte(rest, ':')
		if !named || name == "" || at <= 0 {
			return nil, errors.New("--sas-key must be NAME=KEY:RIGHTS, such as ci=c2VjcmV0:Send,Listen")
		}
		rights, err := engine.ParseRights(strings.Split(rest[at+1:], ","))
		if err != nil {
			return nil, fmt.Errorf("--sas-key %s=…: %w", name, err)
		}
		if _, twice := engine.FindAccessRule(rules, name); twice {
			return nil, fmt.Errorf("--sas-key names %s twice", name)
		}
		rules = append(rules, engine.AccessRule{Name: name, PrimaryKey: rest[:at], Rights: rights})
	}
	return rules, nil
}

// ensureAccessRules ensures that the namespace has its root rule and the rules of the flags. It
// does not write rules that exist already with the same key and rights.
func ensureAccessRules(ctx context.Context, b *broker.Broker, want []engine.AccessRule) error {
	for _, r := range want {
		rules, err := b.AccessRules(ctx)
		if err != nil {
			return err
		}
		if is, ok := engine.FindAccessRule(rules, r.Name); ok && is.PrimaryKey == r.PrimaryKey && is.Rights == r.Rights {
			continue
		}
		if _, err := b.SetAccessRule(ctx, "", r, sasKeyActor); err != nil {
			return fmt.Errorf("--sas-key %s=…: %w", r.Name, err)
		}
	}
	return b.EnsureRootAccessRule(ctx)
}
