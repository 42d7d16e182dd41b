package enginetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

// TestSessionsAreTheModel runs the same random steps on the engine and on sessionModel at a
// queue with sessions, with and without a sweeper, and requires the same results after every
// step; with a sweeper, also the same state. Some turns are rolled back, and sometimes
// everything is loaded from the store again.
func TestSessionsAreTheModel(t *testing.T) {
	seed, walks := *seedFlag, *walksFlag
	if seed == 0 {
		seed = time.Now().UnixNano()
	}
	if walks == 0 {
		walks = 12
	}
	for i := range walks {
		for _, sweeping := range []bool{true, false} {
			x := newSessionWalk(uint64(seed+i), sweeping)
			if fault := x.walk(); fault != "" {
				t.Fatalf("sweeping %v, -walk.seed=%d -walk.count=1:\n%s\n%s", sweeping, seed+i, strings.Join(x.trace[max(0, len(x.trace)-60):], "\n"), fault)
			}
		}
	}
}

type sessionWalk struct {
	ns       *engine.Namespace
	w        *sessionModel
	sealed   *sessionModel // the model when the last turn ended
	line     []string      // the sessions that were available then, in order
	store    *remembered
	sweeping bool
	r        *rand.Rand
	keys     *engine.Keys
	epoch    uint64
	nonce    uint64
	links    uint64
	tags     int
	tokens   []string          // of all deliveries, whether or not they are still valid
	named    map[uint64]string // links of this turn that got the session they named
	trace    []string
}

func newSessionWalk(seed uint64, sweeping bool) *sessionWalk {
	x := &sessionWalk{sweeping: sweeping, r: rand.New(rand.NewPCG(seed, 7)), store: newRemembered(), named: map[uint64]string{}}
	x.w = &sessionModel{now: begin, lock: 5000, most: 2 + 48*x.r.IntN(2), deliveries: 1 + x.r.IntN(4), keep: x.chance(50), held: map[string]*holding{}, states: map[string]string{}, endedByThemselves: map[uint64]bool{}}
	x.ns = engine.New(x.options())
	return x
}

func (x *sessionWalk) options() engine.Options {
	x.epoch++
	x.keys = engine.NewKeys(x.epoch)
	limits := engine.DefaultLimits()
	limits.SessionLocks = int64(x.w.most)
	return engine.Options{Limits: limits, Keys: x.keys, Nonce: func() uint64 { x.nonce++; return x.nonce }}
}

func (x *sessionWalk) now() engine.Instant { return engine.Instant(x.w.now) }

func (x *sessionWalk) chance(percent int) bool { return x.r.IntN(100) < percent }

func (x *sessionWalk) failf(format string, args ...any) {
	panic(failure{fmt.Sprintf(format, args...)})
}

func (x *sessionWalk) logf(format string, args ...any) {
	x.trace = append(x.trace, fmt.Sprintf("%9d  ", x.w.now-begin)+fmt.Sprintf(format, args...))
}

func (x *sessionWalk) walk() (fault string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			fault = p.text
		default:
			fault = fmt.Sprintf("panic: %v\n%s", p, stack())
		}
	}()
	if _, err := x.ns.Create(x.now(), engine.Queue, "q", x.config(), ""); err != nil {
		x.failf("create: %v", err)
	}
	x.turn()
	steps := []func(*sessionWalk){
		(*sessionWalk).send, (*sessionWalk).send, (*sessionWalk).send, (*sessionWalk).attach, (*sessionWalk).attach, (*sessionWalk).credit, (*sessionWalk).credit,
		(*sessionWalk).settle, (*sessionWalk).settle, (*sessionWalk).settle, (*sessionWalk).renew, (*sessionWalk).state, (*sessionWalk).setState,
		(*sessionWalk).detach, (*sessionWalk).detach, (*sessionWalk).breakLock, (*sessionWalk).fetch, (*sessionWalk).fetch, (*sessionWalk).advance, (*sessionWalk).advance,
		(*sessionWalk).update, (*sessionWalk).withdraw,
	}
	for range 600 {
		steps[x.r.IntN(len(steps))](x)
		if x.chance(70) {
			x.turn()
		}
	}
	return ""
}

func (x *sessionWalk) config() engine.Config {
	return engine.Config{RequiresSession: true, LockDuration: span(x.w.lock), MaxDeliveryCount: int32(x.w.deliveries), DeadLetteringOnMessageExpiration: x.w.keep}
}

// --- steps ---

func (x *sessionWalk) session() string { return string(rune('a' + x.r.IntN(4))) }

func (x *sessionWalk) expect(err error, want string) bool {
	have := ""
	switch {
	case err == nil:
	case errors.Is(err, engine.ErrSessionLockLost):
		have = "session lost"
	case errors.Is(err, engine.ErrSessionLocked):
		have = "session locked"
	case errors.Is(err, engine.ErrMessageNotFound):
		have = "no message"
	case errors.Is(err, engine.ErrQuota):
		have = "quota"
	case errors.Is(err, engine.ErrTimeout):
		have = "timeout"
	default:
		have = err.Error()
	}
	if have != want {
		x.failf("the engine says %q (%v), the model %q", have, err, want)
	}
	return err == nil
}

func (x *sessionWalk) send() {
	x.tags++
	m := &sessionMessage{tag: fmt.Sprintf("m%d", x.tags), session: x.session(), at: x.w.now}
	c := engine.Content{MessageID: m.tag, SessionID: m.session}
	if x.chance(30) {
		ttl := 1 + x.r.Int64N(8000)
		c.TTL, m.own = span(ttl), x.w.now+ttl
	}
	if x.sweeping && x.chance(20) { // without a sweeper it may get its number after messages that are sent after its time
		m.due = x.w.now + 1 + x.r.Int64N(4000)
		c.ScheduledFor = engine.Instant(m.due)
		m.own = max(0, m.own-x.w.now)
	}
	s, err := engine.Submit(c, nil, 0, x.keys.Next(), engine.DefaultLimits())
	if err != nil {
		x.failf("submit: %v", err)
	}
	x.w.next++
	m.seq = x.w.next
	x.logf("send %+v", *m)
	seqs, err := x.ns.Send(x.now(), "q", []engine.Submission{s}, "")
	if err != nil || int64(seqs[0]) != m.seq {
		x.failf("the sequence numbers are %v, %v", seqs, err)
	}
	x.w.messages = append(x.w.messages, m)
}

func (x *sessionWalk) attach() {
	x.links++
	l := &sessionLink{id: x.links}
	request := engine.SessionRequest{Want: engine.NextSession}
	want := ""
	if x.chance(50) {
		request = engine.SessionRequest{Want: engine.NamedSession, ID: x.session()}
		if x.w.held[request.ID] != nil {
			want = "session locked"
		}
	} else {
		l.noWait = x.chance(70)
	}
	x.logf("link %d wants %+v, does not wait: %v", l.id, request, l.noWait)
	err := x.ns.Attach(x.now(), engine.Link{ID: engine.LinkID(l.id), Path: "q", NoWait: l.noWait, Client: "c", Session: request})
	if x.expect(err, want) {
		x.w.links = append(x.w.links, l)
		if request.Want == engine.NamedSession {
			x.w.accept(l, request.ID)
			x.named[l.id] = request.ID
		}
	}
}

// some returns a link, usually one that exists.
func (x *sessionWalk) some() (id uint64, l *sessionLink) {
	if len(x.w.links) == 0 || x.chance(5) {
		id = 1 + x.r.Uint64N(x.links+1)
	} else {
		id = x.w.links[x.r.IntN(len(x.w.links))].id
	}
	return id, x.w.link(id)
}

func (x *sessionWalk) credit() {
	id, l := x.some()
	n := 1 + x.r.IntN(3)
	if l == nil {
		return
	}
	x.logf("credit %d for link %d", n, id)
	if err := x.ns.Credit(x.now(), engine.LinkID(id), n); err != nil {
		x.failf("%v", err)
	}
	l.credit += n
}

func (x *sessionWalk) settle() {
	if len(x.tokens) == 0 {
		return
	}
	outcome := engine.Outcome(x.r.IntN(5))
	// Usually one of the latest.
	at := max(0, len(x.tokens)-1-x.r.IntN(6))
	x.logf("%v %s", outcome, x.tokens[at])
	err := x.ns.Settle(x.now(), engine.Settlement{Token: token(x.tokens[at]), Outcome: outcome, Path: "q"})
	x.expect(err, x.w.settle(x.tokens[at], outcome.String()))
}

// holder returns a link, the session that it holds, and the error of an operation that needs
// the session.
func (x *sessionWalk) holder() (engine.LinkID, string, string) {
	id, l := x.some()
	switch {
	case l == nil:
		return engine.LinkID(id), "", "session lost"
	case l.session == "":
		return engine.LinkID(id), "", fmt.Sprintf("The receiver %d has no session.", id)
	default:
		return engine.LinkID(id), l.session, ""
	}
}

func (x *sessionWalk) renew() {
	id, session, want := x.holder()
	x.logf("renew with link %d", id)
	until, err := x.ns.RenewSession(x.now(), id)
	if x.expect(err, want) {
		x.w.renew(session)
		if int64(until) != x.w.held[session].until {
			x.failf("renewed until %d", until)
		}
	}
}

// update changes the duration of future locks.
func (x *sessionWalk) update() {
	x.w.lock = 5000 + 5000*x.r.Int64N(2)
	x.logf("locks of %d ms", x.w.lock)
	if _, err := x.ns.Update(x.now(), "q", x.config(), ""); err != nil {
		x.failf("update: %v", err)
	}
}

func (x *sessionWalk) state() {
	id, session, want := x.holder()
	x.logf("state with link %d", id)
	text, set, err := x.ns.SessionState(x.now(), id)
	have, ok := x.w.states[session]
	if x.expect(err, want) && (text != have || set != ok) {
		x.failf("the state is %q, %v; the model has %q, %v", text, set, have, ok)
	}
}

func (x *sessionWalk) setState() {
	id, session, want := x.holder()
	text := fmt.Sprint("state ", x.r.IntN(3))
	clears := x.chance(40)
	x.logf("set state with link %d to %q, clear %v", id, text, clears)
	if clears {
		if x.expect(x.ns.SetSessionState(x.now(), id, nil), want) {
			delete(x.w.states, session)
		}
	} else if x.expect(x.ns.SetSessionState(x.now(), id, &text), want) {
		x.w.states[session] = text
	}
}

func (x *sessionWalk) detach() {
	id, _ := x.some()
	how := engine.DetachReason(x.r.IntN(2))
	x.logf("detach link %d, %d", id, how)
	x.ns.Detach(x.now(), engine.LinkID(id), how)
	x.w.close(id, how == engine.DetachedByClient)
	if x.w.endedByThemselves[id] {
		x.w.endedByThemselves[id] = false // it may have ended by itself in this turn
	}
}

func (x *sessionWalk) breakLock() {
	session := x.session()
	x.logf("break %s", session)
	err := x.ns.BreakSession(x.now(), "q", session, "operator")
	if (err == nil) != (x.w.held[session] != nil) {
		x.failf("%v", err)
	}
	if err == nil {
		x.w.expireSessionLock(session)
	}
}

func (x *sessionWalk) fetch() {
	id, session, want := x.holder()
	var list []int64
	var seqs []engine.Seq
	for _, m := range x.w.messages {
		if m.set && x.chance(50) || x.chance(3) {
			list, seqs = append(list, m.seq), append(seqs, engine.Seq(m.seq))
		}
	}
	x.logf("fetch %v with link %d", list, id)
	ds, err := x.ns.ReceiveDeferredInSession(x.now(), id, seqs, engine.PeekLock)
	var got []*sessionMessage
	if want == "" {
		got, want = x.w.fetch(session, list)
	}
	if x.expect(err, want) && len(ds) != len(got) {
		x.failf("%d are fetched, the model has %d", len(ds), len(got))
	}
	for i, d := range ds {
		x.delivered(d, got[i])
	}
}

func (x *sessionWalk) advance() {
	by := 1 + x.r.Int64N(2000)
	for _, h := range x.w.held {
		if x.chance(30) {
			by = h.until - x.w.now - x.r.Int64N(2)
		}
	}
	x.w.advance(x.w.now + max(by, 0))
	x.logf("it is later")
	if x.sweeping {
		x.sweep()
	}
}

func (x *sessionWalk) sweep() {
	for more := true; more; {
		more = x.ns.Sweep(x.now(), 1+x.r.IntN(5))
	}
}

func (x *sessionWalk) delivered(d engine.Delivery, m *sessionMessage) {
	h := x.w.held[m.session]
	if d.Content.MessageID() != m.tag || int(d.Message.DeliveryCount) != m.count || int64(d.Message.LockedUntil) != h.until || x.sweeping && int64(d.Message.Seq) != m.seq {
		x.failf("%q #%d comes, failed %d, until %d; the model has %+v, until %d", d.Content.MessageID(), d.Message.Seq, d.Message.DeliveryCount, d.Message.LockedUntil, *m, h.until)
	}
	x.w.lockNow(m)
	m.token = d.Token().String()
	x.tokens = append(x.tokens, m.token)
}

// --- turns ---

// turn ends a turn as a broker does, or rolls it back.
func (x *sessionWalk) turn() {
	if x.sweeping {
		x.sweep()
	}
	for _, l := range x.w.links { // without a sweeper a link must ask again
		if !x.sweeping {
			_ = x.ns.Credit(x.now(), engine.LinkID(l.id), 0) //nolint:errcheck // it is known to be there
		}
	}
	x.ns.Match(x.now())
	for again := 0; again < 3 && x.ns.NextDue() == 1; again++ {
		x.ns.Match(x.now())
	}
	if err := x.ns.Check(); err != nil {
		x.failf("INVARIANT %v", err)
	}
	if x.sealed != nil && x.chance(15) {
		x.logf("taken back")
		x.ns.Flush(x.now(), true)
		x.ns.Rollback()
		if line := x.lined(); !slices.Equal(line, x.line) {
			x.failf("the sessions in line are %v, and were %v before", line, x.line)
		}
		now := x.w.now
		x.w = x.sealed.clone()
		x.w.advance(now)
		if x.sweeping {
			x.sweep()
		}
	} else {
		fx := x.ns.Flush(x.now(), true)
		if err := x.store.apply(fx.Batch); err != nil {
			x.failf("batch: %v", err)
		}
		x.effects(fx)
		x.ns.Seal(true)
		for _, d := range fx.Deliveries {
			x.ns.ReleaseBody(d.Pin)
		}
		if x.chance(4) {
			x.restart()
		}
		x.sealed, x.line = x.w.clone(), x.lined()
	}
	if err := x.ns.Check(); err != nil {
		x.failf("INVARIANT %v", err)
	}
	if x.sweeping {
		x.compare()
	}
	clear(x.named)
}

// lined returns the available sessions, the next one first.
func (x *sessionWalk) lined() []string {
	ids, err := x.ns.AvailableSessions("q", 9)
	if err != nil {
		x.failf("%v", err)
	}
	return ids
}

func (x *sessionWalk) effects(fx engine.Effects) {
	for _, a := range fx.Accepted {
		if x.named[uint64(a.Link)] == a.ID {
			continue
		}
		l := x.w.link(uint64(a.Link))
		i := slices.IndexFunc(x.w.links, func(o *sessionLink) bool { return o.session == "" })
		if l == nil || i < 0 || x.w.links[i] != l || !x.w.available(a.ID) {
			x.failf("link %d is given %q, which is available: %v", a.Link, a.ID, x.w.available(a.ID))
		}
		x.logf("link %d is given %q", l.id, a.ID)
		x.w.accept(l, a.ID)
		if int64(a.LockedUntil) != x.w.held[a.ID].until {
			x.failf("until %d", a.LockedUntil)
		}
	}
	for _, d := range fx.Deliveries {
		l := x.w.link(uint64(d.Link))
		if l == nil || l.credit == 0 || l.session == "" {
			x.failf("link %d gets %q", d.Link, d.Content.MessageID())
		}
		m := x.w.first(l.session)
		if m == nil || x.w.lockCapacity(l.session) == 0 {
			x.failf("link %d gets %q, the model has nothing for it", d.Link, d.Content.MessageID())
		}
		x.logf("link %d gets %s", l.id, m.tag)
		x.delivered(d, m)
		l.credit--
	}
	for _, e := range fx.Ended {
		l := x.w.link(uint64(e.ID))
		switch {
		case l != nil && l.noWait && l.session == "" && !x.w.anyAvailable():
			x.expect(e.Err, "timeout")
			x.w.unlink(l.id)
		default:
			if _, ok := x.w.endedByThemselves[uint64(e.ID)]; !ok {
				x.failf("link %d ended: %v", e.ID, e.Err)
			}
			x.expect(e.Err, "session lost")
			delete(x.w.endedByThemselves, uint64(e.ID))
		}
	}
	for _, l := range x.w.links {
		switch {
		case l.session == "" && x.w.anyAvailable():
			x.failf("link %d waits, and a session is available", l.id)
		case l.session == "" && l.noWait:
			x.failf("link %d waits", l.id)
		case l.session != "" && l.credit > 0 && x.w.first(l.session) != nil && x.w.lockCapacity(l.session) > 0:
			x.failf("link %d waits, and %+v is ready", l.id, *x.w.first(l.session))
		}
	}
	for id, must := range x.w.endedByThemselves {
		if x.sweeping && must {
			x.failf("link %d ended without being reported", id)
		}
	}
}

// restart loads everything from the store again: no link survives, and of session locks only
// what locked messages store.
func (x *sessionWalk) restart() {
	x.logf("restart")
	ns, err := x.store.load(x.now(), x.options())
	if err != nil {
		x.failf("%v", err)
	}
	x.ns, x.w.links, x.w.endedByThemselves = ns, nil, map[uint64]bool{}
	for id, h := range x.w.held {
		h.link, h.lock = 0, tenure{}
		for _, m := range x.w.of(id) {
			m.lock = tenure{}
		}
		if !slices.ContainsFunc(x.w.of(id), func(m *sessionMessage) bool { return m.locked }) {
			delete(x.w.held, id)
		}
	}
}
