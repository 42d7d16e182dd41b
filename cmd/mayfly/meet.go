package main

import (
	"context"
	"sync"
	"time"

	"mayfly/engine/fleet"
	"mayfly/web/relay"
)

// meetAgain is how long it takes until a store is asked again that did not say what its
// servers know.
const meetAgain = time.Second

// meet has the server know what servers on its store know, as soon as that says it: how
// they pass on to each other, and how forms are signed and sign-ins are sealed, which are
// good at all of them then. It waits for nothing; what it returns is to be waited for once
// ctx has ended.
func (p *program) meet(ctx context.Context, c fleet.Catalogue) *sync.WaitGroup {
	var all sync.WaitGroup
	store, shared := c.(interface {
		Secret(ctx context.Context) ([32]byte, error)
	})
	if !shared {
		return &all
	}
	all.Go(func() {
		for told := false; ; {
			secret, err := store.Secret(ctx)
			if err == nil {
				p.forms.Share(relay.Secret(secret).For("forms"))
				if p.people.provider != nil {
					p.people.provider.Share(relay.Secret(secret).For("openid"))
				}
				err = p.relay.Know(secret)
			}
			if err == nil || ctx.Err() != nil {
				return
			}
			if !told {
				p.c.Logger.Warn("nothing is passed on to other servers yet; that is tried again", "err", err)
				told = true
			}
			select {
			case <-time.After(meetAgain):
			case <-ctx.Done():
				return
			}
		}
	})
	return &all
}
