package namespaces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// These are the first and the longest pause after a store could not be opened.
const (
	minRetry = 250 * time.Millisecond
	maxRetry = 4 * time.Second
)

// minServed is how long a namespace must be served before its loss does not count as a sign
// that its lease is too short.
const minServed = time.Minute

// shutdownTimeout bounds how long the end of a namespace waits for its watchers.
const shutdownTimeout = 10 * time.Second

// A Keeper makes this process own one namespace, for as long as it can: it opens the broker,
// serves it, and opens it again when it has ended. Open and Protocols are needed. Run is called
// once.
type Keeper struct {
	// Open returns the function that opens the store. Where servers share it, that takes as
	// long as another one owns the namespace, and calls standby with the owner. lost is how often
	// in a row the namespace was lost since it was served for minServed, or ever.
	Open      func(standby func(engine.Owner), lost int) func(context.Context) (engine.Store, error)
	Broker    broker.Options
	Protocols Protocols
	// Shared is set where another server may take the namespace over.
	Shared bool
	// RetryForever makes Run try again after any failure, and report it through Protocols. Otherwise
	// Run ends if the namespace cannot be opened the first time, and when the broker ends.
	RetryForever bool
	// OpenTimeout is how long an unreachable store is tried the first time.
	OpenTimeout time.Duration
	// OnShutdown, unless it is nil, is called when Run's context has ended and the watchers have
	// been notified, and returns once no request is left.
	OnShutdown func(context.Context) error
	Logger     *slog.Logger // zero means slog.Default

	lostCount int  // lost, of Open
	trying    bool // it tries to own the namespace for as long as it takes
	waiting   NotServed
	leaving   sync.WaitGroup // watchers of brokers that have ended
}

// Protocols set how requests for a namespace are answered. They are called by one goroutine.
type Protocols interface {
	// Serve lets b answer requests from now on. An error is why it cannot.
	Serve(ctx context.Context, b *broker.Broker) (ServeHandle, error)
	// StandBy answers requests with w from now on. Those under way are still the former
	// broker's to answer.
	StandBy(w NotServed)
}

// A ServeHandle controls the watchers of a broker while it is served.
type ServeHandle interface {
	// Shutdown notifies watchers of the end, and waits for them until ctx ends.
	Shutdown(ctx context.Context) error
	// Close ends the watchers. It is called after Shutdown, and after the last request where the
	// server serves requests to the end.
	Close()
}

// NotServed has the reason why a namespace is not served here. Its zero value means that it is
// about to be.
type NotServed struct {
	Owner  engine.Owner // the owner; zero if none is known
	Reason string       // another reason, as a sentence
	Since  time.Time
}

// Run keeps the namespace until ctx ends, and returns nil if it ended without failure.
func (k *Keeper) Run(ctx context.Context) error {
	k.Logger = cmp.Or(k.Logger, slog.Default())
	k.trying = k.trying || k.RetryForever
	defer k.leaving.Wait()
	for {
		b, err := k.own(ctx)
		if ctx.Err() != nil && b == nil {
			return nil
		}
		if err != nil {
			return err
		}
		fenced, err := k.serve(ctx, b)
		switch {
		case fenced:
			k.Logger.Warn("another server may own the namespace now", "namespace", b.Name())
		case !k.RetryForever || ctx.Err() != nil:
			return err
		default:
			k.Logger.Error("the namespace stopped; reopening it", "namespace", b.Name(), "err", err)
			k.standBy(engine.Owner{}, asSentence(err))
			if !k.pause(ctx, maxRetry) {
				return nil
			}
		}
	}
}

// pause waits; ok is false if ctx has ended.
func (k *Keeper) pause(ctx context.Context, d time.Duration) (ok bool) {
	again := time.NewTimer(d)
	defer again.Stop()
	select {
	case <-again.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// own opens the broker, however long another server owns the namespace: until then the
// protocols report that this server stands by. If the protocols stand by, or did, or this
// server owned the namespace, own tries again after any failure and reports it; before that it
// gives up when Wait is over.
func (k *Keeper) own(ctx context.Context) (*broker.Broker, error) {
	began, pause := time.Now(), minRetry
	for {
		b, err := k.try(ctx)
		if err == nil {
			return b, nil
		}
		if errors.Is(err, engine.ErrFenced) {
			k.lostCount++
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case k.trying, errors.Is(err, engine.ErrUnreachable) && time.Since(began) < k.OpenTimeout:
			k.standBy(engine.Owner{}, asSentence(err))
		default:
			return nil, err
		}
		k.Logger.Warn("the store cannot be opened; retrying", "namespace", k.Broker.Name, "err", err)
		if !k.pause(ctx, pause) {
			return nil, context.Cause(ctx)
		}
		pause = min(2*pause, maxRetry)
	}
}

// asSentence turns an error into a sentence.
func asSentence(err error) string {
	r, n := utf8.DecodeRuneInString(err.Error())
	return strings.ToUpper(string(r)) + err.Error()[n:] + "."
}

// try opens the broker once, which takes as long as another server owns the namespace.
func (k *Keeper) try(ctx context.Context) (*broker.Broker, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type opened struct {
		b   *broker.Broker
		err error
	}
	owners, ended := make(chan engine.Owner), make(chan opened, 1)
	go func() { // ends with ctx at the latest, and is waited for below
		b, err := broker.Open(ctx, k.Open(func(o engine.Owner) {
			select {
			case owners <- o:
			case <-ctx.Done():
			}
		}, k.lostCount), k.Broker)
		ended <- opened{b, err}
	}()
	for {
		select {
		case o := <-owners:
			k.trying = true
			k.standBy(o, "")
		case r := <-ended:
			return r.b, r.err
		}
	}
}

// serve serves a broker until ctx ends or the broker does, and closes it. fenced reports that
// the namespace was lost to another server, and that this one may stand by.
func (k *Keeper) serve(ctx context.Context, b *broker.Broker) (fenced bool, err error) {
	began := time.Now()
	defer func() {
		switch {
		case !fenced:
		case time.Since(began) < minServed:
			k.lostCount++
		default:
			k.lostCount = 0
		}
	}()
	served, err := k.Protocols.Serve(ctx, b)
	if err != nil {
		if k.lostOwnership(b) {
			return true, nil
		}
		if ctx.Err() != nil { // it was stopped before it began
			err = nil
		}
		return false, errors.Join(err, k.close(b))
	}
	k.waiting, k.trying = NotServed{}, k.Shared || k.RetryForever
	select {
	case <-b.Done():
		lost := k.lostOwnership(b)
		if !lost && !k.RetryForever {
			err = errors.New("the broker has stopped")
			break
		}
		why := ""
		if !lost {
			err = cmp.Or(b.Close(), errors.New("the broker has stopped"))
			why = asSentence(err)
		}
		k.standBy(engine.Owner{}, why)
		k.leaving.Go(func() { k.end(context.WithoutCancel(ctx), served) })
		return lost, err
	case <-ctx.Done():
		k.Logger.Info("the namespace is stopping", "namespace", b.Name(), "reason", context.Cause(ctx))
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err = errors.Join(err, served.Shutdown(stopping))
	if k.OnShutdown != nil {
		err = errors.Join(err, k.OnShutdown(ctx))
	}
	served.Close()
	return false, errors.Join(err, k.close(b)) // after the protocols: operations they let in become durable
}

// end ends what followed a broker that has ended before its server.
func (k *Keeper) end(ctx context.Context, served ServeHandle) {
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if err := served.Shutdown(ctx); err != nil {
		k.Logger.Warn("open pages were not notified that the broker has stopped", "err", err)
	}
	served.Close()
}

// lostOwnership reports whether a broker has ended because another server may own the namespace. It
// closes a broker that has not ended.
func (k *Keeper) lostOwnership(b *broker.Broker) bool {
	return k.Shared && errors.Is(b.Close(), engine.ErrFenced)
}

// close closes the broker. Losing the namespace meanwhile is no failure where servers share a
// store.
func (k *Keeper) close(b *broker.Broker) error {
	if err := b.Close(); err != nil && !k.lostOwnership(b) {
		return fmt.Errorf("the broker did not stop cleanly: %w", err)
	}
	return nil
}

// standBy makes the protocols report which server owns the namespace, or why no server can serve
// it.
func (k *Keeper) standBy(owner engine.Owner, why string) {
	if k.waiting.Since.IsZero() {
		k.waiting.Since = time.Now()
	}
	k.waiting.Owner, k.waiting.Reason = owner, why
	k.Protocols.StandBy(k.waiting)
	if owner != (engine.Owner{}) {
		k.Logger.Info("another server owns the namespace; standing by", "namespace", k.Broker.Name, "owner", owner.Dashboard, "host", owner.Host, "epoch", owner.Epoch)
	}
}
