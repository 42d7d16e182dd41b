package sas

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
)

// Reasons to deny a client. The texts begin with those that SDKs recognise.
var (
	ErrExpired   = errors.New("ExpiredToken")
	ErrSignature = errors.New("InvalidSignature: The token has an invalid signature.") //nolint:revive,staticcheck // as clients read it
	ErrAudience  = errors.New("InvalidAudience: The token is for another audience.")   //nolint:revive,staticcheck // as clients read it
	ErrMissing   = errors.New("MissingToken: The security token is missing.")          //nolint:revive,staticcheck // as clients read it
	ErrRights    = errors.New("Unauthorized access.")                                  //nolint:revive,staticcheck // as clients read it
)

// IsRefused reports whether err is one of the errors above: the client is not authorized.
func IsRefused(err error) bool {
	for _, kind := range []error{ErrMalformed, ErrExpired, ErrSignature, ErrAudience, ErrMissing, ErrRights} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// LacksRight reports whether err means that the client is authenticated but lacks the right.
func LacksRight(err error) bool { return errors.Is(err, ErrRights) }

// MissingRight returns the error for a client whose rights do not include want.
func MissingRight(want engine.Rights) error {
	return fmt.Errorf("%w '%s' claim(s) are required to perform this operation.", ErrRights, want) //nolint:revive,staticcheck // as clients read it
}

// Rules are the access rules that apply to one path.
type Rules struct {
	Entity    []engine.AccessRule // of the entity, or of a subscription's topic; checked first
	Namespace []engine.AccessRule
}

// A Credential is the credential of a client. The zero value is none.
type Credential struct {
	token       Token  // used if name is empty
	audience    string // path of token's audience; valid if inNamespace is set
	inNamespace bool   // token's audience is in this namespace
	name        string // of a rule
	key         string // of that rule
}

// TokenCredential returns the credential of a client that sent t, in the namespace with these
// names.
func TokenCredential(t Token, in Names) Credential {
	c := Credential{token: t}
	c.audience, c.inNamespace = t.Audience(in)
	return c
}

// KeyCredential returns the credential of a client that sent a rule's name and key. It does not
// expire and has all rights of the rule.
func KeyCredential(rule, key string) Credential { return Credential{name: rule, key: key} }

// Covers reports whether c is valid for a path, which is in the form of PathOf.
func (c Credential) Covers(path string) bool {
	return c.name != "" || c.inNamespace && Covers(c.audience, path)
}

// Expires returns when c expires. Zero means never.
func (c Credential) Expires() time.Time {
	if c.name != "" {
		return time.Time{}
	}
	return c.token.Expires()
}

// Rights returns the rights that rules give c at path, or why there are none: ErrMissing,
// ErrSignature, ErrExpired or ErrAudience.
func (c Credential) Rights(path string, rules Rules, now time.Time) (engine.Rights, error) {
	if c.name == "" && c.token.name == "" {
		return 0, ErrMissing
	}
	rights, known := c.rightsFrom(rules.Entity)
	if more, ok := c.rightsFrom(rules.Namespace); ok {
		rights, known = rights|more, true
	}
	switch {
	case !known:
		return 0, ErrSignature
	case c.name == "" && c.token.Expired(now):
		return 0, ExpiredError(c.token.Expires(), now)
	case c.name == "" && !c.inNamespace:
		return 0, c.foreignError()
	case !c.Covers(path):
		return 0, ErrAudience
	}
	return rights, nil
}

// foreignError returns the error for a token whose host does not name this namespace.
func (c Credential) foreignError() error {
	host := c.token.Host()
	if len(host) > maxHost {
		host = strings.ToValidUTF8(host[:maxHost], "") + "…"
	}
	return fmt.Errorf("%w It is for the host '%s', which does not name this namespace. If it is a name of the server, add --allow-host.", ErrAudience, host) //nolint:revive,staticcheck // as clients read it
}

// maxHost is how many bytes of the host foreignError quotes.
const maxHost = 128

// ExpiredError returns the error for a token that expired at the time at.
func ExpiredError(at, now time.Time) error {
	return fmt.Errorf("%w: The token is expired. Expiration time:%s, Current time:%s.", ErrExpired, stamp(at), stamp(now)) //nolint:revive,staticcheck // as clients read it
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// rightsFrom returns the rights that the rule with c's name among rules gives c, and whether c is
// by one of its keys. Names are compared without case, as everywhere.
func (c Credential) rightsFrom(rules []engine.AccessRule) (rights engine.Rights, known bool) {
	name := c.name
	if name == "" {
		name = c.token.name
	}
	r, ok := engine.FindAccessRule(rules, name)
	if !ok {
		return 0, false
	}
	first, second := c.matchesKey(r.PrimaryKey), c.matchesKey(r.SecondaryKey) // both, so that the time does not depend on which key matches
	if !first && !second {
		return 0, false
	}
	return r.Rights, true
}

func (c Credential) matchesKey(key string) bool {
	if c.name == "" {
		return c.token.SignedWith(key)
	}
	return key != "" && subtle.ConstantTimeCompare([]byte(c.key), []byte(key)) == 1
}

// ParseHeader returns the credential in an HTTP Authorization header, in the namespace with these
// names. The errors are ErrMissing and ErrMalformed.
func ParseHeader(header string, in Names) (Credential, error) {
	if strings.TrimSpace(header) == "" {
		return Credential{}, ErrMissing
	}
	t, err := Parse(header)
	if err != nil {
		return Credential{}, err
	}
	return TokenCredential(t, in), nil
}
