package sas

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
)

// Why a client is not let in. The texts are those that SDKs know, and begin with
// them what they say more.
var (
	ErrExpired   = errors.New("ExpiredToken")
	ErrSignature = errors.New("InvalidSignature: The token has an invalid signature.") //nolint:revive,staticcheck // as clients read it
	ErrAudience  = errors.New("InvalidAudience: The token is for another audience.")   //nolint:revive,staticcheck // as clients read it
	ErrMissing   = errors.New("MissingToken: The security token is missing.")          //nolint:revive,staticcheck // as clients read it
	ErrRights    = errors.New("Unauthorized access.")                                  //nolint:revive,staticcheck // as clients read it
)

// Refused tells whether err is one of those above: the client has not shown that
// it may.
func Refused(err error) bool {
	for _, kind := range []error{ErrMalformed, ErrExpired, ErrSignature, ErrAudience, ErrMissing, ErrRights} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// Lacks tells whether err says that a client has shown who it is, and may not.
func Lacks(err error) bool { return errors.Is(err, ErrRights) }

// Lacking is how a client hears that it has shown a right to something else
// only.
func Lacking(want engine.Rights) error {
	return fmt.Errorf("%w '%s' claim(s) are required to perform this operation.", ErrRights, want) //nolint:revive,staticcheck // as clients read it
}

// Rules are those that decide about one path.
type Rules struct {
	Entity    []engine.AccessRule // of the entity, or a subscription's topic; they are looked at first
	Namespace []engine.AccessRule
}

// A Claim is what a client has shown of itself. The zero value shows nothing.
type Claim struct {
	token Token  // if there is no name
	name  string // of a rule
	key   string // of it
}

// OfToken is the claim of a token.
func OfToken(t Token) Claim { return Claim{token: t} }

// OfKey is the claim of somebody who has said a rule's key itself: it does not
// expire, and is good for all that the key is.
func OfKey(rule, key string) Claim { return Claim{name: rule, key: key} }

// Covers tells whether c is for a path, as PathOf has it.
func (c Claim) Covers(path string) bool { return c.name != "" || Covers(c.token.Audience(), path) }

// Expires is when c is no good any more; zero: never.
func (c Claim) Expires() time.Time {
	if c.name != "" {
		return time.Time{}
	}
	return c.token.Expires()
}

// Rights are what c allows at path at an instant by these rules, or why it allows
// nothing.
func (c Claim) Rights(path string, rules Rules, now time.Time) (engine.Rights, error) {
	if c.name == "" && c.token.name == "" {
		return 0, ErrMissing
	}
	rights, known := c.by(rules.Entity)
	if more, ok := c.by(rules.Namespace); ok {
		rights, known = rights|more, true
	}
	switch {
	case !known:
		return 0, ErrSignature
	case c.name == "" && c.token.Expired(now):
		return 0, OutOfTime(c.token.Expires(), now)
	case !c.Covers(path):
		return 0, ErrAudience
	}
	return rights, nil
}

// OutOfTime is how a client hears that the time of its token is over.
func OutOfTime(at, now time.Time) error {
	return fmt.Errorf("%w: The token is expired. Expiration time:%s, Current time:%s.", ErrExpired, stamp(at), stamp(now)) //nolint:revive,staticcheck // as clients read it
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// by is what one of these rules gives c, and whether one has a key for it. Names
// have no case, as they have none anywhere else.
func (c Claim) by(rules []engine.AccessRule) (rights engine.Rights, known bool) {
	name := c.name
	if name == "" {
		name = c.token.name
	}
	r, ok := engine.FindAccessRule(rules, name)
	if !ok {
		return 0, false
	}
	first, second := c.opens(r.PrimaryKey), c.opens(r.SecondaryKey) // both, whichever it is
	if !first && !second {
		return 0, false
	}
	return r.Rights, true
}

func (c Claim) opens(key string) bool {
	if c.name == "" {
		return c.token.SignedWith(key)
	}
	return key != "" && subtle.ConstantTimeCompare([]byte(c.key), []byte(key)) == 1
}

// Shown is the claim in an HTTP Authorization header. The errors are ErrMissing
// and ErrMalformed.
func Shown(header string) (Claim, error) {
	if strings.TrimSpace(header) == "" {
		return Claim{}, ErrMissing
	}
	t, err := Parse(header)
	return OfToken(t), err
}
