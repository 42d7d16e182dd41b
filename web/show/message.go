package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/amqp/carry"
)

const (
	bodyShown = 1 << 20 // of a body up to this size all is looked at
	bodyHead  = 4 << 10 // of a larger one its beginning
)

// A messageSight is what a message's page sees of the broker.
type messageSight struct {
	engine.Row
	in      entitySight
	content engine.Content
}

func (p *Pages) message(ctx context.Context, at Place) (view.Page, uint64, error) {
	var m messageSight
	s, err := p.look(ctx, func(r broker.Reader) (err error) {
		m, err = seeMessage(r, at.Key)
		return err
	})
	if errors.Is(err, engine.ErrMessageNotFound) {
		return p.endedPage(ctx, at)
	}
	if err != nil {
		return nil, 0, err
	}
	out := p.messageModel(ctx, at, m, s)
	c := p.living(ctx, at.Key)
	out.Why = p.why(ctx, m, c.past, s.now)
	out.Life, out.Known = p.life(ctx, m, c.past, s.now), p.known(c)
	if lock := at.Query.Get("lock"); lock != "" && !out.Hold.Until.IsZero() && m.Message.Token().String() == lock {
		out.Token = lock
	}
	if !view.IsStill(ctx) { // a body is not live: it never changes
		from, _ := number(at.Query.Get(page.HexFrom)) // anything else is the beginning
		if err = p.body(ctx, m, int64(min(from, math.MaxInt64)), &out.Body); err != nil && !errors.Is(err, engine.ErrMessageNotFound) {
			return nil, 0, err
		}
		out.Sent = sent(m.content, out.Body)
		out.Again = p.again(ctx, m, out.Body)
		out.Kin, out.KinMore = p.kin(ctx, at.Key, m.Message.Content, c.past)
	}
	if out.Expired || out.Clock.At.IsZero() {
		return out, s.n, nil
	}
	return Refreshing{out, time.Second}, s.n, nil
}

func seeMessage(r broker.Reader, k engine.Key) (m messageSight, err error) {
	if m.Row, err = r.Message(k); err != nil {
		return m, err //nolint:wrapcheck // the caller asked for just this
	}
	if m.in, err = seeEntity(r, m.Path.Entity()); err != nil {
		return m, err
	}
	if m.content, err = m.Content.Content(); err != nil {
		return m, fmt.Errorf("message %d: %w", k, err)
	}
	return m, nil
}

// placeOf is the entity that a message is in.
func (p *Pages) placeOf(kind engine.EntityKind, path engine.Path) page.Place {
	return page.Place{Kind: pageKind(kind), Name: Shown(path.Entity()), Href: p.EntityURL(kind, path.Entity()), Dead: path.IsDeadLetter()}
}

// messageModel is a message that is there, but for its story.
func (p *Pages) messageModel(ctx context.Context, at Place, m messageSight, s sight) page.Message {
	title := calledBriefly(m.Content, m.Message.Seq)
	out := page.Message{
		Shell: p.shell(ctx, at, s, title), Key: keyText(m.Message.Key), Href: p.MessageURL(m.Message.Key),
		In: p.placeOf(m.in.Kind, m.Path), Path: m.Path.Entity().Fold(),
		State: stateOf(m.Row, s.now), Number: int64(m.Message.Seq),
		Subject: cut(m.content.Subject, 400), ID: cut(m.content.MessageID, 128), Type: cut(m.content.ContentType, 200),
		Size: m.Content.Size(), Tries: int(m.Message.DeliveryCount), Max: int(m.Deliveries),
		Clock: ttlClock(m.Row, s.now), Expired: outOfTime(m.Row, s.now), Hold: hold(m.Row, s.now, m.in.Config.LockFor()),
		Due: dueClock(m.Message, s.now), Fate: fate(m.Path, m.KeepsDead),
		View: page.BodyView(oneOf(at.Query.Get("view"), string(page.TreeView), string(page.RawView), string(page.HexView), string(page.HeadersView), string(page.SentView))),
		Body: page.Body{Size: m.content.BodySize, Form: bodyForm(m.content.BodyKind), Download: p.MessageURL(m.Message.Key) + "/body"},
	}
	out.Holder, out.HolderAt = p.holder(ctx, m.Lock.By)
	if m.content.HasSessionID() && m.in.Config.RequiresSession {
		out.Session = component.SessionName(ctx, m.content.SessionID)
		out.SessionHref = p.SessionURL(m.in.Kind, m.Path.Entity(), m.content.SessionID)
	}
	out.Shell.Active = layout.Queues
	if m.in.Kind != engine.Queue {
		out.Shell.Active = layout.Topics
	}
	if m.content.BodySize == 0 {
		out.Body.Download = ""
	}
	if x := m.Message.Extra; x != nil && m.Path.IsDeadLetter() {
		died := x.DeadAt.Time()
		out.Reason = page.Reason{Reason: x.Reason, Description: x.Description, First: died, Last: died, Now: s.now.Time()}
	}
	out.Headers = headers(ctx, m.Row, m.content)
	out.Application = properties(m.Message.Properties(m.content))
	return out
}

func bodyForm(k engine.BodyKind) string {
	switch k {
	case engine.ValueBody:
		return "value"
	case engine.SequenceBody:
		return "sequence"
	default:
		return "data"
	}
}

// longestValue is how much of one property is shown.
const longestValue = 2000

func properties(all value.Properties) []component.Property {
	out := make([]component.Property, 0, len(all))
	for _, q := range all {
		out = append(out, component.Property{Name: cut(q.Name, 200), Value: cut(q.Value.String(), longestValue), Type: q.Value.Kind().String()})
	}
	return out
}

// headers are the system properties of §2.1 that are set.
func headers(ctx context.Context, r engine.Row, c engine.Content) (out []page.Header) {
	m := r.Message
	add := func(name, amqp, v string) {
		if v != "" {
			out = append(out, page.Header{Name: name, AMQP: amqp, Value: cut(v, longestValue)})
		}
	}
	instant := func(name, amqp string, at engine.Instant) {
		if at != 0 {
			out = append(out, page.Header{Name: name, AMQP: amqp, At: at.Time()})
		}
	}
	n := func(n int64) string { return strconv.FormatInt(n, 10) }
	add("MessageId", "properties · message-id", c.MessageID)
	add("Subject", "properties · subject", c.Subject)
	add("ContentType", "properties · content-type", c.ContentType)
	add("CorrelationId", "properties · correlation-id", c.CorrelationID)
	if c.HasSessionID() {
		add("SessionId", "properties · group-id", component.SessionName(ctx, c.SessionID))
	}
	add("To", "properties · to", c.To)
	add("ReplyTo", "properties · reply-to", c.ReplyTo)
	add("ReplyToSessionId", "properties · reply-to-group-id", c.ReplyToSessionID)
	add("PartitionKey", "message-annotations · x-opt-partition-key", c.PartitionKey)
	add("TransactionPartitionKey", "message-annotations · x-opt-via-partition-key", c.ViaPartitionKey)
	if c.TTL > 0 {
		add("TimeToLive", "header · ttl", engine.FormatDuration(c.TTL))
	}
	add("SequenceNumber", "message-annotations · x-opt-sequence-number", n(int64(m.Seq)))
	add("EnqueuedSequenceNumber", "message-annotations · x-opt-enqueue-sequence-number", n(int64(m.EnqueuedSeq)))
	instant("EnqueuedTime", "message-annotations · x-opt-enqueued-time", m.EnqueuedAt)
	instant("ExpiresAt", "properties · absolute-expiry-time", r.Expires)
	instant("ScheduledEnqueueTime", "message-annotations · x-opt-scheduled-enqueue-time", m.ScheduledFor)
	instant("LockedUntil", "message-annotations · x-opt-locked-until", m.LockedUntil)
	add("DeliveryCount", "header · delivery-count", n(int64(m.DeliveryCount)))
	add("State", "message-annotations · x-opt-message-state", m.State.String())
	if x := m.Extra; x != nil {
		add("DeadLetterReason", "application-properties · DeadLetterReason", x.Reason)
		add("DeadLetterErrorDescription", "application-properties · DeadLetterErrorDescription", x.Description)
		add("DeadLetterSource", "message-annotations · x-opt-deadletter-source", x.Source)
	}
	return out
}

// body reads as much of a body as is looked at, and the bytes around one.
func (p *Pages) body(ctx context.Context, m messageSight, around int64, b *page.Body) error {
	k, size := m.Message.Content, m.content.BodySize
	in, err := p.b.Body(ctx, k, size)
	if err != nil {
		return fmt.Errorf("open the body of content %d: %w", k, err)
	}
	defer func() { _ = in.Close() }()
	most := int64(bodyShown)
	if size > bodyShown {
		most = bodyHead
	}
	if b.Content, err = io.ReadAll(io.LimitReader(in, most)); err != nil {
		return fmt.Errorf("read the body of content %d: %w", k, err)
	}
	b.From = page.HexAt(around, size)
	if end := min(b.From+page.HexBytes, size); end <= int64(len(b.Content)) {
		b.Window = b.Content[min(b.From, end):end]
		return nil
	}
	if _, err = in.Seek(b.From, io.SeekStart); err == nil {
		b.Window, err = io.ReadAll(io.LimitReader(in, page.HexBytes))
	}
	if err != nil {
		return fmt.Errorf("read the body of content %d from byte %d: %w", k, b.From, err)
	}
	return nil
}

// sent is what the sender said of a message, in AMQP's sections; nothing if that
// cannot be read.
func sent(c engine.Content, b page.Body) (out []page.Sent) {
	sections, err := carry.Said(c, b.Content)
	if err != nil {
		return nil // it is shown as headers still
	}
	for _, s := range sections {
		one := page.Sent{Name: s.Name}
		for _, f := range s.Fields {
			one.Fields = append(one.Fields, component.Property{Name: cut(f.Name, 200), Value: cut(f.Value, longestValue), Type: f.Type})
		}
		out = append(out, one)
	}
	return out
}

// endedPage is the page of a message that is no more, for as long as something
// is remembered of it.
func (p *Pages) endedPage(ctx context.Context, at Place) (view.Page, uint64, error) {
	s, err := p.look(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	out := page.Message{Key: keyText(at.Key), Href: p.MessageURL(at.Key)}
	c := p.chronicle(ctx, at.Key)
	final := c.final()
	if final.key == 0 {
		out.Shell, out.Missing = p.shell(ctx, at, s, locale.T(ctx, "message.title.missing")), true
		out.Known = p.known(c)
		return out, s.n, nil
	}
	last, kind := final.path, engine.Queue
	if final.kind == engine.EventUnmatched { // its topic is where it was last
		kind = engine.Topic
	}
	if e := c.last; e.Kind != 0 {
		last = e.Path
		// Its headers may have been too large to keep.
		if content, err := e.Content.Content(); err == nil && e.Content != "" {
			row := engine.Row{Message: e.Message, Content: e.Content, Path: e.Path}
			row.Message.LockedUntil = 0
			m := messageSight{Row: row, content: content}
			m.in.Kind = kind
			out = p.messageModel(ctx, at, m, s)
			out.Body.Download = ""
		}
	}
	if out.In.Name == "" {
		out.In, out.Path, out.Bare = p.placeOf(kind, last), last.Entity().Fold(), true
		out.Number = int64(final.seq)
	}
	out.Shell = p.shell(ctx, at, s, called(c.last.Content, final.seq))
	if _, kept := p.recent.stray(at.Key); kept {
		out.Lab = p.URL(Place{Namespace: p.b.Name(), Kind: Lab}.with(page.LabFrom, keyText(at.Key)))
	}
	out.Ended, out.Known = p.ending(ctx, c, final, last), p.known(c)
	out.Kin, out.KinMore = p.kin(ctx, at.Key, final.sent, c.past)
	out.Life = p.entries(ctx, c.past)
	if !departed(final.kind) && final.kind != engine.EventMoved && !out.Ended.At.IsZero() { // it has no last line of its own
		out.Life = append(out.Life, out.Ended)
	}
	out.Life = dated(out.Life, s.now)
	return out, s.n, nil
}

// ending says why a message is no longer there, when it went and who did it, as
// far as that is known.
func (p *Pages) ending(ctx context.Context, c chronicle, final trace, last engine.Path) component.Entry {
	switch {
	case departed(final.kind) || final.kind == engine.EventMoved:
		return p.entry(ctx, final)
	case c.last.Kind != 0:
		return p.entry(ctx, traceOf(c.last))
	}
	args := locale.Args{"Entity": Shown(last)}
	id := "message.ended.with"
	with := p.wentWith(ctx, final)
	switch with.kind {
	case engine.EventPurged:
		id, args["Entity"] = "message.ended.purged", Shown(with.path) // maybe of dead letters only
	case engine.EventEntityDeleted:
		id = "message.ended.deleted"
	case engine.EventEntityAutoDeleted:
		id = "message.ended.idle"
	default:
		return component.Entry{Icon: "lost", Tone: component.Lost, Title: locale.T(ctx, id, args)}
	}
	how := lookOf(with)
	e := component.Entry{Icon: how.icon, Tone: how.tone, Title: locale.T(ctx, id, args), At: with.at.Time()}
	if with.actor != "" {
		e.Detail = p.byWhom(ctx, with.actor)
	}
	return e
}

// known says how far a message's story reaches.
func (p *Pages) known(c chronicle) page.Known {
	return page.Known{Kept: p.kept(), Cut: c.cut, Broken: c.broken}
}
