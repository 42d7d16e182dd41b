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
	"slices"
	"strings"
	"time"

	"mayfly/engine"
)

// A process comes and goes: it opens the namespace, lives on it for a while as a
// broker would, and closes the store, loses it or dies. Then comes the next one.
type process struct {
	*world
	*rand.Rand
	name   string
	client *client
}

// live is what a process does until the world ends.
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

// sleep is for some time up to most, which need not end sharply.
func (p *process) sleep(most time.Duration) { time.Sleep(upTo(p.Rand, most)) }

// mostTrouble is the longest that a process stands still or is cut off, in
// leases.
const mostTrouble = 12

// trouble comes to the process some time soon: it stands still for a while, is
// cut off, or dies.
func (p *process) trouble(soon time.Duration) {
	c := p.client
	d := time.Duration(p.Float64() * float64(4*p.lease))
	if p.IntN(8) == 0 {
		d *= mostTrouble / 4 // long enough for two others
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
			// Hearing what came of it all just once more is worse than nothing.
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
		Namespace: "sim", Lease: p.lease, Process: p.client.name, clock: p.client.clock,
		weaken: p.weaken, kept: p.kept, Logger: p.logger(p.client.name),
	}
	if p.IntN(3) > 0 {
		o.Standby = func(engine.Owner) {}
	}
	s, err := openOn(ctx, p.client, nil, o)
	if err != nil {
		p.tell("%s: %v", p.client.name, err)
		if errors.Is(err, errGap) && p.client.runs() && p.latestOwner() == p.client.name {
			p.judge.failed(err)
		}
		return
	}
	p.tell("%s has epoch %d", p.client.name, s.Epoch())
	b := broker{process: p, client: p.client, s: s, ctx: ctx, epoch: s.Epoch(), keys: engine.NewKeys(s.Epoch())}
	if p.IntN(4) == 0 {
		p.sleep(3 * time.Second) // what was replayed is being applied
	}
	healthy := b.load() == nil && b.work()
	err = s.Close()
	p.tell("%s closes epoch %d: %v", p.client.name, s.Epoch(), err)
	if err == nil && healthy && s.over() == errClosed { //nolint:errorlint // not one that wraps it
		p.judge.parted(s.Epoch())
	}
}

// latestOwner is the process that has the highest epoch.
func (w *world) latestOwner() string {
	last := w.db.some(owners, span{from: "sim/", to: "sim0", backwards: true}, 1)
	if len(last) == 0 {
		return ""
	}
	return textIn(last[0].doc, "process")
}

// A broker is the state of a namespace in the hands of one owner.
type broker struct {
	*process
	client *client // of this life of the process
	s      *Store
	ctx    context.Context
	epoch  uint64
	keys   *engine.Keys

	estate
}

// An estate is that part of the state that a broker decides by.
type estate struct {
	entities map[engine.HolderID]engine.Entity
	rules    map[engine.RuleID]engine.Rule
	messages map[engine.Key]engine.Message
	bodies   map[engine.Key]bool // contents that have a body
}

// read is everything that a store remembers, or a snapshot.
func read(ctx context.Context, s interface {
	Load(ctx context.Context) iter.Seq2[engine.Record, error]
}) (truth, estate, engine.Instant, error) {
	t := truth{}
	w := estate{
		entities: map[engine.HolderID]engine.Entity{}, rules: map[engine.RuleID]engine.Rule{},
		messages: map[engine.Key]engine.Message{}, bodies: map[engine.Key]bool{},
	}
	var clock engine.Instant
	for r, err := range s.Load(ctx) {
		if err != nil {
			return nil, w, 0, err
		}
		t.put(r)
		switch r := r.(type) {
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

var errNotMine = errors.New("somebody else may own the namespace")

func (b *broker) load() error {
	t, w, clock, err := read(b.ctx, b.s)
	if err == nil {
		err = b.client.hold()
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

// work commits this and that until something fails or it has been enough, and
// tells whether all went well.
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
		time.Sleep(time.Duration(b.ExpFloat64() * float64(life) / float64(commits)))
	}
	return true
}

// act is what an owner does of its own accord, as long as it owns.
func (b *broker) act() {
	if b.s.Owned() {
		b.judge.acts(b.epoch)
	}
}

// commit makes a batch true, if the store says so, and tells whether to go on.
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
		return false // nobody heard the answer
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

func (b *broker) apply(batch *engine.Batch) {
	for _, e := range batch.Entities {
		b.entities[e.ID] = e
	}
	for _, r := range batch.Rules {
		b.rules[engine.RuleID{Subscription: r.Subscription, Name: r.Name}] = r
	}
	for _, c := range batch.Contents {
		b.bodies[c.Key] = withBody(c.Content)
	}
	for _, m := range batch.Messages {
		b.messages[m.Key] = m
	}
	for _, k := range batch.DropMessages {
		delete(b.messages, k)
	}
	for _, c := range batch.DropContents {
		delete(b.bodies, c.Key)
	}
	for _, id := range batch.DropRules {
		delete(b.rules, id)
	}
	for _, id := range batch.DropHolders {
		delete(b.entities, id)
		maps.DeleteFunc(b.messages, func(_ engine.Key, m engine.Message) bool { return m.Holder == id })
		maps.DeleteFunc(b.rules, func(r engine.RuleID, _ engine.Rule) bool { return r.Subscription == id })
	}
}

// bodyText marks contents that have a body; the body is then known from the key.
const bodyText = "with a body "

func withBody(c engine.Packed) bool { return strings.HasPrefix(string(c), bodyText) }

func bodyOf(k engine.Key) []byte {
	r := rand.New(rand.NewPCG(uint64(k), 0))
	return bytes.Repeat([]byte{byte(k), byte(k >> 40), byte(r.Uint32())}, 1+r.IntN(100))
}

// reload reads all again, in the middle of applying and sweeping.
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

// readBody reads a body that must be there.
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

// pick is one of a map's keys; false if there is none.
func pick[K ~uint64, V any](r *rand.Rand, m map[K]V) (K, bool) {
	if len(m) == 0 {
		return 0, false
	}
	return slices.Sorted(maps.Keys(m))[r.IntN(len(m))], true
}

// next is what happens next; nil if nothing does after all. Each batch has the
// meter of the first entity, by which the judge tells one state from another.
func (b *broker) next() *engine.Batch {
	now := b.now()
	batch := &engine.Batch{Now: now, Hard: b.IntN(4) > 0}
	if len(b.entities) == 0 {
		batch.Hard = true
		batch.Entities = []engine.Entity{{ID: 1, DeadLetterID: 2, Path: "first", CreatedAt: now}}
	}
	batch.Meters = []engine.Meter{{Holder: 1, NextSeq: engine.Seq(now), LastUsed: now}}
	for range 1 + b.IntN(3) {
		if !b.something(batch, b.IntN(20)) {
			return nil
		}
	}
	return batch
}

// something adds one thing to a batch, unless there is nothing of the kind; it
// is false if the store failed on the way.
func (b *broker) something(batch *engine.Batch, what int) bool {
	if len(b.entities) == 0 {
		return true
	}
	switch {
	case what < 8:
		return b.send(batch)
	case what < 13:
		b.settle(batch)
	case what < 17:
		b.touch(batch)
	case what < 18:
		id := engine.HolderID(b.keys.Next())
		batch.Entities = append(batch.Entities, engine.Entity{ID: id, DeadLetterID: id + 1<<30, Path: engine.Path(fmt.Sprint("q", id)), CreatedAt: batch.Now})
		batch.Meters = append(batch.Meters, engine.Meter{Holder: id, NextSeq: 1})
		batch.Hard = true
	case what < 19:
		if id, ok := pick(b.Rand, b.entities); ok && id != 1 && !concerns(batch, id) {
			b.remove(batch, id)
		}
	default:
		b.rule(batch)
	}
	return true
}

// remove drops an entity and its dead-letter queue, with their messages.
func (b *broker) remove(batch *engine.Batch, id engine.HolderID) {
	dead := b.entities[id].DeadLetterID
	batch.DropHolders = append(batch.DropHolders, id, dead)
	batch.Hard = true
	for _, k := range slices.Sorted(maps.Keys(b.messages)) {
		if m := b.messages[k]; m.Holder == id || m.Holder == dead {
			batch.DropContents = append(batch.DropContents, engine.DroppedContent{Key: m.Content, HasBody: b.bodies[m.Content]})
		}
	}
}

// concerns tells whether a batch names a holder or what is in it.
func concerns(batch *engine.Batch, id engine.HolderID) bool {
	return len(batch.Entities) > 0 || slices.Contains(batch.DropHolders, id) || len(batch.DropMessages) > 0 || len(batch.DropRules) > 0 ||
		len(batch.Messages) > 0 ||
		slices.ContainsFunc(batch.Rules, func(r engine.Rule) bool { return r.Subscription == id })
}

func (b *broker) send(batch *engine.Batch) bool {
	if len(b.messages) > 12 {
		return true
	}
	id, _ := pick(b.Rand, b.entities)
	if slices.Contains(batch.DropHolders, id) {
		return true
	}
	k := b.keys.Next()
	content := fmt.Sprintf("content of %d", k)
	switch b.IntN(4) {
	case 0:
		content = bodyText + content
		batch.Bodies = append(batch.Bodies, engine.Body{Key: k, Bytes: bodyOf(k)})
	case 1:
		if b.IntN(3) > 0 {
			break
		}
		content = bodyText + content
		if err := b.s.Stage(b.ctx, k, bytes.NewReader(bodyOf(k))); err != nil {
			b.tell("%s: stage %d: %v", b.client.name, k, err)
			return b.client.hold() == nil && b.s.Owned() // the message is not sent
		}
	}
	batch.Contents = append(batch.Contents, engine.StoredContent{Key: k, Content: engine.Packed(content)})
	batch.Messages = append(batch.Messages, engine.Message{
		Key: k, Content: k, Holder: id, Seq: engine.Seq(batch.Now), EnqueuedSeq: engine.Seq(batch.Now), EnqueuedAt: batch.Now,
	})
	batch.Hard = true
	return true
}

// free picks a message that the batch does not name yet.
func (b *broker) free(batch *engine.Batch) (engine.Message, bool) {
	k, ok := pick(b.Rand, b.messages)
	m := b.messages[k]
	return m, ok && !slices.Contains(batch.DropMessages, k) && !slices.Contains(batch.DropHolders, m.Holder) &&
		!slices.ContainsFunc(batch.Messages, func(m engine.Message) bool { return m.Key == k })
}

func (b *broker) settle(batch *engine.Batch) {
	if m, ok := b.free(batch); ok {
		batch.DropMessages = append(batch.DropMessages, m.Key)
		batch.DropContents = append(batch.DropContents, engine.DroppedContent{Key: m.Content, HasBody: b.bodies[m.Content]})
		batch.Hard = true
	}
}

// touch locks a message, gives it back, or makes a dead letter of it.
func (b *broker) touch(batch *engine.Batch) {
	m, ok := b.free(batch)
	if !ok {
		return
	}
	switch b.IntN(4) {
	case 0:
		m.LockedUntil, m.DeliveryCount = 0, m.DeliveryCount+1
	case 1:
		if dead := b.entities[m.Holder].DeadLetterID; dead != 0 {
			m.Holder, m.Extra = dead, &engine.Extra{DeadLettered: true, Reason: "worn", DeadAt: batch.Now}
			batch.Hard = true
		}
	default:
		m.LockedUntil, m.Nonce = batch.Now+60_000, b.Uint64()
	}
	batch.Messages = append(batch.Messages, m)
}

func (b *broker) rule(batch *engine.Batch) {
	id, _ := pick(b.Rand, b.entities)
	r := engine.RuleID{Subscription: id, Name: fmt.Sprint("rule", b.IntN(3))}
	if slices.Contains(batch.DropHolders, id) || slices.Contains(batch.DropRules, r) ||
		slices.ContainsFunc(batch.Rules, func(other engine.Rule) bool { return other.Name == r.Name }) {
		return
	}
	batch.Hard = true
	if _, ok := b.rules[r]; ok {
		batch.DropRules = append(batch.DropRules, r)
		return
	}
	batch.Rules = append(batch.Rules, engine.Rule{Subscription: r.Subscription, Name: r.Name, CreatedAt: batch.Now})
}
