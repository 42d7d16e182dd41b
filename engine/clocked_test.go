package engine_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/longtest"
)

// morning is the time at which every clocked namespace begins.
const morning engine.Instant = 1_800_000_000_000

// A way is how the effects of time are applied in a namespace between two steps of a test.
type way string

const (
	asked     way = "asked"     // no sweeper: only steps notice that time has passed
	swept     way = "swept"     // a sweeper that is never late
	restarted way = "restarted" // as asked, but reloaded from its store whenever the clock moves
)

// clocked is a namespace whose clock only its test moves, with a store that keeps committed
// records. Each step is committed. The namespace checks itself at the end and after every
// eighth step, with MAYFLY_LONG=1 after every step.
type clocked struct {
	*testing.T
	ns     *engine.Namespace
	now    engine.Instant
	limits engine.Limits
	memory *engine.Memory // nil for no limit
	way    way
	actor  string

	steps   int // number of steps that have ended
	between int // number of steps from one check to the next

	keys   *engine.Keys
	nonce  uint64
	epoch  uint64
	store  remembered
	links  engine.LinkID
	open   int // links that stay attached
	inbox  []engine.Delivery
	given  []engine.SessionAccepted
	ended  []engine.LinkEnded
	events []engine.Event
}

// rules are test cases by the ids of the rules they test.
type rules map[string]func(c *clocked)

// run runs each case in each of the ways, or in all of them if none is given.
func run(t *testing.T, cases rules, ways ...way) {
	t.Helper()
	if len(ways) == 0 {
		ways = []way{asked, swept, restarted}
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			for _, w := range ways {
				t.Run(string(w), func(t *testing.T) { f(newClocked(t, w)) })
			}
		})
	}
}

func newClocked(t *testing.T, w way) *clocked {
	c := &clocked{T: t, now: morning, limits: sizesAlone(), way: w, actor: "tester", between: longtest.Reduced(t, 1, 8), store: newRemembered()}
	t.Cleanup(func() {
		if !t.Failed() {
			c.between = 1
			c.step()
		}
	})
	c.start()
	return c
}

// sizesAlone returns limits under which only the sizes that clients see are charged, so that
// tests can state to the byte what fits; quota_charge_test.go tests the others.
func sizesAlone() engine.Limits {
	l := engine.DefaultLimits()
	l.MessageMemory = 0
	return l
}

func (c *clocked) start() {
	c.epoch++
	c.keys = engine.NewKeys(c.epoch)
	c.ns = engine.New(engine.Options{Limits: c.limits, Keys: c.keys, Memory: c.memory, Nonce: func() uint64 { c.nonce++; return c.nonce }})
}

// limit changes limits before the first step.
func (c *clocked) limit(change func(*engine.Limits)) {
	change(&c.limits)
	c.start()
}

// restart reloads the namespace from its store.
func (c *clocked) restart() {
	c.Helper()
	c.start()
	for _, r := range c.store.load() {
		c.must(c.ns.Restore(r))
	}
	c.ns.Restored(c.now)
	c.open = 0
	c.step()
}

// step ends a step as the owner of a namespace does: it commits.
func (c *clocked) step() {
	c.Helper()
	c.ns.Match(c.now)
	fx := c.ns.Flush(c.now, true)
	c.must(c.store.commit(fx.Batch))
	c.ns.Seal(true)
	for _, d := range fx.Deliveries {
		c.taken(d)
	}
	c.inbox = append(c.inbox, fx.Deliveries...)
	c.given = append(c.given, fx.Accepted...)
	c.ended = append(c.ended, fx.Ended...)
	c.events = append(c.events, fx.Events...)
	c.ns.ReuseEvents(fx.Events)
	if c.steps++; c.steps%c.between == 0 {
		c.must(c.ns.Check())
	}
}

// taken reads a delivery's body, as a protocol does.
func (c *clocked) taken(d engine.Delivery) {
	c.Helper()
	body := d.Body
	if stored, ok := c.store.bodies[d.Message.Content]; body == nil && ok {
		body = stored
	}
	if int64(len(body)) != d.Content.BodySize() {
		c.Fatalf("message %d is delivered with %d bytes of %d", d.Message.Seq, len(body), d.Content.BodySize())
	}
	c.ns.ReleaseBody(d.Pin)
}

// at moves the clock to d after morning.
func (c *clocked) at(d time.Duration) {
	c.Helper()
	end := morning.Add(d)
	if end < c.now {
		c.Fatalf("the clock would go back from %v to %v", c.now.Time(), end.Time())
	}
	c.step()
	switch {
	case c.way == swept:
		for due := c.ns.NextDue(); due != 0 && due <= end; due = c.ns.NextDue() {
			c.now = max(c.now, due)
			c.ns.Sweep(c.now, 1000)
			c.step()
		}
		c.now = end
	case c.way == restarted && c.open == 0:
		c.now = end
		c.restart()
	default:
		c.now = end
	}
}

// pass moves the clock by d.
func (c *clocked) pass(d time.Duration) { c.Helper(); c.at(c.now.Sub(morning) + d) }

// sweep does all due work.
func (c *clocked) sweep() {
	c.Helper()
	for more := true; more; {
		more = c.ns.Sweep(c.now, 100)
		c.step()
	}
}

func (c *clocked) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// refused requires a step to fail with this kind of error and to change nothing.
func (c *clocked) refused(kind error, step func() error) {
	c.Helper()
	before := c.picture()
	err := step()
	if !errors.Is(err, kind) {
		c.Fatalf("got %v; want %v", err, kind)
	}
	c.step()
	if d := gocmp.Diff(before, c.picture()); d != "" {
		c.Fatalf("a refused step changed something:\n%s", d)
	}
}

// picture returns everything that a refused step must not change. It omits times of use,
// because even a refused request counts as use.
func (c *clocked) picture() []any {
	var all []any
	for _, s := range c.ns.States(0) {
		s.LastUsed, s.AccessedAt, s.DeletesAt, s.Uses = 0, 0, 0, nil
		s.NextExpiry = 0 // an alarm may be corrected
		all = append(all, s)
		for _, p := range []engine.Path{s.Path, s.Path.DeadLetter(), s.Path.Transfer()} {
			if rows, err := c.ns.Browse(engine.Browse{Path: p, Limit: 1000}); err == nil {
				all = append(all, rows)
			}
		}
		if rows, err := c.ns.SessionRows(s.Path, "", 1000); err == nil {
			all = append(all, rows)
		}
	}
	return all
}

// --- entities ---

func (c *clocked) create(kind engine.EntityKind, p engine.Path, cfg engine.Config) engine.Entity {
	c.Helper()
	e, err := c.ns.Create(c.now, kind, p, cfg, c.actor)
	c.must(err)
	c.step()
	return e
}

func (c *clocked) queue(p engine.Path, cfg engine.Config) engine.Entity {
	c.Helper()
	return c.create(engine.Queue, p, cfg)
}

func (c *clocked) topic(p engine.Path, cfg engine.Config) engine.Entity {
	c.Helper()
	return c.create(engine.Topic, p, cfg)
}

func (c *clocked) sub(topic, name string, cfg engine.Config) engine.Path {
	c.Helper()
	return c.create(engine.Subscription, engine.SubscriptionPath(topic, name), cfg).Path
}

func (c *clocked) update(p engine.Path, change func(*engine.Config)) {
	c.Helper()
	cfg := c.state(p).Config
	change(&cfg)
	_, err := c.ns.Update(c.now, p, cfg, c.actor)
	c.must(err)
	c.step()
}

func (c *clocked) remove(p engine.Path) {
	c.Helper()
	c.must(c.ns.Delete(c.now, p, c.actor))
	c.step()
}

func (c *clocked) state(p engine.Path) engine.EntityState {
	c.Helper()
	s, err := c.ns.State(p)
	c.must(err)
	return s
}

// exists reports whether an entity exists, after a sweep if there is no sweeper.
func (c *clocked) exists(p engine.Path) bool {
	c.Helper()
	c.sweep()
	_, err := c.ns.State(p)
	return err == nil
}

func (c *clocked) wantCounts(p engine.Path, want engine.Counts) {
	c.Helper()
	if got := c.state(p).Counts; got != want {
		c.Fatalf("%s has %+v; want %+v", p, got, want)
	}
}

// --- messages ---

func (c *clocked) submissions(messages ...engine.Content) []engine.Submission {
	c.Helper()
	var batch []engine.Submission
	for _, m := range messages {
		s, err := engine.Submit(m, []byte("what "+m.MessageID+" says"), 0, c.keys.Next(), c.limits)
		c.must(err)
		batch = append(batch, s)
	}
	return batch
}

func (c *clocked) trySend(p engine.Path, messages ...engine.Content) ([]engine.Seq, error) {
	c.Helper()
	seqs, err := c.ns.Send(c.now, p, c.submissions(messages...), c.actor)
	c.step()
	return seqs, err
}

// send sends one message.
func (c *clocked) send(p engine.Path, m engine.Content) engine.Seq {
	c.Helper()
	seqs, err := c.trySend(p, m)
	c.must(err)
	return seqs[0]
}

// sends puts plain messages with these ids into p.
func (c *clocked) sends(p engine.Path, ids ...string) {
	c.Helper()
	for _, id := range ids {
		c.send(p, engine.Content{MessageID: id})
	}
}

func (c *clocked) tryReceive(p engine.Path, mode engine.Mode) (d engine.Delivery, ok bool, err error) {
	c.Helper()
	c.links++
	l := engine.Link{ID: c.links, Path: p, Mode: mode, Client: "receiver", SingleMessage: true, NoWait: true}
	if err := c.ns.Attach(c.now, l); err != nil {
		c.step()
		return d, false, err
	}
	c.must(c.ns.Credit(c.now, l.ID, 1))
	for !slices.ContainsFunc(c.ended, func(e engine.LinkEnded) bool { return e.ID == l.ID }) {
		c.step()
	}
	for _, d := range c.inbox {
		if d.Link == l.ID {
			return d, true, nil
		}
	}
	return d, false, nil
}

// receive locks the next message, which must exist.
func (c *clocked) receive(p engine.Path) engine.Delivery {
	c.Helper()
	d, ok, err := c.tryReceive(p, engine.PeekLock)
	c.must(err)
	if !ok {
		c.Fatalf("there is no message to receive from %s", p)
	}
	return d
}

// nothing requires that there is no message to receive, in either mode.
func (c *clocked) nothing(p engine.Path) {
	c.Helper()
	for _, mode := range []engine.Mode{engine.PeekLock, engine.ReceiveAndDelete} {
		d, ok, err := c.tryReceive(p, mode)
		c.must(err)
		if ok {
			c.Fatalf("message %d %q came from %s", d.Message.Seq, d.Content.MessageID(), p)
		}
	}
}

// grab receives and deletes a message.
func (c *clocked) grab(p engine.Path) engine.Delivery {
	c.Helper()
	d, ok, err := c.tryReceive(p, engine.ReceiveAndDelete)
	c.must(err)
	if !ok {
		c.Fatalf("there is no message to receive from %s", p)
	}
	return d
}

// attach attaches a receiver that stays attached.
func (c *clocked) attach(p engine.Path, credit int) engine.LinkID {
	c.Helper()
	c.links++
	c.open++
	c.must(c.ns.Attach(c.now, engine.Link{ID: c.links, Path: p, Client: "receiver"}))
	if credit > 0 {
		c.must(c.ns.Credit(c.now, c.links, credit))
	}
	c.step()
	return c.links
}

func (c *clocked) detach(id engine.LinkID, how engine.DetachReason) {
	c.Helper()
	c.ns.Detach(c.now, id, how)
	c.open--
	c.step()
}

// delivered returns the ids of the messages delivered to a link.
func (c *clocked) delivered(id engine.LinkID) (ids []string) {
	for _, d := range c.inbox {
		if d.Link == id {
			ids = append(ids, d.Content.MessageID())
		}
	}
	return ids
}

func (c *clocked) settle(d engine.Delivery, o engine.Outcome) error {
	c.Helper()
	err := c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: o, Client: "receiver"})
	c.step()
	return err
}

func (c *clocked) complete(d engine.Delivery) { c.Helper(); c.must(c.settle(d, engine.Complete)) }
func (c *clocked) abandon(d engine.Delivery)  { c.Helper(); c.must(c.settle(d, engine.Abandon)) }
func (c *clocked) release(d engine.Delivery)  { c.Helper(); c.must(c.settle(d, engine.Release)) }

// setAside defers a message and returns its sequence number.
func (c *clocked) setAside(d engine.Delivery) engine.Seq {
	c.Helper()
	c.must(c.settle(d, engine.Defer))
	return d.Message.Seq
}

func (c *clocked) kill(d engine.Delivery, reason, description string) {
	c.Helper()
	c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.DeadLetter, Reason: reason, Description: description, Client: "receiver"}))
	c.step()
}

func (c *clocked) renew(d engine.Delivery) (engine.Instant, error) {
	c.Helper()
	until, err := c.ns.RenewLock(c.now, d.Token(), "", "receiver")
	c.step()
	return until, err
}

func (c *clocked) tryFetch(p engine.Path, seqs ...engine.Seq) ([]engine.Delivery, error) {
	c.Helper()
	ds, err := c.ns.ReceiveDeferred(c.now, p, seqs, engine.PeekLock, "receiver")
	c.step()
	for _, d := range ds {
		c.taken(d)
	}
	return ds, err
}

func (c *clocked) fetch(p engine.Path, seq engine.Seq) engine.Delivery {
	c.Helper()
	ds, err := c.tryFetch(p, seq)
	c.must(err)
	return ds[0]
}

// unfetchable requires a fetch to find nothing.
func (c *clocked) unfetchable(p engine.Path, seqs ...engine.Seq) {
	c.Helper()
	if ds, err := c.tryFetch(p, seqs...); !errors.Is(err, engine.ErrMessageNotFound) || err.Error() != engine.NotLockedText {
		c.Fatalf("fetching %v gives %v and %v", seqs, ds, err)
	}
}

// rows returns all messages of a subqueue, as browsing shows them.
func (c *clocked) rows(p engine.Path) []engine.Row {
	c.Helper()
	rows, err := c.ns.Browse(engine.Browse{Path: p, Limit: 1000})
	c.must(err)
	return rows
}

// row returns the only message of a subqueue.
func (c *clocked) row(p engine.Path) engine.Row {
	c.Helper()
	rows := c.rows(p)
	if len(rows) != 1 {
		c.Fatalf("%s has %d messages", p, len(rows))
	}
	return rows[0]
}

// wantIDs compares the ids of a subqueue's messages, in order.
func (c *clocked) wantIDs(p engine.Path, want ...string) {
	c.Helper()
	got := []string{}
	for _, r := range c.rows(p) {
		got = append(got, r.Content.MessageID())
	}
	if !slices.Equal(got, want) {
		c.Fatalf("%s has %q; want %q", p, got, want)
	}
}

// wantDead requires one dead letter with this reason and description.
func (c *clocked) wantDead(p engine.Path, reason, description string) engine.Row {
	c.Helper()
	r := c.row(p.DeadLetter())
	if x := r.Message.Extra; x == nil || x.Reason != reason || x.Description != description {
		c.Fatalf("the dead letter has %+v", x)
	}
	return r
}

func (c *clocked) wantLockLost(err error) {
	c.Helper()
	if !errors.Is(err, engine.ErrLockLost) || err.Error() != engine.LockLostText {
		c.Fatalf("got %v; want the lock to be lost", err)
	}
}

func (c *clocked) equal(got, want any) {
	c.Helper()
	if !reflect.DeepEqual(got, want) {
		c.Fatalf("got %v; want %v", got, want)
	}
}
