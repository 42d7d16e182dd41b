package fleet

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

// How long a store that cannot be opened is left alone, at first and at most.
const (
	tryAgainAfter  = 250 * time.Millisecond
	tryAgainAtMost = 4 * time.Second
)

// soonLost is how long a namespace is served that was not lost too soon to say that
// its lease is long enough.
const soonLost = time.Minute

// leavePatience bounds how long those who watch a namespace are waited for at
// its end.
const leavePatience = 10 * time.Second

// A Keeper has this process own one namespace, for as long as it can: it opens
// the broker, has it served, and opens it again when it has ended. Open and
// Doors are needed. Run is called once.
type Keeper struct {
	// Open gives what opens the store. Where servers share it, that takes as long
	// as another one owns the namespace, and standby hears of who does. lost is how often
	// in a row the namespace was lost since it was served for soonLost, or ever.
	Open   func(standby func(engine.Owner), lost int) func(context.Context) (engine.Store, error)
	Broker broker.Options
	Doors  Doors
	// Shared is set where another server may take the namespace over.
	Shared bool
	// Lasting is set to go on whatever is wrong, and to say so. Otherwise what
	// keeps the namespace from being opened the first time ends Run, and so does
	// the broker's end.
	Lasting bool
	// Wait is for how long a store that cannot be reached is tried, the first time.
	Wait time.Duration
	// Shut, if there is one, is called when Run's context has ended and those who
	// watch have been told, and returns once no request is left.
	Shut   func(context.Context) error
	Logger *slog.Logger // zero: slog.Default

	gone    int  // lost, of Open
	trying  bool // it goes on trying to own the namespace, for as long as it takes
	waiting Waiting
	leaving sync.WaitGroup // what followed brokers that have ended
}

// Doors are told what to answer for a namespace. They are called by one
// goroutine.
type Doors interface {
	// Serve has requests answered by b from now on. An error says why they cannot
	// be.
	Serve(ctx context.Context, b *broker.Broker) (Served, error)
	// StandBy has them answered by why nobody serves them here, from now on. Those
	// under way are still the former broker's to answer.
	StandBy(w Waiting)
}

// Served is what follows a broker while it is served.
type Served interface {
	// Leave tells who watches that it is over, and waits for them until ctx ends.
	Leave(ctx context.Context) error
	// Close ends what follows the broker. It comes after Leave, and after the last
	// request where the server goes on to the end.
	Close()
}

// Waiting is why a namespace is not served here. Its zero value says that it is
// about to be.
type Waiting struct {
	Owner engine.Owner // who owns it; zero: nobody is known to
	Why   string       // what else is the matter, in a sentence
	Since time.Time
}

// Run keeps the namespace until ctx ends, and returns nil then if all ended well.
func (k *Keeper) Run(ctx context.Context) error {
	k.Logger = cmp.Or(k.Logger, slog.Default())
	k.trying = k.trying || k.Lasting
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
		case !k.Lasting || ctx.Err() != nil:
			return err
		default:
			k.Logger.Error("the namespace ended; opening it again", "namespace", b.Name(), "err", err)
			k.standBy(engine.Owner{}, sentence(err))
			if !k.pause(ctx, tryAgainAtMost) {
				return nil
			}
		}
	}
}

// pause waits; not ok: ctx has ended.
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

// own opens the broker, however long another server owns the namespace: until
// then the doors say that this one stands by. Once they do, or did, or the
// namespace was this server's, it goes on trying whatever is wrong, and says
// so; before that it gives up when Wait is over.
func (k *Keeper) own(ctx context.Context) (*broker.Broker, error) {
	began, pause := time.Now(), tryAgainAfter
	for {
		b, err := k.try(ctx)
		if err == nil {
			return b, nil
		}
		if errors.Is(err, engine.ErrFenced) {
			k.gone++
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case k.trying, errors.Is(err, engine.ErrUnreachable) && time.Since(began) < k.Wait:
			k.standBy(engine.Owner{}, sentence(err))
		default:
			return nil, err
		}
		k.Logger.Warn("the store cannot be opened; trying again", "namespace", k.Broker.Name, "err", err)
		if !k.pause(ctx, pause) {
			return nil, context.Cause(ctx)
		}
		pause = min(2*pause, tryAgainAtMost)
	}
}

// sentence gives an error the looks of one.
func sentence(err error) string {
	r, n := utf8.DecodeRuneInString(err.Error())
	return strings.ToUpper(string(r)) + err.Error()[n:] + "."
}

// try opens the broker once, which takes as long as another server owns the
// namespace.
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
		}, k.gone), k.Broker)
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

// serve serves a broker until ctx ends or the broker does, and closes it. fenced
// tells that the namespace was lost to another server, and that this one may
// stand by.
func (k *Keeper) serve(ctx context.Context, b *broker.Broker) (fenced bool, err error) {
	began := time.Now()
	defer func() {
		switch {
		case !fenced:
		case time.Since(began) < soonLost:
			k.gone++
		default:
			k.gone = 0
		}
	}()
	served, err := k.Doors.Serve(ctx, b)
	if err != nil {
		if k.lost(b) {
			return true, nil
		}
		if ctx.Err() != nil { // it was stopped before it began
			err = nil
		}
		return false, errors.Join(err, k.close(b))
	}
	k.waiting, k.trying = Waiting{}, k.Shared || k.Lasting
	select {
	case <-b.Done():
		lost := k.lost(b)
		if !lost && !k.Lasting {
			err = errors.New("the broker has ended")
			break
		}
		why := ""
		if !lost {
			err = cmp.Or(b.Close(), errors.New("the broker has ended"))
			why = sentence(err)
		}
		k.standBy(engine.Owner{}, why)
		k.leaving.Go(func() { k.end(context.WithoutCancel(ctx), served) })
		return lost, err
	case <-ctx.Done():
		k.Logger.Info("stopping", "namespace", b.Name(), "why", context.Cause(ctx))
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), leavePatience)
	defer cancel()
	err = errors.Join(err, served.Leave(stopping))
	if k.Shut != nil {
		err = errors.Join(err, k.Shut(ctx))
	}
	served.Close()
	return false, errors.Join(err, k.close(b)) // after the doors: what they let in is made durable
}

// end ends what followed a broker that has ended before its server.
func (k *Keeper) end(ctx context.Context, served Served) {
	ctx, cancel := context.WithTimeout(ctx, leavePatience)
	defer cancel()
	if err := served.Leave(ctx); err != nil {
		k.Logger.Warn("open pages were not told that the broker has ended", "err", err)
	}
	served.Close()
}

// lost tells whether a broker that has ended did so because another server may
// own the namespace. One that has not is closed.
func (k *Keeper) lost(b *broker.Broker) bool {
	return k.Shared && errors.Is(b.Close(), engine.ErrFenced)
}

// close closes the broker. To have lost the namespace meanwhile is no failure
// where servers share a store.
func (k *Keeper) close(b *broker.Broker) error {
	if err := b.Close(); err != nil && !k.lost(b) {
		return fmt.Errorf("the broker did not end well: %w", err)
	}
	return nil
}

// standBy has the doors say that another server owns the namespace, or why
// nobody can.
func (k *Keeper) standBy(owner engine.Owner, why string) {
	if k.waiting.Since.IsZero() {
		k.waiting.Since = time.Now()
	}
	k.waiting.Owner, k.waiting.Why = owner, why
	k.Doors.StandBy(k.waiting)
	if owner != (engine.Owner{}) {
		k.Logger.Info("standing by", "namespace", k.Broker.Name, "owner", owner.Dashboard, "host", owner.Host, "epoch", owner.Epoch)
	}
}
