package mongo

import (
	"context"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Clients are the driver's clients of one process: all that is opened by the same
// connection string has one, with its connections and what watches over the servers, and
// asks once for the indexes. The last that closes disconnects; what one waits for, or
// gives up, is no matter of the others, for the pool grows with what is under way unless
// the string bounds it. The zero value is ready. It is safe for concurrent use.
type Clients struct {
	mu  sync.Mutex
	all map[string]*pool // by connection string; guarded by mu
}

// A pool is one of them. Who has taken it gives it back.
type pool struct {
	*mongo.Client
	of  *Clients
	url string

	users int // guarded by of.mu

	turn    chan struct{} // holds one: who asks for the indexes
	indexed bool          // they were asked for; whoever has the turn owns it
}

// take is the client for a connection string, which is a; nobody need be there yet.
func (c *Clients) take(url string, a address) (*pool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.all[url]
	if is == nil {
		driver, err := mongo.Connect(a.options)
		if err != nil {
			return nil, trouble("the connection string for MongoDB cannot be used: "+a.redact(err.Error()), err)
		}
		is = &pool{Client: driver, of: c, url: url, turn: make(chan struct{}, 1)}
		if c.all == nil {
			c.all = map[string]*pool{}
		}
		c.all[url] = is
	}
	is.users++
	return is, nil
}

// giveBack disconnects if nobody else has the client. What is under way then fails. The
// driver waits for its own attempts to reach a server that does not answer, up to the
// time-out for connecting and whatever the context says. Once that has ended they are
// left to end by themselves.
func (p *pool) giveBack(ctx context.Context) error {
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

// index has ensure make the indexes, unless that was done for somebody else who has the
// client. Where it fails, or is interrupted, the next does it.
func (p *pool) index(ctx context.Context, ensure func(context.Context) error) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
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
