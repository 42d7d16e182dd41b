package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/template"
	"mayfly/engine/value"
)

// sceneActor is the actor of a scene's operations.
const sceneActor = "scene"

// A Speed selects how a step lets time pass.
type Speed uint8

const (
	Instant  Speed = iota // the clock jumps from one event to the next
	Animated              // the clock runs so fast that each wait takes a few seconds, so that it can be watched
)

const (
	maxRunTime = 3 * time.Second
	maxJumps   = 10_000    // jumps of one wait, each from one event to the next
	maxBody    = 256 << 10 // bytes kept of a message's body, to send it again
)

// A stepRunner plays steps on a broker.
type stepRunner struct {
	b     *broker.Broker
	clock *broker.ManualClock

	mu       sync.Mutex
	messages map[string]namedMessage // messages by their names; guarded by mu
}

// namedMessage is a message that has a name in the scene.
type namedMessage struct {
	key     engine.Key
	token   engine.LockToken
	path    engine.Path
	seq     engine.Seq
	by      string // the receiver, for display; empty if the message was not received
	content engine.Content
	body    []byte
}

// message returns the message with a name.
func (p *stepRunner) message(name string) namedMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.messages[name]
}

func (p *stepRunner) remember(name string, k namedMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages[name] = k
}

// keys returns the keys of messages by their names.
func (p *stepRunner) keys() map[string]engine.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]engine.Key, len(p.messages))
	for name, k := range p.messages {
		out[name] = k.key
	}
	return out
}

// createEntity creates an entity.
func (p *stepRunner) createEntity(ctx context.Context, e *Entity) error {
	var err error
	if len(e.rules) > 0 {
		_, err = p.b.CreateWithRules(ctx, e.kind, e.path, e.config, e.rules, sceneActor)
	} else {
		_, err = p.b.Create(ctx, e.kind, e.path, e.config, sceneActor)
	}
	return err
}

// do does one action.
func (p *stepRunner) do(ctx context.Context, a *Action, t Speed) error {
	switch {
	case a.Create != nil:
		return p.createEntity(ctx, a.Create)
	case a.Delete != "":
		return p.b.Delete(ctx, engine.Path(a.Delete), broker.Unconfirmed, sceneActor)
	case a.Send != nil:
		return p.send(ctx, a.Send)
	case a.Receive != nil:
		return p.receive(ctx, a.Receive)
	case a.ReceiveDeferred != nil:
		return p.fetch(ctx, a.ReceiveDeferred)
	case a.Complete != "":
		return p.settle(ctx, a.Complete, engine.Settlement{Outcome: engine.Complete})
	case a.Abandon != "":
		return p.settle(ctx, a.Abandon, engine.Settlement{Outcome: engine.Abandon})
	case a.Release != "":
		return p.settle(ctx, a.Release, engine.Settlement{Outcome: engine.Release})
	case a.Defer != "":
		return p.settle(ctx, a.Defer, engine.Settlement{Outcome: engine.Defer})
	case a.DeadLetter != nil:
		return p.settle(ctx, a.DeadLetter.Message, engine.Settlement{Outcome: engine.DeadLetter, Reason: a.DeadLetter.Reason, Description: a.DeadLetter.Description})
	case a.Renew != "":
		k := p.message(a.Renew)
		_, err := p.b.RenewLock(ctx, k.token, k.path, cmp.Or(k.by, sceneActor))
		return err
	case a.till != "":
		_, err := p.jumpTo(ctx, a.till, t)
		return err
	default:
		return p.passTime(ctx, p.clock.Now().Add(a.wait), t)
	}
}

func (p *stepRunner) settle(ctx context.Context, name string, s engine.Settlement) error {
	k := p.message(name)
	s.Token, s.Path, s.Client = k.token, k.path, cmp.Or(k.by, sceneActor)
	errs, err := p.b.Settle(ctx, s)
	return errors.Join(append(errs, err)...)
}

func (p *stepRunner) send(ctx context.Context, s *Send) error {
	now, err := p.b.Now(ctx)
	if err != nil {
		return err
	}
	var seed template.Seed
	_, _ = rand.Read(seed[:]) // never fails, by its contract
	out := make([]broker.Outgoing, 0, s.compiled.Count())
	for n := range s.compiled.Count() {
		c, body, err := s.compiled.Message(n+1, now, seed)
		if err != nil {
			return err
		}
		if s.Like != "" {
			c, body = copyContent(p.message(s.Like), c, body)
		}
		if s.SequenceNumberOf != "" {
			c.Properties = append(c.Properties, value.Property{Name: "sequence-number", Value: value.OfLong(int64(p.message(s.SequenceNumberOf).seq))})
		}
		out = append(out, broker.Outgoing{Content: c, Body: body})
	}
	var rows []engine.Row
	err = p.b.SendWithSettings(ctx, engine.Path(s.To), out, sceneActor, func(_ []engine.Seq, all []engine.Row) []engine.Setting {
		rows = all
		return nil
	})
	if err != nil {
		return err
	}
	if s.As != "" {
		k := namedMessage{content: out[0].Content, body: out[0].Body}
		if len(rows) > 0 {
			k.key, k.path, k.seq = rows[0].Message.Key, rows[0].Path, rows[0].Message.Seq
		}
		p.remember(s.As, k)
	}
	return nil
}

// copyContent returns the content and body of a copy of k. The subject, correlation id, reply
// address and properties that are set in c, and the body unless it is empty, replace those of k.
// The message id, time to live and scheduled time are always those of c.
func copyContent(k namedMessage, c engine.Content, body []byte) (engine.Content, []byte) {
	out := k.content
	out.MessageID, out.TTL, out.ScheduledFor = c.MessageID, c.TTL, c.ScheduledFor
	out.Subject = cmp.Or(c.Subject, out.Subject)
	out.CorrelationID = cmp.Or(c.CorrelationID, out.CorrelationID)
	out.ReplyTo = cmp.Or(c.ReplyTo, out.ReplyTo)
	out.Properties = out.Properties.Merge(c.Properties)
	if len(body) == 0 {
		body = k.body
	}
	return out, body
}

func (p *stepRunner) receive(ctx context.Context, r *Receive) error {
	got, err := p.b.Receive(ctx, broker.ReceiveRequest{Path: engine.Path(r.From), Max: max(r.Count, 1), Client: cmp.Or(r.By, sceneActor)})
	if err != nil {
		return err
	}
	for i, m := range got {
		name := r.As
		if r.Count > 1 {
			name = fmt.Sprint(r.As, i+1)
		}
		if err := p.storeReceived(name, cmp.Or(r.By, sceneActor), m); err != nil {
			return err
		}
	}
	switch {
	case r.None && len(got) > 0:
		return engine.Refuse(engine.ErrArgument, "'%s' should have no messages to receive, but has message %d.", r.From, got[0].Message.Seq)
	case !r.None && len(got) < max(r.Count, 1):
		return engine.Refuse(engine.ErrArgument, "'%s' has only %d of %d messages to receive.", r.From, len(got), max(r.Count, 1))
	}
	return nil
}

// storeReceived stores a received message and its receiver under a name.
func (p *stepRunner) storeReceived(name, by string, m broker.Received) (err error) {
	k := namedMessage{by: by, key: m.Message.Key, token: m.Token(), path: m.Path, seq: m.Message.Seq}
	if k.content, err = m.Content.Content(); err != nil {
		return fmt.Errorf("read message %d: %w", k.seq, err)
	}
	k.body, err = io.ReadAll(io.LimitReader(m.Body, maxBody))
	if err = errors.Join(err, m.Body.Close()); err != nil {
		return fmt.Errorf("read the body of message %d: %w", k.seq, err)
	}
	p.remember(name, k)
	return nil
}

func (p *stepRunner) fetch(ctx context.Context, f *ReceiveDeferred) error {
	by := cmp.Or(f.By, p.message(f.Message).by, sceneActor)
	got, err := p.b.ReceiveDeferred(ctx, engine.Path(f.From), []engine.Seq{p.message(f.Message).seq}, engine.PeekLock, by)
	switch {
	case f.Refused && errors.Is(err, engine.ErrMessageNotFound):
		return nil
	case err != nil:
		return err
	case f.Refused:
		return engine.Refuse(engine.ErrArgument, "Message %d should not be receivable, but was received.", p.message(f.Message).seq)
	}
	return p.storeReceived(f.Message, by, got[0])
}

// jumpTo lets time pass until the next event of a kind, and returns its time, or zero if no such
// event is due.
func (p *stepRunner) jumpTo(ctx context.Context, m Moment, t Speed) (engine.Instant, error) {
	var to engine.Instant
	err := p.b.Read(ctx, func(r broker.Reader) error { to = m.in(r.Upcoming()); return nil })
	if err != nil || to == 0 {
		return 0, err
	}
	return to, p.passTime(ctx, to, t)
}

// passTime moves the clock to an instant and waits until all work that is due by then is done. The
// clock jumps from event to event, so that each happens at its own time; if t is Animated, it runs
// instead.
func (p *stepRunner) passTime(ctx context.Context, to engine.Instant, t Speed) error {
	if t == Animated {
		if err := p.runTo(ctx, to); err != nil {
			return err
		}
	}
	for range maxJumps { // jump from event to event, so that each happens at its proper time
		now, due, err := p.nextDue(ctx)
		if err != nil {
			return err
		}
		switch {
		case due != 0 && due <= now: // the broker is doing due work
		case now >= to:
			return nil
		case due == 0 || due > to:
			p.clock.JumpTo(to)
		default:
			p.clock.JumpTo(due)
		}
	}
	p.clock.JumpTo(to) // after maxJumps, skip the other events
	_, _, err := p.nextDue(ctx)
	return err
}

// nextDue returns the time, and when the next event is due.
func (p *stepRunner) nextDue(ctx context.Context) (now, due engine.Instant, err error) {
	err = p.b.Read(ctx, func(r broker.Reader) error { now, due = r.Now, r.NextDue(); return nil })
	return now, due, err
}

// runTo lets the clock run to an instant in at most maxRunTime.
func (p *stepRunner) runTo(ctx context.Context, to engine.Instant) error {
	p.clock.RunTo(to, min(max(to.Sub(p.clock.Now()), 0), maxRunTime))
	if err := p.b.Audit(ctx, engine.EventClockTurned, ClockChange{Running: true}.String(), sceneActor); err != nil {
		return err
	}
	for {
		wait := p.b.TimeUntil(to)
		if wait <= 0 {
			return nil
		}
		if wait == math.MaxInt64 { // a user has stopped the clock
			return p.finishRun(to)
		}
		over := time.NewTimer(wait)
		select {
		case <-over.C:
		case <-p.b.Done():
			over.Stop()
			return engine.ErrClosed
		case <-ctx.Done():
			over.Stop()
			return context.Cause(ctx)
		}
	}
}

// finishRun sets the clock, which was stopped during an animated step, to the step's end.
func (p *stepRunner) finishRun(to engine.Instant) error {
	p.clock.JumpTo(to)
	return nil
}

// checkAll checks the expectations of a step.
func (p *stepRunner) checkAll(ctx context.Context, all []Expectation) ([]CheckResult, error) {
	var out []CheckResult
	err := p.b.Read(ctx, func(r broker.Reader) error {
		out = make([]CheckResult, 0, len(all))
		for _, e := range all {
			is := p.compare(r, e)
			out = append(out, CheckResult{Text: e.Text, OK: is == Actual{}, Actual: is})
		}
		return nil
	})
	return out, err
}

// compare returns the actual state if it differs from an expectation, or the zero Actual.
func (p *stepRunner) compare(r broker.Reader, e Expectation) Actual {
	if e.Entity != "" {
		return judgeEntity(r, e)
	}
	k := p.message(e.Message)
	row, err := r.Message(k.key)
	switch {
	case e.Gone && err != nil:
		return Actual{}
	case e.Gone:
		return Actual{Kind: IsIn, Value: string(row.Path)}
	case err != nil:
		return Actual{Kind: IsGone}
	}
	return judgeMessage(row, e)
}

func judgeEntity(r broker.Reader, e Expectation) Actual {
	s, err := r.State(engine.Path(e.Entity))
	switch {
	case e.Gone && err != nil:
		return Actual{}
	case e.Gone:
		return Actual{Kind: IsThere, Subject: e.Entity}
	case err != nil:
		return Actual{Kind: IsMissing, Subject: e.Entity}
	}
	for _, n := range []struct {
		want *int64
		is   int64
		of   string
	}{
		{e.Active, s.Counts.Active, "active"}, {e.Locked, s.Counts.Locked, "locked"}, {e.Deferred, s.Counts.Deferred, "deferred"},
		{e.Scheduled, s.Counts.Scheduled, "scheduled"}, {e.DeadLetters, s.Counts.DeadLetter, "dead"},
	} {
		if n.want != nil && *n.want != n.is {
			return Actual{Kind: HasCount, Subject: e.Entity, Value: n.of, Count: n.is, Want: *n.want}
		}
	}
	return Actual{}
}

func judgeMessage(row engine.Row, e Expectation) Actual {
	state, extra := strings.ToLower(row.Message.State.String()), row.Message.Extra
	if row.Message.LockedUntil != 0 {
		state = "locked"
	}
	if extra == nil {
		extra = &engine.Extra{}
	}
	c, err := row.Content.Content()
	switch {
	case err != nil:
		return Actual{Kind: IsUnread, Value: err.Error()}
	case e.In != "" && !strings.EqualFold(string(row.Path), e.In):
		return Actual{Kind: IsIn, Value: string(row.Path)}
	case e.In == "" && e.State != "" && row.Path.Entity() != row.Path: // without In the message must be in the entity itself
		return Actual{Kind: IsIn, Value: string(row.Path)}
	case e.State != "" && e.State != state:
		return Actual{Kind: HasState, Value: state}
	case e.Reason != "" && e.Reason != extra.Reason:
		return Actual{Kind: HasReason, Value: extra.Reason}
	case e.DeliveryCount != nil && *e.DeliveryCount != int32(row.Message.DeliveryCount):
		return Actual{Kind: HasFailed, Count: int64(row.Message.DeliveryCount)}
	case e.Body != "" && e.Body != c.Preview:
		return Actual{Kind: HasBody, Value: c.Preview}
	}
	have := c.Properties.Merge(extra.Properties)
	for _, name := range sorted(e.Properties) {
		if v, _ := have.Lookup(name); v.Text() != fmt.Sprint(e.Properties[name]) {
			return Actual{Kind: HasProperty, Subject: name, Value: v.Text()}
		}
	}
	return Actual{}
}
