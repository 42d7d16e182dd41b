package server

import (
	"context"
	"sync"
	"time"

	"mayfly/engine/namespaces"
	"mayfly/web/cluster"
)

// secretRetryDelay is the delay between two attempts to read the shared secret.
const secretRetryDelay = time.Second

// shareSecret reads the secret that servers on one store share, and retries until it succeeds or ctx
// ends. Afterwards the servers can forward requests to each other and accept each other's forms and
// sign-ins. It does not block; the caller waits for the returned group after ctx has ended.
func (p *serverRun) shareSecret(ctx context.Context, c namespaces.Catalogue) *sync.WaitGroup {
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
				p.forms.ShareKey(cluster.Secret(secret).Key("forms"))
				if p.authentication.provider != nil {
					p.authentication.provider.ShareKey(cluster.Secret(secret).Key("openid"))
				}
				err = p.cluster.SetSecret(secret)
			}
			if err == nil || ctx.Err() != nil {
				return
			}
			if !told {
				p.config.Logger.Warn("requests cannot be forwarded to other servers yet; retrying", "err", err)
				told = true
			}
			select {
			case <-time.After(secretRetryDelay):
			case <-ctx.Done():
				return
			}
		}
	})
	return &all
}
