package scene

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
	"mayfly/engine/draft"
	"mayfly/engine/value"
)

// actor is who the broker is told does what a scene does.
const actor = "scene"

// A Tempo is how a step lets time pass.
type Tempo uint8

// The tempi.
const (
	AtOnce  Tempo = iota // the clock leaps, from one thing that happens to the next
	Gliding              // it runs fast enough for a few seconds, so that it can be watched
)

const (
	longestGlide = 3 * time.Second
	mostLeaps    = 10_000    // of one wait, from one thing to the next
	mostBody     = 256 << 10 // bytes that are kept of a message's body, to send it again
)

// A player plays steps on a broker.
type player struct {
	b     *broker.Broker
	clock *broker.Machine

	mu    sync.Mutex
	known map[string]known // messages by their names; guarded by mu
}

// known is a message that has a name.
type known struct {
	key     engine.Key
	token   engine.LockToken
	path    engine.Path
	seq     engine.Seq
	by      string // who received it, for people; empty: nobody has
	content engine.Content
	body    []byte
}

// named is the message of a name.
func (p *player) named(name string) known {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[name]
}

func (p *player) name(name string, k known) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[name] = k
}

// names are the keys of messages by their names.
func (p *player) names() map[string]engine.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]engine.Key, len(p.known))
	for name, k := range p.known {
		out[name] = k.key
	}
	return out
}

// make makes an entity.
func (p *player) make(ctx context.Context, e *Entity) error {
	var err error
	if len(e.rules) > 0 {
		_, err = p.b.CreateWithRules(ctx, e.kind, e.path, e.config, e.rules, actor)
	} else {
		_, err = p.b.Create(ctx, e.kind, e.path, e.config, actor)
	}
	return err //nolint:wrapcheck // it says what it is about
}

// do does one action.
func (p *player) do(ctx context.Context, a *Action, t Tempo) error {
	switch {
	case a.Create != nil:
		return p.make(ctx, a.Create)
	case a.Delete != "":
		return p.b.Delete(ctx, engine.Path(a.Delete), broker.Unasked, actor) //nolint:wrapcheck // it says what it is about
	case a.Send != nil:
		return p.send(ctx, a.Send)
	case a.Receive != nil:
		return p.receive(ctx, a.Receive)
	case a.Fetch != nil:
		return p.fetch(ctx, a.Fetch)
	case a.Complete != "":
		return p.settle(ctx, a.Complete, engine.Settlement{Outcome: engine.Complete})
	case a.Abandon != "":
		return p.settle(ctx, a.Abandon, engine.Settlement{Outcome: engine.Abandon})
	case a.Release != "":
		return p.settle(ctx, a.Release, engine.Settlement{Outcome: engine.Release})
	case a.Defer != "":
		return p.settle(ctx, a.Defer, engine.Settlement{Outcome: engine.Defer})
	case a.DeadLetter != nil:
		return p.settle(ctx, a.DeadLetter.Message, engine.Settlement{Outcome: engine.DeadLetter, Reason: a.DeadLetter.Reason, Description: a.DeadLetter.About})
	case a.Renew != "":
		k := p.named(a.Renew)
		_, err := p.b.Renew(ctx, k.token, k.path, cmp.Or(k.by, actor))
		return err //nolint:wrapcheck // it says what it is about
	case a.till != "":
		_, err := p.leapTo(ctx, a.till, t)
		return err
	default:
		return p.pass(ctx, p.clock.Now().Add(a.wait), t)
	}
}

func (p *player) settle(ctx context.Context, name string, s engine.Settlement) error {
	k := p.named(name)
	s.Token, s.Path, s.Client = k.token, k.path, cmp.Or(k.by, actor)
	errs, err := p.b.Settle(ctx, s)
	return errors.Join(append(errs, err)...)
}

func (p *player) send(ctx context.Context, s *Send) error {
	now, err := p.b.Now(ctx)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	var seed draft.Seed
	_, _ = rand.Read(seed[:]) // never fails, by its contract
	out := make([]broker.Outgoing, 0, s.mould.Count())
	for n := range s.mould.Count() {
		c, body, err := s.mould.Message(n+1, now, seed)
		if err != nil {
			return err //nolint:wrapcheck // it says what it is about
		}
		if s.Like != "" {
			c, body = like(p.named(s.Like), c, body)
		}
		if s.NumberOf != "" {
			c.Properties = append(c.Properties, value.Property{Name: "sequence-number", Value: value.OfLong(int64(p.named(s.NumberOf).seq))})
		}
		out = append(out, broker.Outgoing{Content: c, Body: body})
	}
	var rows []engine.Row
	err = p.b.SendKeeping(ctx, engine.Path(s.To), out, actor, func(_ []engine.Seq, all []engine.Row) []engine.Setting {
		rows = all
		return nil
	})
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	if s.As != "" {
		k := known{content: out[0].Content, body: out[0].Body}
		if len(rows) > 0 {
			k.key, k.path, k.seq = rows[0].Message.Key, rows[0].Path, rows[0].Message.Seq
		}
		p.name(s.As, k)
	}
	return nil
}

// like is what a message has that is sent like another one.
func like(k known, c engine.Content, body []byte) (engine.Content, []byte) {
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

func (p *player) receive(ctx context.Context, r *Receive) error {
	got, err := p.b.Receive(ctx, broker.Receive{Path: engine.Path(r.From), Max: max(r.Count, 1), Client: cmp.Or(r.By, actor)})
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	for i, m := range got {
		name := r.As
		if r.Count > 1 {
			name = fmt.Sprint(r.As, i+1)
		}
		if err := p.take(name, cmp.Or(r.By, actor), m); err != nil {
			return err
		}
	}
	switch {
	case r.None && len(got) > 0:
		return refuse("'%s' was to have nothing to receive, and has message %d.", r.From, got[0].Message.Seq)
	case !r.None && len(got) < max(r.Count, 1):
		return refuse("'%s' has %d of the %d messages that are to be received.", r.From, len(got), max(r.Count, 1))
	}
	return nil
}

// take remembers a message under a name, and who has received it.
func (p *player) take(name, by string, m broker.Received) (err error) {
	k := known{by: by, key: m.Message.Key, token: m.Token(), path: m.Path, seq: m.Message.Seq}
	if k.content, err = m.Content.Content(); err != nil {
		return fmt.Errorf("read message %d: %w", k.seq, err)
	}
	k.body, err = io.ReadAll(io.LimitReader(m.Body, mostBody))
	if err = errors.Join(err, m.Body.Close()); err != nil {
		return fmt.Errorf("read the body of message %d: %w", k.seq, err)
	}
	p.name(name, k)
	return nil
}

func (p *player) fetch(ctx context.Context, f *Fetch) error {
	by := cmp.Or(f.By, p.named(f.Message).by, actor)
	got, err := p.b.Fetch(ctx, engine.Path(f.From), []engine.Seq{p.named(f.Message).seq}, engine.PeekLock, by)
	switch {
	case f.Refused && errors.Is(err, engine.ErrMessageNotFound):
		return nil
	case err != nil:
		return err //nolint:wrapcheck // it says what it is about
	case f.Refused:
		return refuse("Message %d was not to be had, and was.", p.named(f.Message).seq)
	}
	return p.take(f.Message, by, got[0])
}

// leapTo lets time pass until something of a kind happens next, and tells when
// that is; zero: nothing of the kind is to come.
func (p *player) leapTo(ctx context.Context, m Moment, t Tempo) (engine.Instant, error) {
	var to engine.Instant
	err := p.b.Read(ctx, func(r broker.Reader) error { to = m.in(r.Upcoming()); return nil })
	if err != nil || to == 0 {
		return 0, err //nolint:wrapcheck // it says what it is about
	}
	return to, p.pass(ctx, to, t)
}

// pass lets time pass until an instant, and waits until all that is due by then is
// done.
func (p *player) pass(ctx context.Context, to engine.Instant, t Tempo) error {
	if t == Gliding {
		if err := p.glide(ctx, to); err != nil {
			return err
		}
	}
	for range mostLeaps { // so that what happens has the time at which it does
		now, due, err := p.due(ctx)
		if err != nil {
			return err
		}
		switch {
		case due != 0 && due <= now: // it is being done
		case now >= to:
			return nil
		case due == 0 || due > to:
			p.clock.Leap(to)
		default:
			p.clock.Leap(due)
		}
	}
	p.clock.Leap(to) // much happens: all that is left at once
	_, _, err := p.due(ctx)
	return err
}

// due is what time it is, and when something is due next.
func (p *player) due(ctx context.Context) (now, due engine.Instant, err error) {
	err = p.b.Read(ctx, func(r broker.Reader) error { now, due = r.Now, r.NextDue(); return nil })
	return now, due, err //nolint:wrapcheck // it says what it is about
}

// glide has the clock run to an instant in a time that people wait for.
func (p *player) glide(ctx context.Context, to engine.Instant) error {
	p.clock.Glide(to, min(max(to.Sub(p.clock.Now()), 0), longestGlide))
	if err := p.b.Remember(ctx, engine.EventClockTurned, Turning{Glide: true}.String(), actor); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	for {
		wait := p.b.Wait(to)
		if wait <= 0 {
			return nil
		}
		if wait == math.MaxInt64 { // somebody has turned it meanwhile
			return p.hurry(to)
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

// hurry ends a glide that stands on its way.
func (p *player) hurry(to engine.Instant) error {
	p.clock.Leap(to)
	return nil
}

// look tells whether what a step says is so.
func (p *player) look(ctx context.Context, all []Expect) ([]Finding, error) {
	var out []Finding
	err := p.b.Read(ctx, func(r broker.Reader) error {
		out = make([]Finding, 0, len(all))
		for _, e := range all {
			is := p.judge(r, e)
			out = append(out, Finding{Text: e.Text, OK: is == Instead{}, Is: is})
		}
		return nil
	})
	return out, err //nolint:wrapcheck // it says what it is about
}

// judge tells what is not as expected; zero: all is.
func (p *player) judge(r broker.Reader, e Expect) Instead {
	if e.Entity != "" {
		return judgeEntity(r, e)
	}
	k := p.named(e.Message)
	row, err := r.Message(k.key)
	switch {
	case e.Gone && err != nil:
		return Instead{}
	case e.Gone:
		return Instead{What: IsIn, Is: string(row.Path)}
	case err != nil:
		return Instead{What: IsGone}
	}
	return judgeMessage(row, e)
}

func judgeEntity(r broker.Reader, e Expect) Instead {
	s, err := r.State(engine.Path(e.Entity))
	switch {
	case e.Gone && err != nil:
		return Instead{}
	case e.Gone:
		return Instead{What: IsThere, Of: e.Entity}
	case err != nil:
		return Instead{What: IsMissing, Of: e.Entity}
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
			return Instead{What: HasCount, Of: e.Entity, Is: n.of, N: n.is, Want: *n.want}
		}
	}
	return Instead{}
}

func judgeMessage(row engine.Row, e Expect) Instead {
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
		return Instead{What: IsUnread, Is: err.Error()}
	case e.In != "" && !strings.EqualFold(string(row.Path), e.In):
		return Instead{What: IsIn, Is: string(row.Path)}
	case e.In == "" && e.State != "" && row.Path.Entity() != row.Path: // a dead letter waits for nobody
		return Instead{What: IsIn, Is: string(row.Path)}
	case e.State != "" && e.State != state:
		return Instead{What: HasState, Is: state}
	case e.Reason != "" && e.Reason != extra.Reason:
		return Instead{What: HasReason, Is: extra.Reason}
	case e.Deliveries != nil && *e.Deliveries != int32(row.Message.DeliveryCount): //nolint:gosec // as many as a queue allows
		return Instead{What: HasFailed, N: int64(row.Message.DeliveryCount)}
	case e.Body != "" && e.Body != c.Preview:
		return Instead{What: HasBody, Is: c.Preview}
	}
	have := c.Properties.Merge(extra.Properties)
	for _, name := range sorted(e.Properties) {
		if v, _ := have.Lookup(name); v.Text() != fmt.Sprint(e.Properties[name]) {
			return Instead{What: HasProperty, Of: name, Is: v.Text()}
		}
	}
	return Instead{}
}
