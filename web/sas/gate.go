package sas

import (
	"context"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// A Policy says what becomes of those who have not shown that they may.
type Policy uint8

// The policies.
const (
	Accept  Policy = iota // everybody may do everything, whatever the token
	Enforce               // what a token does not allow is refused
)

// Policies are the names of policies as flags have them, the default first.
func Policies() []string { return []string{"accept", "enforce"} }

func (p Policy) String() string { return Policies()[p] }

// A Place is what decides about one path.
type Place struct {
	Path  string // as PathOf has it
	Rules Rules
	There bool // there is such an entity; true of the namespace itself
	Now   time.Time
}

// Look finds what decides about a path, as PathOf has it. Rules are those of the
// nearest entity at it or above.
func Look(ctx context.Context, b *broker.Broker, path string) (p Place, err error) {
	err = b.Read(ctx, func(r broker.Reader) error {
		p = Place{Path: path, Now: r.Now.Time(), Rules: Rules{Namespace: r.AccessRules()}}
		entity := entityOf(path)
		p.There = entity == ""
		for at := entity; at != ""; at = above(at) {
			rules, there := r.AccessAt(engine.Path(at))
			if p.There = p.There || there && at == entity; there {
				p.Rules.Entity = rules
				break
			}
		}
		return nil
	})
	return p, err
}

// LookOf is Look for a request about an entity, or about the namespace if that is
// empty: whatever else stands at the request's path or above it, the rules are
// those of the entity, or of a subscription's topic. There tells of that one.
func LookOf(ctx context.Context, b *broker.Broker, entity engine.Path, path string) (p Place, err error) {
	if topic, _, ok := entity.Subscription(); ok {
		entity = engine.Path(topic)
	}
	err = b.Read(ctx, func(r broker.Reader) error {
		p = Place{Path: path, Now: r.Now.Time(), Rules: Rules{Namespace: r.AccessRules()}}
		p.Rules.Entity, p.There = r.AccessAt(entity)
		p.There = p.There || entity == ""
		return nil
	})
	return p, err
}

// above is a path without its last segment.
func above(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '/'))]
}

// entityOf is the entity that a path is of: sub-queues are their entity's, and
// what begins with a dollar sign is the namespace's, as the coordinator of
// transactions is.
func entityOf(path string) string {
	for _, queue := range []string{"/$transfer/$deadletterqueue", "/$deadletterqueue"} {
		path = strings.TrimSuffix(path, queue)
	}
	if strings.HasPrefix(path, "$") {
		return ""
	}
	return path
}

// Allow tells whether c has a right at a place, or why not.
func (p Place) Allow(c Claim, want engine.Rights) error {
	has, err := c.Rights(p.Path, p.Rules, p.Now)
	if err == nil && !has.Has(want) {
		err = Lacking(want)
	}
	return err
}
