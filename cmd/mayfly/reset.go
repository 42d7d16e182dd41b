package main

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web"
)

// atOnce is how many entities are deleted side by side, in commits that they
// share.
const atOnce = 64

// A resetter takes a namespace back to where it began: to nothing, or to what
// --config says. Everything that an entity has goes with it; the history, the
// namespace's keys and settings, and whoever is connected stay.
type resetter struct {
	p    *program
	b    *broker.Broker
	turn chan struct{} // holds a token while somebody resets
}

// resetting is what the door may do; nil unless that was asked for.
func (p *program) resetting(b *broker.Broker) func(context.Context, string) (web.Reset, error) {
	if !p.c.AllowReset {
		return nil
	}
	return (&resetter{p: p, b: b, turn: make(chan struct{}, 1)}).reset
}

// reset returns when all is durable. Only ctx of one that waits for another's
// reset ends it: half a reset would help nobody.
func (r *resetter) reset(ctx context.Context, actor string) (done web.Reset, err error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return done, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	had, err := r.entities(ctx)
	if err != nil {
		return done, err
	}
	var all errgroup.Group
	all.SetLimit(atOnce)
	for _, s := range had {
		if s.Kind == engine.Subscription { // it goes with its topic
			continue
		}
		all.Go(func() error {
			err := r.b.Delete(ctx, s.Path, broker.Unasked, actor)
			if errors.Is(err, engine.ErrNotFound) { // somebody else was quicker
				err = nil
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return done, err //nolint:wrapcheck // the engine says what of
	}
	done.Deleted = len(had)
	if r.p.c.Definition != "" {
		if err := apply(ctx, r.b, r.p.want, r.p.c.Definition); err != nil {
			return done, err
		}
		had, err = r.entities(ctx)
		done.Created = len(had)
	}
	r.p.c.Logger.Info("the namespace was reset", "by", actor, "deleted", done.Deleted, "created", done.Created)
	return done, err
}

func (r *resetter) entities(ctx context.Context) (all []engine.EntityState, err error) {
	err = r.b.Read(ctx, func(look broker.Reader) error { all = look.States(0); return nil })
	return all, err
}
