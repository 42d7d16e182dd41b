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
	"mayfly/engine/shorten"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/amqp/codec"
)

const (
	bodyShown = 1 << 20 // bodies up to this size are read whole
	bodyHead  = 4 << 10 // of a larger body only the beginning is read
)

// A messageSnapshot is the broker's state that a message's page needs.
type messageSnapshot struct {
	engine.Row
	entity  entitySnapshot
	content engine.Content
}

func (p *Pages) message(ctx context.Context, at Address) (view.Page, uint64, error) {
	var m messageSnapshot
	s, err := p.read(ctx, func(r broker.Reader) (err error) {
		m, err = readMessage(r, at.Key)
		return err
	})
	if errors.Is(err, engine.ErrMessageNotFound) {
		return p.removedMessagePage(ctx, at)
	}
	if err != nil {
		return nil, 0, err
	}
	out := p.messageModel(ctx, at, m, s)
	c := p.liveHistory(ctx, at.Key)
	out.TTLExplanation = p.explainTTL(ctx, m, c.events, s.now)
	out.Timeline, out.TimelineLimits = p.timeline(ctx, m, c.events, s.now), p.timelineLimits(c)
	if lock := at.Query.Get("lock"); lock != "" && !out.Hold.Until.IsZero() && m.Message.Token().String() == lock {
		out.Token = lock
	}
	if !view.ClocksFrozen(ctx) { // a body is not live: it never changes
		from, _ := parseNumber(at.Query.Get(page.HexFrom)) // anything else means the beginning
		if err = p.body(ctx, m, int64(min(from, math.MaxInt64)), &out.Body); err != nil && !errors.Is(err, engine.ErrMessageNotFound) {
			return nil, 0, err
		}
		out.Sent = sentSections(m.content, out.Body)
		out.Resend = p.resendSamples(ctx, m, out.Body)
		out.Related, out.MoreRelated = p.relatedMessages(ctx, at.Key, m.Message.Content, c.events)
	}
	if out.Expired || out.Clock.At.IsZero() {
		return out, s.event, nil
	}
	return Refreshing{out, time.Second}, s.event, nil
}

func readMessage(r broker.Reader, k engine.Key) (m messageSnapshot, err error) {
	if m.Row, err = r.Message(k); err != nil {
		return m, err
	}
	if m.entity, err = readEntity(r, m.Path.Entity()); err != nil {
		return m, err
	}
	if m.content, err = m.Content.Content(); err != nil {
		return m, fmt.Errorf("message %d: %w", k, err)
	}
	return m, nil
}

// entityRef returns the entity that a message is in.
func (p *Pages) entityRef(kind engine.EntityKind, path engine.Path) page.EntityRef {
	return page.EntityRef{Kind: pageKind(kind), Name: DisplayPath(path.Entity()), Href: p.EntityURL(kind, path.Entity()), DeadLetter: path.IsDeadLetter()}
}

// messageModel returns the page of an existing message, without its timeline.
func (p *Pages) messageModel(ctx context.Context, at Address, m messageSnapshot, s snapshot) page.Message {
	title := shortName(m.Content, m.Message.Seq)
	out := page.Message{
		Shell: p.liveShell(ctx, at, s, title), Key: keyText(m.Message.Key), Href: p.MessageURL(m.Message.Key),
		Entity: p.entityRef(m.entity.Kind, m.Path), Path: m.Path.Entity().Fold(),
		State: stateOf(m.Row, s.now), Number: int64(m.Message.Seq),
		Subject: shorten.To(m.content.Subject, 400), ID: shorten.To(m.content.MessageID, 128), Type: shorten.To(m.content.ContentType, 200),
		Size: m.Content.Size(), Tries: int(m.Message.DeliveryCount), Max: int(m.MaxDeliveries),
		Clock: ttlClock(m.Row, s.now), Expired: hasExpired(m.Row, s.now), Hold: messageLock(m.Row, s.now, m.entity.Config.LockTime()),
		Due: dueClock(m.Message, s.now), Fate: fate(m.Path, m.DeadLettersOnExpiry),
		View: page.BodyView(oneOf(at.Query.Get("view"), string(page.TreeView), string(page.RawView), string(page.HexView), string(page.HeadersView), string(page.SentView))),
		Body: page.Body{Size: m.content.BodySize, Form: bodyForm(m.content.BodyKind), Download: p.MessageURL(m.Message.Key) + "/body"},
	}
	out.Holder, out.HolderURL = p.lockHolder(ctx, m.Lock.By)
	if m.content.HasSessionID() && m.entity.Config.RequiresSession {
		out.Session = component.SessionName(ctx, m.content.SessionID)
		out.SessionHref = p.SessionURL(m.entity.Kind, m.Path.Entity(), m.content.SessionID)
	}
	out.Shell.Active = layout.Queues
	if m.entity.Kind != engine.Queue {
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

// maxValueBytes is how many bytes of a property are shown.
const maxValueBytes = 2000

func properties(all value.Properties) []component.Property {
	out := make([]component.Property, 0, len(all))
	for _, q := range all {
		out = append(out, component.Property{Name: shorten.To(q.Name, 200), Value: shorten.To(q.Value.String(), maxValueBytes), Type: q.Value.Kind().String()})
	}
	return out
}

// headers returns the system properties of §2.1 that are set.
func headers(ctx context.Context, r engine.Row, c engine.Content) (out []page.Header) {
	m := r.Message
	add := func(name, amqp, v string) {
		if v != "" {
			out = append(out, page.Header{Name: name, AMQP: amqp, Value: shorten.To(v, maxValueBytes)})
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

// body reads the part of a body that the page shows, and the bytes around a position.
func (p *Pages) body(ctx context.Context, m messageSnapshot, around int64, b *page.Body) error {
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

// sentSections returns the message as its sender wrote it, by AMQP section; nothing if that cannot be
// decoded.
func sentSections(c engine.Content, b page.Body) (out []page.AMQPSection) {
	sections, err := codec.SentSections(c, b.Content)
	if err != nil {
		return nil // the page still shows the headers
	}
	for _, s := range sections {
		one := page.AMQPSection{Name: s.Name}
		for _, f := range s.Fields {
			one.Fields = append(one.Fields, component.Property{Name: shorten.To(f.Name, 200), Value: shorten.To(f.Value, maxValueBytes), Type: f.Type})
		}
		out = append(out, one)
	}
	return out
}

// removedMessagePage returns the page of a removed message, for as long as something is recorded of it.
func (p *Pages) removedMessagePage(ctx context.Context, at Address) (view.Page, uint64, error) {
	s, err := p.read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	out := page.Message{Key: keyText(at.Key), Href: p.MessageURL(at.Key)}
	damaged := p.damagedNotice(ctx, func(d engine.DamagedMessage) bool { return d.Key == at.Key }, "damaged.of.message")
	c := p.messageHistory(ctx, at.Key)
	final := c.lastEvent()
	if final.key == 0 {
		out.Damaged = damaged
		out.Shell, out.Missing = p.liveShell(ctx, at, s, locale.T(ctx, "message.title.missing")), true
		out.TimelineLimits = p.timelineLimits(c)
		return out, s.event, nil
	}
	last, kind := final.path, engine.Queue
	if final.kind == engine.EventUnmatched { // its topic is where it was last
		kind = engine.Topic
	}
	if e := c.last; e.Kind != 0 {
		last = e.Path
		// The headers may have been too large to keep.
		if content, err := e.Content.Content(); err == nil && e.Content != "" {
			row := engine.Row{Message: e.Message, Content: e.Content, Path: e.Path}
			row.Message.LockedUntil = 0
			m := messageSnapshot{Row: row, content: content}
			m.entity.Kind = kind
			out = p.messageModel(ctx, at, m, s)
			out.Body.Download = ""
		}
	}
	if out.Entity.Name == "" {
		out.Entity, out.Path, out.HeadersMissing = p.entityRef(kind, last), last.Entity().Fold(), true
		out.Number = int64(final.seq)
	}
	out.Shell = p.liveShell(ctx, at, s, displayName(c.last.Content, final.seq))
	if _, kept := p.events.unmatchedMessage(at.Key); kept {
		out.Lab = p.URL(Address{Namespace: p.b.Name(), Kind: FilterLab}.withQuery(page.LabFrom, keyText(at.Key)))
	}
	out.Ended, out.TimelineLimits = p.removalEntry(ctx, c, final, last), p.timelineLimits(c)
	out.Related, out.MoreRelated = p.relatedMessages(ctx, at.Key, final.content, c.events)
	out.Timeline = p.timelineEntries(ctx, c.events)
	if !removesMessage(final.kind) && final.kind != engine.EventMoved && !out.Ended.At.IsZero() { // it has no final event of its own
		out.Timeline = append(out.Timeline, out.Ended)
	}
	out.Timeline, out.Damaged = markDates(out.Timeline, s.now), damaged
	return out, s.event, nil
}

// removalEntry returns why a message no longer exists, when it was removed and by whom, as far as
// that is recorded.
func (p *Pages) removalEntry(ctx context.Context, c messageHistory, final eventRecord, last engine.Path) component.TimelineStep {
	switch {
	case removesMessage(final.kind) || final.kind == engine.EventMoved:
		return p.timelineEntry(ctx, final)
	case c.last.Kind != 0:
		return p.timelineEntry(ctx, recordOf(c.last))
	}
	args := locale.Args{"Entity": DisplayPath(last)}
	id := "message.ended.with"
	with := p.removingEvent(ctx, final)
	switch with.kind {
	case engine.EventPurged:
		id, args["Entity"] = "message.ended.purged", DisplayPath(with.path) // maybe of dead letters only
	case engine.EventEntityDeleted:
		id = "message.ended.deleted"
	case engine.EventEntityAutoDeleted:
		id = "message.ended.idle"
	default:
		return component.TimelineStep{Icon: "lost", Tone: component.Lost, Title: locale.T(ctx, id, args)}
	}
	how := styleOf(with)
	e := component.TimelineStep{Icon: how.icon, Tone: how.tone, Title: locale.T(ctx, id, args), At: with.at.Time()}
	if with.actor != "" {
		e.Detail = p.actorText(ctx, with.actor)
	}
	return e
}

// timelineLimits returns how far back the message's timeline reaches.
func (p *Pages) timelineLimits(c messageHistory) page.TimelineLimits {
	return page.TimelineLimits{Retention: p.historyRetention(), Cut: c.truncated, Failed: c.failed}
}
