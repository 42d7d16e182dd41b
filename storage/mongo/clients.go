package mongo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Clients are the driver's clients of one process. Users of the same connection string share
// one client, with its connections and its monitoring of the servers, and the indexes are
// requested once. The last user that closes disconnects. A user that waits for an answer or
// gives up does not affect the others, because the pool grows with the requests under way unless
// the string limits it. The zero value is ready. It is safe for concurrent use.
type Clients struct {
	mu  sync.Mutex
	all map[string]*sharedClient // by connection string; guarded by mu
}

// A sharedClient is the client of one connection string. Each take needs a release.
type sharedClient struct {
	*mongo.Client
	of  *Clients
	url string

	users int // guarded by of.mu

	indexLock chan struct{} // a mutex that can be awaited with a context: held while requesting the indexes
	indexed   bool          // the indexes were requested; guarded by indexLock

	failures failures
}

// failures holds the error of the last failed check of each server, without cancelled checks: the
// driver sometimes cancels its own check of a server, and until the next check it then reports
// only the cancellation. It is safe for concurrent use.
type failures struct {
	mu       sync.Mutex
	byServer map[string]error // by address; guarded by mu
}

// checkFailed records why a check failed.
func (f *failures) checkFailed(e *event.ServerHeartbeatFailedEvent) {
	if errors.Is(e.Failure, context.Canceled) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byServer == nil {
		f.byServer = map[string]error{}
	}
	f.byServer[serverOf(e.ConnectionID)] = e.Failure
}

// checkSucceeded forgets the error of a server that answers again.
func (f *failures) checkSucceeded(e *event.ServerHeartbeatSucceededEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byServer, serverOf(e.ConnectionID))
}

// serverOf returns the server's address in the driver's name of a connection: "h:27017[-3]".
func serverOf(connection string) string {
	address, _, _ := strings.Cut(connection, "[-")
	return address
}

// cause returns why the server at address cannot be reached. That is err, unless err is a
// cancelled check and an earlier check failed for another reason.
func (f *failures) cause(address string, err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.byServer[address]; known != nil {
		return known
	}
	return err
}

// take returns the client for the connection string url, from which a was parsed, and counts one
// more user. No server need be reachable yet.
func (c *Clients) take(url string, a connString) (*sharedClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.all[url]
	if is == nil {
		is = &sharedClient{of: c, url: url, indexLock: make(chan struct{}, 1)}
		var err error
		is.Client, err = mongo.Connect(a.options, options.Client().SetServerMonitor(&event.ServerMonitor{
			ServerHeartbeatFailed:    is.failures.checkFailed,
			ServerHeartbeatSucceeded: is.failures.checkSucceeded,
		}))
		if err != nil {
			return nil, newConnectError("the connection string for MongoDB cannot be used: "+a.redact(err.Error()), err)
		}
		if c.all == nil {
			c.all = map[string]*sharedClient{}
		}
		c.all[url] = is
	}
	is.users++
	return is, nil
}

// release disconnects if this was the last user. Requests under way then fail. The driver
// waits for its own attempts to reach a server that does not answer, up to the connection
// time-out, even if ctx has ended. When ctx ends, release returns and lets them end by
// themselves.
func (p *sharedClient) release(ctx context.Context) error {
	p.of.mu.Lock()
	p.users--
	last := p.users == 0
	if last {
		delete(p.of.all, p.url)
	}
	p.of.mu.Unlock()
	if !last {
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- p.Disconnect(ctx) }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("disconnect from MongoDB: %w", err)
		}
	case <-ctx.Done():
	}
	return nil
}

// index calls ensure to create the indexes, unless another user of the client has done so. If
// ensure fails or is interrupted, the next call tries again.
func (p *sharedClient) index(ctx context.Context, ensure func(context.Context) error) error {
	select {
	case p.indexLock <- struct{}{}:
		defer func() { <-p.indexLock }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.indexed {
		return nil
	}
	err := ensure(ctx)
	p.indexed = err == nil
	return err
}
