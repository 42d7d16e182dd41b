package mongo

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A weather contains the probabilities of failures between clients and the database, in ten
// thousandths of the requests, and how slow requests are.
type weather struct {
	slow       int           // request and answer take up to most each, rather than milliseconds
	most       time.Duration //
	vanish     int           // the request is lost
	mute       int           // the request takes effect, and its answer is lost
	late       int           // the request takes effect up to lateness after the caller got a broken connection
	lateness   time.Duration //
	twice      int           // an Apply takes effect again within lateness, whatever its answer was
	unwritable int           // the request is refused, temporarily
	refused    int           // the request is refused, permanently
	broken     int           // a read ends in the middle
}

// patience is how long a client waits for an answer, unless its caller gives up before.
const patience = 30 * time.Second

var (
	errBroken = errors.New("the connection broke")
	errDead   = errors.New("this process is dead")
)

// A client is the view that one process has of a database: through a network that delays and
// loses requests, on a machine that may freeze. The fate of each request depends on the seed,
// the request, and the number of similar requests before it, and not on what other goroutines
// do at the same time.
type client struct {
	name    string
	logf    func(format string, args ...any) // nil if not logged
	began   time.Time
	db      *toy
	weather weather
	seed    uint64
	sent    func(pending time.Duration) // called with the time within which a change may still take effect

	boot time.Time // origin of the process's clock
	rate float64   // how fast the clock runs; 1 is real time

	dead chan struct{} // closed by kill
	once sync.Once

	mu     sync.Mutex // guards what follows; not held across waits
	nth    map[string]uint64
	frozen chan struct{} // nil while the process runs; closed when it runs again
	stood  time.Duration // the time on its clock when it froze
	cut    chan struct{} // nil while connected; closed when it is connected again
	deaf   bool          // while cut off, its requests still arrive, but it gets no answers
	delay  time.Duration // additional time before a request takes effect
	lag    time.Duration // additional time before its answer
}

var _ server = (*client)(nil)

// clock returns the time since boot as this process reads it. A frozen process has read it just
// before it froze, and acts on the reading afterwards.
func (c *client) clock() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frozen != nil {
		return c.stood
	}
	return c.ticks()
}

func (c *client) ticks() time.Duration {
	return time.Duration(float64(time.Since(c.boot)) * c.rate)
}

// freeze stops the process for a while.
func (c *client) freeze(for_ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frozen != nil {
		return
	}
	c.stood = c.ticks()
	c.frozen = make(chan struct{})
	c.after(for_, func() { close(c.frozen); c.frozen = nil })
}

// part cuts the process off from the database for a while.
func (c *client) part(for_ time.Duration) { c.apart(for_, false) }

// deafen lets the process receive nothing for a while. Its requests still arrive.
func (c *client) deafen(for_ time.Duration) { c.apart(for_, true) }

func (c *client) apart(for_ time.Duration, deaf bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut != nil {
		return
	}
	c.cut, c.deaf = make(chan struct{}), deaf
	c.after(for_, func() { close(c.cut); c.cut = nil })
}

// lags delays the answers to all requests sent from now on.
func (c *client) lags(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = by
}

// delays makes all later requests take effect later.
func (c *client) delays(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delay = by
}

// after calls do after d, with c locked.
func (c *client) after(d time.Duration, do func()) {
	time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		do()
	})
}

// kill ends the process: nothing that it does from now on has an effect. Requests that it sent
// before still arrive.
func (c *client) kill() { c.once.Do(func() { close(c.dead) }) }

// hold waits until the process is not frozen. It returns an error if the process is dead.
func (c *client) hold() error {
	for {
		c.mu.Lock()
		frozen := c.frozen
		c.mu.Unlock()
		select {
		case <-c.dead:
			return errDead
		default:
		}
		if frozen == nil {
			return nil
		}
		select {
		case <-c.dead:
		case <-frozen:
		}
	}
}

// runs reports whether the process is neither frozen nor dead.
func (c *client) runs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.dead:
		return false
	default:
		return c.frozen == nil
	}
}

// A fate is what becomes of one request.
type fate struct {
	before, after time.Duration // from the request to its effect, and from there to the answer
	again         time.Duration // when the request takes effect again; zero means never
	vanishes      bool          // the request has no effect
	mute          bool          // the request has no answer
	refusal       error         // the error of a request that is refused and has no effect
	anyway        bool          // the request is sent, or answered, although the caller's time is up
	rest          *rand.Rand    // for further decisions
}

// draw decides the fate of a request.
func (c *client) draw(op string, in collection, id string) fate {
	if segments := strings.Split(id, "/"); in == chunks && len(segments) > 2 {
		id = segments[1] // the name of the attempt, which follows, is random
	}
	key := op + " " + string(in) + " " + id
	c.mu.Lock()
	n := c.nth[key]
	c.nth[key] = n + 1
	delay, lag := c.delay, c.lag
	c.mu.Unlock()
	r := rand.New(rand.NewPCG(c.seed^hash(key), n))

	w := c.weather
	happens := func(likely int) bool { return r.IntN(10_000) < likely }
	f := fate{before: small(r), after: small(r), anyway: r.IntN(2) == 0, rest: r}
	if happens(w.slow) {
		f.before = upTo(r, w.most)
	}
	if happens(w.slow) {
		f.after = upTo(r, w.most)
	}
	f.before += delay
	f.after += lag
	switch {
	case happens(w.vanish):
		f.vanishes, f.mute = true, true
	case happens(w.mute):
		f.mute = true
	case happens(w.late):
		f.before, f.mute = time.Duration(r.Int64N(int64(w.lateness))), true
	case happens(w.unwritable):
		f.refusal = fmt.Errorf("%w: says the weather", errUnwritable)
	case happens(w.refused):
		f.refusal = fmt.Errorf("%w: says the weather", errRefused)
	}
	if op == "apply" && happens(w.twice) {
		f.again = time.Duration(r.Int64N(int64(w.lateness)))
	}
	return f
}

func (c *client) tell(format string, args ...any) {
	if c.logf != nil {
		c.logf("%12v %s: "+format, append([]any{time.Since(c.began), c.name}, args...)...)
	}
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// small returns a delay for good weather, from a fraction of a millisecond to 15 ms.
func small(r *rand.Rand) time.Duration { return upTo(r, 30*time.Millisecond) / 2 }

// upTo returns a duration of any magnitude, from a hundred microseconds to most.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	const least = 100 * time.Microsecond
	d := float64(least) * math.Pow(float64(most)/float64(least), r.Float64())
	return time.Duration(d)
}

// change sends a request that changes something. The effect may happen after change has
// returned, or never. It is one call of do, or two for an Apply.
func (c *client) change(ctx context.Context, op string, in collection, id string, do func() error) error {
	if err := c.hold(); err != nil {
		return err
	}
	f := c.draw(op, in, id)
	if ctx.Err() != nil && !f.anyway {
		return context.Cause(ctx)
	}
	wire := c.wire()
	answer := make(chan error, 1)
	// effect happens at the database, whatever has become of the process.
	effect := func() {
		err := f.refusal
		if err == nil {
			err = do()
		}
		c.tell("%s %s %s happens: %v", op, in, id, err)
		time.AfterFunc(f.after, func() {
			if !f.mute && c.hears() {
				answer <- err
			}
		})
	}
	// Half of the requests without an answer soon fail with a broken connection.
	if f.mute && f.rest.IntN(2) == 0 {
		time.AfterFunc(f.after, func() { answer <- errBroken })
	}
	switch {
	case f.vanishes:
	case wire == nil:
		c.sent(max(f.before, f.again))
		time.AfterFunc(f.before, effect)
		if f.again != 0 && f.refusal == nil {
			time.AfterFunc(f.again, func() { do() }) //nolint:errcheck // there is no one to answer
		}
	case f.rest.IntN(2) == 0:
		// The request stays in a buffer until the network works again.
		f.mute = true
		go func() {
			<-wire
			c.sent(f.before)
			time.AfterFunc(f.before, effect)
		}()
	}
	return c.wait(ctx, answer, f)
}

// wire returns nil if the process's requests arrive, or else a channel that is closed when they
// do again.
func (c *client) wire() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaf {
		return nil
	}
	return c.cut
}

// hears reports whether answers arrive at the process.
func (c *client) hears() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut == nil
}

// wait waits for an answer, or until patience is over. The process notices either only while it
// is not frozen.
func (c *client) wait(ctx context.Context, answer chan error, f fate) error {
	enough := time.NewTimer(patience)
	defer enough.Stop()
	var err error
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-enough.C:
		err = errBroken
	case <-c.dead:
		err = errDead
	}
	if held := c.hold(); held != nil {
		return held
	}
	if f.anyway {
		// The process was frozen when its time was up, and finds the answer first.
		select {
		case err = <-answer:
		default:
		}
	}
	return err
}

// look sends a request that changes nothing. do sees the state at one moment between the
// request and the return.
func (c *client) look(ctx context.Context, op string, in collection, id string, do func()) (fate, error) {
	if err := c.hold(); err != nil {
		return fate{}, err
	}
	f := c.draw(op, in, id)
	if ctx.Err() != nil {
		return f, context.Cause(ctx)
	}
	answer := make(chan error, 1)
	if !f.vanishes && c.wire() == nil {
		time.AfterFunc(f.before, func() {
			do()
			time.AfterFunc(f.after, func() {
				if !f.mute && c.hears() {
					answer <- nil
				}
			})
		})
	}
	return f, c.wait(ctx, answer, f)
}

func (c *client) Insert(ctx context.Context, in collection, doc bson.Raw) error {
	doc = slices.Clone(doc)
	return c.change(ctx, "insert", in, idOf(doc), func() error {
		return c.db.Insert(context.Background(), in, doc)
	})
}

func (c *client) Get(ctx context.Context, in collection, id string) (bson.Raw, error) {
	found := make(chan bson.Raw, 1)
	_, err := c.look(ctx, "get", in, id, func() {
		doc, _ := c.db.Get(context.Background(), in, id) //nolint:errcheck // the toy fails only when its context ends
		found <- doc
	})
	if err != nil {
		return nil, err
	}
	return <-found, nil
}

// Range reads in a few steps of a few documents, each at another moment, like the batches of a
// cursor.
func (c *client) Range(ctx context.Context, in collection, r idRange) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		for n := 0; r.limit == 0 || n < r.limit; {
			most := 1000
			if r.limit != 0 {
				most = r.limit - n
			}
			got := make(chan []toyDocument, 1)
			f, err := c.look(ctx, "range", in, r.from, func() { got <- c.db.some(in, r, most) })
			if err == nil && f.rest.IntN(10_000) < c.weather.broken {
				err = errBroken
			}
			if err != nil {
				yield(nil, err)
				return
			}
			batch := <-got
			last := len(batch) < most
			// Sometimes a batch is split, and the rest is read at another moment.
			if len(batch) > 1 && f.rest.IntN(4) == 0 {
				batch, last = batch[:1+f.rest.IntN(len(batch)-1)], false
			}
			for _, d := range batch {
				n++
				r = r.past(d.id)
				if !yield(project(d.doc, r.fields), nil) {
					return
				}
				clear(d.doc)
			}
			if last {
				return
			}
		}
	}
}

// Apply makes the changes at different moments, in any order.
func (c *client) Apply(ctx context.Context, in collection, changes []change) error {
	changes = slices.SortedFunc(slices.Values(changes), func(a, b change) int { return strings.Compare(a.id, b.id) })
	for i := range changes {
		changes[i].doc = slices.Clone(changes[i].doc)
	}
	if len(changes) == 0 {
		return nil
	}
	return c.pieces(ctx, "apply", in, changes[0].id, len(changes), func(from, to int) error {
		for _, ch := range changes[from:to] {
			c.tell("\t%s version %d, insert %v", ch.id, ch.version, ch.insert)
		}
		return c.db.Apply(context.Background(), in, changes[from:to])
	})
}

func (c *client) Delete(ctx context.Context, in collection, ids []string) error {
	ids = slices.Sorted(slices.Values(ids))
	if len(ids) == 0 {
		return nil
	}
	return c.pieces(ctx, "delete", in, ids[0], len(ids), func(from, to int) error {
		for _, id := range ids[from:to] {
			c.tell("\t%s", id)
		}
		return c.db.Delete(context.Background(), in, ids[from:to])
	})
}

// pieces sends a request for n items in one or two parts, each with its own fate. It succeeds
// if all parts do.
func (c *client) pieces(ctx context.Context, op string, in collection, id string, n int, do func(from, to int) error) error {
	all := func() error { return do(0, n) }
	if n < 2 {
		return c.change(ctx, op, in, id, all)
	}
	cut := int(c.draw("cut", in, id).rest.Uint64() % uint64(2*n))
	if cut == 0 || cut >= n {
		return c.change(ctx, op, in, id, all)
	}
	var second error
	done := make(chan struct{})
	go func() {
		defer close(done)
		second = c.change(ctx, op+" rest", in, id, func() error { return do(cut, n) })
	}()
	first := c.change(ctx, op, in, id, func() error { return do(0, cut) })
	<-done
	return errors.Join(first, second)
}

func (c *client) Purge(ctx context.Context, in collection, r idRange, at time.Time) error {
	return c.change(ctx, "purge", in, r.from, func() error {
		return c.db.Purge(context.Background(), in, r, at)
	})
}

func (c *client) Clear(ctx context.Context, in collection, r idRange, field string) error {
	return c.change(ctx, "clear", in, r.from, func() error {
		return c.db.Clear(context.Background(), in, r, field)
	})
}
