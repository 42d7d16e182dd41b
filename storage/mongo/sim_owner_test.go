package mongo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"mayfly/engine"
)

// A process opens the namespace, works on it for a while as a broker would, and closes the
// store, loses the namespace or dies. Then the next process starts.
type process struct {
	*world
	*rand.Rand
	name   string
	client *client
}

// live runs processes until the world ends.
func (p *process) live() {
	for n := 0; !p.over(); n++ {
		p.client = p.connect(fmt.Sprintf("%s.%d", p.name, n), p.weather)
		p.client.rate = p.clockRate(p.Rand)
		if p.IntN(3) == 0 {
			p.trouble(10 * p.lease)
		}
		p.sleep(p.lease)
		for !p.over() && p.client.hold() == nil {
			p.own()
			p.sleep(p.lease)
		}
		p.sleep(3 * p.lease)
	}
}

// sleep sleeps for a random time up to most.
func (p *process) sleep(most time.Duration) { rest(upTo(p.Rand, most)) }

// mostTrouble is the longest time for which a process is frozen or cut off, in leases.
const mostTrouble = 12

// trouble happens to the process within soon: it freezes for a while, is cut off, or dies.
func (p *process) trouble(soon time.Duration) {
	c := p.client
	d := time.Duration(p.Float64() * float64(4*p.lease))
	if p.IntN(8) == 0 {
		d *= mostTrouble / 4 // long enough for two other owners
	}
	again := upTo(p.Rand, p.lease/2)
	what := p.IntN(10)
	time.AfterFunc(time.Duration(p.Float64()*float64(soon)), func() {
		switch {
		case what < 5:
			p.tell("%s stands still for %v", c.name, d)
			c.freeze(d)
		case what < 7:
			p.tell("%s is cut off for %v", c.name, d)
			c.part(d)
		case what < 9:
			// Receiving one more batch of answers in between is worse than receiving nothing.
			p.tell("%s is deaf for %v, and %v later cut off for %v", c.name, d/4, again, d)
			c.deafen(d / 4)
			time.AfterFunc(d/4+again, func() { c.part(d) })
		default:
			p.tell("%s dies", c.name)
			c.kill()
		}
	})
}

// own opens the store, works with it for a while and closes it.
func (p *process) own() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+p.IntN(8))*p.lease)
	defer cancel()
	o := Options{
		Namespace: "sim", Lease: p.lease, LostOpens: max(0, p.IntN(6)-3), Process: p.client.name, clock: p.client.clock,
		weaken: p.weaken, keptEntries: p.kept, Logger: p.logger(p.client.name),
	}
	if p.IntN(3) > 0 {
		o.Standby = func(engine.Owner) {}
	}
	s, err := openOn(ctx, p.client, nil, o)
	if err != nil {
		p.tell("%s: %v", p.client.name, err)
		if errors.Is(err, errGap) && !p.clocks && p.client.runs() && p.latestOwner() == p.client.name {
			p.judge.failed(err)
		}
		return
	}
	p.tell("%s has epoch %d", p.client.name, s.Epoch())
	b := broker{process: p, client: p.client, s: s, ctx: ctx, epoch: s.Epoch(), keys: engine.NewKeys(s.Epoch())}
	if p.IntN(4) == 0 {
		p.sleep(3 * time.Second) // the replayed commits are being applied
	}
	healthy := b.load() == nil && b.work()
	err = s.Close()
	p.tell("%s closes epoch %d: %v", p.client.name, s.Epoch(), err)
	if err == nil && healthy && s.endReason() == errClosed { //nolint:errorlint // an error that wraps it does not count
		p.judge.parted(s.Epoch())
	}
}

// latestOwner returns the name of the process with the highest epoch.
func (w *world) latestOwner() string {
	last := w.db.some(owners, idRange{from: "sim/", to: "sim0", backwards: true}, 1)
	if len(last) == 0 {
		return ""
	}
	return textIn(last[0].doc, "process")
}

// A broker is the state of a namespace as one owner sees it.
type broker struct {
	*process
	client *client // of the process, until it dies
	s      *Store
	ctx    context.Context
	epoch  uint64
	keys   *engine.Keys
	events uint64

	estate
}

// An estate is the part of the state on which a broker's decisions depend.
type estate struct {
	entities map[engine.SubqueueID]engine.Entity
	rules    map[engine.RuleID]engine.Rule
	messages map[engine.Key]engine.Message
	bodies   map[engine.Key]bool // contents that have a body
	sessions map[engine.SessionID]bool
	settings map[string]bool
	numbers  map[engine.SubqueueID]uint64 // the last number of MessageIds
}

// read reads all records from a store or a snapshot.
func read(ctx context.Context, s interface {
	Load(ctx context.Context) iter.Seq2[engine.Record, error]
}) (truth, estate, engine.Instant, error) {
	t := truth{}
	w := estate{
		entities: map[engine.SubqueueID]engine.Entity{}, rules: map[engine.RuleID]engine.Rule{},
		messages: map[engine.Key]engine.Message{}, bodies: map[engine.Key]bool{},
		sessions: map[engine.SessionID]bool{}, settings: map[string]bool{}, numbers: map[engine.SubqueueID]uint64{},
	}
	var clock engine.Instant
	for r, err := range s.Load(ctx) {
		if err != nil {
			return nil, w, 0, err
		}
		t.put(r)
		switch r := r.(type) {
		case engine.SessionRecord:
			w.sessions[sessionID(r)] = true
		case engine.Setting:
			w.settings[r.Key] = true
		case engine.SeenIDs:
			if last := w.numbers[r.Subqueue]; r.N <= last {
				return nil, w, 0, fmt.Errorf("%w: number %d of %d comes after number %d", errDisorder, r.N, r.Subqueue, last)
			}
			w.numbers[r.Subqueue] = r.N
		case engine.Clock:
			clock = r.Now
		case engine.Entity:
			w.entities[r.ID] = r
		case engine.Rule:
			w.rules[engine.RuleID{Subscription: r.Subscription, Name: strings.ToLower(r.Name)}] = r
		case engine.StoredContent:
			w.bodies[r.Key] = withBody(r.Content)
		case engine.Message:
			w.messages[r.Key] = r
		}
	}
	t = t.visible()
	maps.DeleteFunc(w.bodies, func(k engine.Key, _ bool) bool { _, ok := t[contentName(k)]; return !ok })
	return t, w, clock, nil
}

var errDisorder = errors.New("what was seen is out of order")

var errNotMine = errors.New("somebody else may own the namespace")

func (b *broker) load() error {
	t, w, clock, err := read(b.ctx, b.s)
	if err == nil {
		err = b.client.hold()
	}
	if errors.Is(err, errDisorder) {
		b.judge.failed(err)
	}
	if err == nil && !b.s.Owned() {
		err = errNotMine
	}
	if err != nil {
		b.tell("%s: load of epoch %d: %v", b.client.name, b.epoch, err)
		return err
	}
	b.tell("%s has loaded epoch %d", b.client.name, b.epoch)
	b.estate = w
	b.judge.loaded(b.epoch, t, clock)
	b.succeed(b)
	return nil
}

// work commits random batches until something fails or it has done enough, and reports whether
// nothing failed.
func (b *broker) work() bool {
	commits := 3 + b.IntN(25)
	life := upTo(b.Rand, 8*b.lease)
	for range b.IntN(3) {
		b.trouble(life)
	}
	for range commits {
		if b.over() || b.client.hold() != nil {
			break
		}
		select {
		case <-b.s.Lost():
			return false
		default:
		}
		b.act()
		switch b.IntN(12) {
		case 0:
			b.readBody()
		case 1:
			b.reload()
		}
		if !b.commit(b.next()) {
			return false
		}
		rest(time.Duration(b.ExpFloat64() * float64(life) / float64(commits)))
	}
	return true
}

// act calls Owned, as an owner does before an action without a request to MongoDB, and lets the
// judge check the owner if Owned returns true.
func (b *broker) act() {
	if b.s.Owned() {
		b.judge.acts(b.epoch)
	}
}

// commit commits a batch, and reports whether the process can go on.
func (b *broker) commit(batch *engine.Batch) bool {
	if batch == nil {
		return true
	}
	c := b.judge.commits(b.epoch, batch)
	patience := time.Duration(1+b.IntN(20)) * b.lease / 4
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := b.s.Commit(ctx, batch)
	if b.client.hold() != nil {
		return false // the process did not receive the answer
	}
	b.act()
	b.tell("%s: %v: %v", b.client.name, c, err)
	switch {
	case err == nil:
		b.judge.answered(c, acknowledged)
		b.apply(batch)
		return true
	case errors.Is(err, engine.ErrUnwritable):
		b.judge.answered(c, void)
		return true
	case errors.Is(err, engine.ErrFenced):
		b.judge.answered(c, void)
	default:
		b.judge.answered(c, pending)
	}
	return false
}

// reload loads all records again, while commits are applied and swept.
func (b *broker) reload() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*b.lease)
	defer cancel()
	t, _, _, err := read(ctx, b.s)
	if err == nil {
		err = b.client.hold()
	}
	if err == nil && b.s.Owned() {
		b.judge.reloaded(b.epoch, t)
	}
}

// readBody reads a body that must exist.
func (b *broker) readBody() {
	k, ok := pick(b.Rand, b.bodies)
	if !ok || !b.bodies[k] || b.client.hold() != nil {
		return
	}
	if err := checkBody(b.ctx, b.s, k); err != nil {
		if b.client.hold() == nil && b.s.Owned() && (errors.Is(err, engine.ErrMessageNotFound) || errors.Is(err, errOtherBody)) {
			b.judge.lost(b.epoch, err)
		}
		b.tell("%s: body %d: %v", b.client.name, k, err)
	}
}

var errOtherBody = errors.New("the body is another one")

func checkBody(ctx context.Context, s engine.Store, k engine.Key) error {
	r, err := s.Body(ctx, k)
	if err != nil {
		return fmt.Errorf("body %d: %w", k, err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("body %d: %w", k, err)
	}
	if !bytes.Equal(got, bodyOf(k)) {
		return fmt.Errorf("body %d: %w: %d bytes of %d", k, errOtherBody, len(got), len(bodyOf(k)))
	}
	return nil
}
