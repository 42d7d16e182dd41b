package broker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// A client does one operation after another.
type client struct {
	*history
	n   int
	rnd *rand.Rand
}

func (c *client) chance(percent int) bool { return c.rnd.IntN(100) < percent }

// patience is how many operations in a row may fail for the broker's own reasons before a
// client gives up.
const patience = 10_000

func (c *client) work(ctx context.Context) {
	for idle := 0; idle < patience; {
		if c.full() {
			return
		}
		d := c.desks[c.rnd.IntN(len(c.desks))]
		if c.step(ctx, d) != nothing {
			idle = 0
			continue
		}
		idle++
		c.idle.Add(1)
		if !c.wait(ctx) {
			return
		}
	}
	c.Errorf("client %d lost patience", c.n)
}

// wait usually waits until the broker has reopened its store. It returns false, and fails the
// test, if the stored records can no longer be loaded.
func (c *client) wait(ctx context.Context) bool {
	if c.chance(80) {
		c.ground.rest(ctx)
	}
	if c.ground.lost() {
		c.Errorf("the stored records cannot be loaded")
		return false
	}
	if c.Health().ReadOnly != "" && c.chance(20) {
		if err := c.ProbeSoon(ctx); err != nil && !errors.Is(err, engine.ErrBusy) {
			c.Error(err)
		}
	}
	return true
}

func (c *client) step(ctx context.Context, d *desk) answer {
	if d.sessions && c.chance(60) {
		return c.stepInSession(ctx, d)
	}
	s := inQueue
	if c.chance(20) || d.sessions {
		s = inDead
	}
	switch n := c.rnd.IntN(100); {
	case n < 28:
		return c.send(ctx, d)
	case n < 54:
		return c.receive(ctx, d, s)
	case n < 84:
		return c.settle(ctx, d)
	case n < 91:
		return c.fetch(ctx, d, s)
	case n < 98:
		return c.renew(ctx, d)
	default:
		return c.look(ctx, d)
	}
}

// operation begins an operation.
func (c *client) operation(v verb, d *desk) *operation {
	return &operation{verb: v, queue: string(d.path), client: c.n, call: c.now()}
}

// ends records the answer and the end of an operation.
func (c *client) ends(d *operation, err error) answer {
	d.ret = c.now()
	if d.answer = c.answer(err); d.answer == nothing {
		return nothing
	}
	c.add(d)
	for range d.most - 1 { // further messages that may have been taken, perhaps with other receivers' in between
		one := *d
		c.add(&one)
	}
	return d.answer
}

var sessionIDs = []string{"a", "b", "c"}

func (c *client) send(ctx context.Context, to *desk) answer {
	var out []broker.Outgoing
	d := c.operation(sending, to)
	session := ""
	for range 1 + c.rnd.IntN(8)/5*c.rnd.IntN(3) {
		id := int(c.sent.Add(1))
		if to.sessions && (session == "" || c.chance(50)) {
			session = sessionIDs[c.rnd.IntN(len(sessionIDs))]
		}
		text := strconv.Itoa(id)
		d.ids, d.sessions = append(d.ids, id), append(d.sessions, session)
		out = append(out, broker.Outgoing{Content: engine.Content{MessageID: text, SessionID: session}, Body: []byte(text)})
	}
	var err error
	d.seqs, err = c.Send(ctx, to.path, out, "")
	return c.ends(d, err)
}

func (c *client) mode() engine.Mode {
	if c.chance(25) {
		return engine.ReceiveAndDelete
	}
	return engine.PeekLock
}

// few draws how many messages to request: usually 1, at most 3.
func (c *client) few() int { return 1 + c.rnd.IntN(10)/7*c.rnd.IntN(3) }

// receive receives messages. A receive of several messages is recorded as several operations,
// because receivers are served in turn, one message each.
func (c *client) receive(ctx context.Context, from *desk, s spot) answer {
	d := c.operation(receiving, from)
	d.spot, d.mode, d.most = s, c.mode(), c.few()
	all, err := c.Receive(ctx, broker.ReceiveRequest{Path: from.at(s), Max: d.most, Mode: d.mode})
	if err != nil {
		return c.ends(d, err)
	}
	return c.took(from, d, all, "")
}

// took records each message that a receive returned as an operation of its own and, if there
// were fewer than requested, an operation that found no further message.
func (c *client) took(from *desk, d *operation, all []broker.Received, session string) answer {
	d.ret, d.answer = c.now(), done
	for i, r := range all {
		one := *d
		one.call += int64(i) // the order in which the checker tries them first
		one.got = []got{c.received(r)}
		c.add(&one)
		if d.handle == 0 && i > 0 && all[i-1].Message.Seq >= r.Message.Seq { // SEQ-7
			c.Errorf("message %d came after %d", r.Message.Seq, all[i-1].Message.Seq)
		}
		c.locked(from, d, r, one.got[0], session)
	}
	if len(all) < d.most {
		none := *d
		none.call += tick - 1
		none.verb = findingNone
		c.add(&none)
	}
	return done
}

func (c *client) locked(from *desk, d *operation, r broker.Received, g got, session string) {
	if d.mode == engine.PeekLock {
		keep(from, &from.keys, key{r.Token(), g, d.spot, session})
	}
}

func (c *client) outcome() engine.Outcome {
	switch n := c.rnd.IntN(100); {
	case n < 40:
		return engine.Complete
	case n < 60:
		return engine.Abandon
	case n < 75:
		return engine.Defer
	case n < 85:
		return engine.Release
	default:
		return engine.DeadLetter
	}
}

// settle settles a message that any client received (LOCK-8), or settles it again (LOCK-7).
func (c *client) settle(ctx context.Context, at *desk) answer {
	from := &at.keys
	if c.chance(10) {
		from = &at.spent
	}
	k, ok := pick(at, c.rnd, from, any1)
	if !ok {
		return done
	}
	d := c.operation(settling, at)
	d.spot, d.token, d.how = k.spot, k.got.token, c.outcome()
	errs, err := c.Settle(ctx, engine.Settlement{Token: k.token, Outcome: d.how, Path: at.at(k.spot)})
	if err == nil {
		err = errs[0]
	}
	a := c.ends(d, err)
	switch a {
	case done:
		keep(at, &at.spent, k)
		if d.how == engine.Defer {
			keep(at, &at.aside, aside{k.got.seq, k.spot, k.id})
		}
	case refused:
		want := engine.ErrLockLost
		if at.sessions && k.spot == inQueue { // SES-10
			want = engine.ErrSessionLockLost
		}
		if !errors.Is(err, want) {
			c.Errorf("a settlement after the lock is refused with %v", err)
		}
	default:
		keep(at, &at.keys, k)
		if d.how == engine.Defer {
			keep(at, &at.aside, aside{k.got.seq, k.spot, k.id})
		}
	}
	return a
}

// numbers returns one or two deferred messages and their sequence numbers.
func (c *client) numbers(at *desk, s spot, session string) (all []aside, seqs []engine.Seq) {
	for range 1 + c.rnd.IntN(4)/3 {
		x, ok := pick(at, c.rnd, &at.aside, func(x aside) bool { return x.spot == s && x.id == session })
		if ok && !slices.Contains(seqs, x.seq) {
			all, seqs = append(all, x), append(seqs, x.seq)
		}
	}
	return all, seqs
}

func (c *client) fetch(ctx context.Context, from *desk, s spot) answer {
	session := ""
	if from.sessions {
		session = sessionIDs[c.rnd.IntN(len(sessionIDs))]
	}
	all, seqs := c.numbers(from, s, session)
	if len(seqs) == 0 {
		return c.receive(ctx, from, s)
	}
	d := c.operation(fetching, from)
	d.spot, d.mode, d.seqs = s, c.mode(), seqs
	found, err := c.ReceiveDeferred(ctx, from.at(s), seqs, d.mode, "")
	return c.fetched(from, d, all, found, err, session)
}

func (c *client) fetched(from *desk, d *operation, all []aside, found []broker.Received, err error, session string) answer {
	for _, r := range found {
		g := c.received(r)
		d.got = append(d.got, g)
		c.locked(from, d, r, g, session)
	}
	a := c.ends(d, err)
	if a == nothing || a == unsaid || a == refused && c.chance(50) {
		keep(from, &from.aside, all...)
	}
	return a
}

// renew renews the lock of a message or, in a session, that of the session.
func (c *client) renew(ctx context.Context, at *desk) answer {
	k, ok := pick(at, c.rnd, &at.keys, func(k key) bool { return !at.sessions || k.spot == inDead })
	if !ok {
		return done
	}
	keep(at, &at.keys, k)
	d := c.operation(renewing, at)
	d.token = k.got.token
	_, err := c.RenewLock(ctx, k.token, at.at(k.spot), "")
	return c.ends(d, err)
}
