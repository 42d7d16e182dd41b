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

// The first and the longest pause after a failed attempt to open a store.
const (
	minRetry = 250 * time.Millisecond
	maxRetry = 4 * time.Second
)

// minServed is how long a namespace must have been served for its loss not to count as a sign that
// its lease is too short.
const minServed = time.Minute

// shutdownTimeout bounds how long a Keeper waits for the watchers of a namespace to end.
const shutdownTimeout = 10 * time.Second

// A Keeper makes this process own one namespace for as long as possible: it opens the broker,
// serves it, and opens it again when it has ended. Open and Protocols are required. Run must be
// called only once.
type Keeper struct {
	// Open returns the function that opens the store. If servers share the store, that function
	// waits while another server owns the namespace, and calls standby with the owner. lost is
	// how often the namespace was lost since it was last served for minServed.
	Open      func(standby func(engine.Owner), lost int) func(context.Context) (engine.Store, error)
	Broker    broker.Options
	Protocols Protocols
	// Shared means that another server may take over the namespace.
	Shared bool
	// RetryForever makes Run try again after any failure, and report it through Protocols. Otherwise
	// Run ends if the namespace cannot be opened the first time, and when the broker ends.
	RetryForever bool
	// OpenTimeout is how long Run retries at first if the store is unreachable.
	OpenTimeout time.Duration
	// OnShutdown, unless it is nil, is called when Run's context has ended and the watchers have
	// been notified. It returns once no request is running.
	OnShutdown func(context.Context) error
	Logger     *slog.Logger // zero means slog.Default

	lostCount int  // the argument lost of Open
	trying    bool // own retries after any failure
	waiting   NotServed
	leaving   sync.WaitGroup // watchers of brokers that have ended
}

// Protocols sets how requests for a namespace are answered. Its methods are called by one goroutine.
type Protocols interface {
	// Serve lets b answer requests from now on.
	Serve(ctx context.Context, b *broker.Broker) (ServeHandle, error)
	// StandBy answers requests with w from now on. Requests that are already running are still
	// answered by the former broker.
	StandBy(w NotServed)
}

// A ServeHandle controls the watchers of a broker while it is served.
type ServeHandle interface {
	// Shutdown notifies the watchers that the broker ends, and waits for them until ctx ends.
	Shutdown(ctx context.Context) error
	// Close ends the watchers. It is called after Shutdown, and when the server stops, after the
	// last request.
	Close()
}

// NotServed says why a namespace is not served here. Its zero value means that it is being opened.
type NotServed struct {
	Owner  engine.Owner // the owner; zero if none is known
	Reason string       // another reason, as a sentence
	Since  time.Time
}

// Run owns and serves the namespace until ctx ends or, unless RetryForever is set, until the
// namespace cannot be opened for the first time or the broker ends by itself. It returns nil if ctx
// has ended and the broker has stopped without an error.
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

// pause waits for d; ok is false if ctx ended first.
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

// own opens the broker, and waits while another server owns the namespace; meanwhile the protocols
// report that this server stands by. Once the protocols have stood by, or this server has owned the
// namespace, own retries after any failure and reports it; before that it retries only while the
// store is unreachable, for OpenTimeout.
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

// asSentence returns an error's text as a sentence.
func asSentence(err error) string {
	r, n := utf8.DecodeRuneInString(err.Error())
	return strings.ToUpper(string(r)) + err.Error()[n:] + "."
}

// try opens the broker once. It waits while another server owns the namespace.
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

// serve serves a broker until ctx or the broker ends, and closes it. fenced reports that another
// server may own the namespace, so that this one can stand by.
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
		if ctx.Err() != nil { // serving was cancelled before it began
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
	return false, errors.Join(err, k.close(b)) // after the protocols have ended, so that the operations that they accepted become durable
}

// end ends the watchers of a broker that has ended although the server goes on.
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

// close closes the broker. If servers share a store, it is no error that the namespace was lost.
func (k *Keeper) close(b *broker.Broker) error {
	if err := b.Close(); err != nil && !k.lostOwnership(b) {
		return fmt.Errorf("the broker did not stop cleanly: %w", err)
	}
	return nil
}

// standBy makes the protocols answer that this server does not serve the namespace: because `owner`
// owns it or, if owner is zero, for the reason `why`.
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
