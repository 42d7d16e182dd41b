package server

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web"
)

// maxConcurrentDeletes is the number of entities that are deleted concurrently, in shared commits.
const maxConcurrentDeletes = 64

// A resetter returns a namespace to its initial state: empty, or as in --config. Entities are
// deleted with everything in them; the history, the namespace's keys and settings, and
// connections stay.
type resetter struct {
	server  *serverRun
	broker  *broker.Broker
	running chan struct{} // holds a token during a reset
}

// resetHandler returns the reset for the admin port, or nil unless --allow-reset is set.
func (p *serverRun) resetHandler(b *broker.Broker) func(context.Context, string) (web.Reset, error) {
	if !p.config.AllowReset {
		return nil
	}
	return (&resetter{server: p, broker: b, running: make(chan struct{}, 1)}).reset
}

// reset resets the namespace, and returns once that is durable. It first waits until no other
// reset is running. ctx ends only that wait, because half a reset is useless.
func (r *resetter) reset(ctx context.Context, actor string) (done web.Reset, err error) {
	select {
	case r.running <- struct{}{}:
		defer func() { <-r.running }()
	case <-ctx.Done():
		return done, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	had, err := r.entities(ctx)
	if err != nil {
		return done, err
	}
	var all errgroup.Group
	all.SetLimit(maxConcurrentDeletes)
	for _, s := range had {
		if s.Kind == engine.Subscription { // deleted with its topic
			continue
		}
		all.Go(func() error {
			err := r.broker.Delete(ctx, s.Path, broker.Unconfirmed, actor)
			if errors.Is(err, engine.ErrNotFound) { // deleted meanwhile
				err = nil
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return done, err
	}
	done.Deleted = len(had)
	if r.server.config.ConfigFile != "" {
		if err := applyDefinition(ctx, r.broker, r.server.definition, r.server.config.ConfigFile); err != nil {
			return done, err
		}
		had, err = r.entities(ctx)
		done.Created = len(had)
	}
	r.server.config.Logger.Info("the namespace was reset", "actor", actor, "deleted", done.Deleted, "created", done.Created)
	return done, err
}

func (r *resetter) entities(ctx context.Context) (all []engine.EntityState, err error) {
	err = r.broker.Read(ctx, func(look broker.Reader) error { all = look.States(0); return nil })
	return all, err
}
