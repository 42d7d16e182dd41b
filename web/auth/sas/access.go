package sas

import (
	"context"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// A Policy is how clients without sufficient rights are treated.
type Policy uint8

// The policies.
const (
	Accept  Policy = iota // every client may do everything, whatever its token
	Enforce               // requests that the token does not allow are denied
)

// Policies returns the names of policies in flags, the default first.
func Policies() []string { return []string{"accept", "enforce"} }

func (p Policy) String() string { return Policies()[p] }

// An Access holds the rules that decide about access to one path.
type Access struct {
	Path   string // in the form of PathOf
	Rules  Rules
	Exists bool // the entity exists; true for the namespace itself
	Now    time.Time
}

// LookUpAccess returns the Access of path, which is in the form of PathOf. The entity's rules are
// those of the nearest entity at path or above it.
func LookUpAccess(ctx context.Context, b *broker.Broker, path string) (p Access, err error) {
	err = b.Read(ctx, func(r broker.Reader) error {
		p = Access{Path: path, Now: r.Now.Time(), Rules: Rules{Namespace: r.AccessRules()}}
		entity := entityOf(path)
		p.Exists = entity == ""
		for at := entity; at != ""; at = parentPath(at) {
			rules, there := r.EntityAccessRules(engine.Path(at))
			if p.Exists = p.Exists || there && at == entity; there {
				p.Rules.Entity = rules
				break
			}
		}
		return nil
	})
	return p, err
}

// LookUpEntityAccess returns the Access of path for a request that concerns `entity`, or the namespace
// if that is empty. Rules and Exists are those of the entity, or of its topic if it is a subscription,
// even if another entity is nearer to path.
func LookUpEntityAccess(ctx context.Context, b *broker.Broker, entity engine.Path, path string) (p Access, err error) {
	if topic, _, ok := entity.Subscription(); ok {
		entity = engine.Path(topic)
	}
	err = b.Read(ctx, func(r broker.Reader) error {
		p = Access{Path: path, Now: r.Now.Time(), Rules: Rules{Namespace: r.AccessRules()}}
		p.Rules.Entity, p.Exists = r.EntityAccessRules(entity)
		p.Exists = p.Exists || entity == ""
		return nil
	})
	return p, err
}

// parentPath returns path without its last segment.
func parentPath(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '/'))]
}

// entityOf returns the entity that path belongs to. Subqueues belong to their entity. A
// path that begins with a dollar sign, such as the coordinator of transactions, belongs
// to the namespace.
func entityOf(path string) string {
	for _, queue := range []string{"/$transfer/$deadletterqueue", "/$deadletterqueue"} {
		path = strings.TrimSuffix(path, queue)
	}
	if strings.HasPrefix(path, "$") {
		return ""
	}
	return path
}

// Allow returns nil if c has the rights `want` at p. Otherwise it returns an error for which IsRefused
// is true.
func (p Access) Allow(c Credential, want engine.Rights) error {
	has, err := c.Rights(p.Path, p.Rules, p.Now)
	if err == nil && !has.Has(want) {
		err = MissingRight(want)
	}
	return err
}
