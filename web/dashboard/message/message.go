package message

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
	"mayfly/views/page/lab"
	"mayfly/views/page/message"
	"mayfly/views/view"
	"mayfly/web/amqp/codec"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/list"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

const (
	bodyShown = 1 << 20 // bodies up to this size are read whole
	bodyHead  = 4 << 10 // bytes read of a larger body, from its beginning
)

// A Snapshot is the broker's state that a message's page needs.
type Snapshot struct {
	engine.Row
	Entity   entity.Snapshot
	Unpacked engine.Content
}

// Message returns the page of a message in any entity, or of a removed message.
func Message(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	var m Snapshot
	s, err := p.Read(ctx, func(r broker.Reader) (err error) {
		m, err = ReadMessage(r, at.Key)
		return err
	})
	if errors.Is(err, engine.ErrMessageNotFound) {
		return removedMessagePage(ctx, p, at)
	}
	if err != nil {
		return nil, 0, err
	}
	out := messageModel(ctx, p, at, m, s)
	c := liveHistory(ctx, p, at.Key)
	out.TTLExplanation = explainTTL(ctx, p, m, c.events, s.Now)
	out.Timeline, out.TimelineLimits = timeline(ctx, p, m, c.events, s.Now), timelineLimits(p, c)
	if lock := at.Query.Get("lock"); lock != "" && !out.Hold.Until.IsZero() && m.Message.Token().String() == lock {
		out.Token = lock
	}
	if !view.ClocksFrozen(ctx) { // a live update needs no body, because a body never changes
		from, _ := pages.ParseNumber(at.Query.Get(message.HexFrom)) // anything else means the beginning
		if err = body(ctx, p, m, int64(min(from, math.MaxInt64)), &out.Body); err != nil && !errors.Is(err, engine.ErrMessageNotFound) {
			return nil, 0, err
		}
		out.Sent = sentSections(m.Unpacked, out.Body)
		out.Resend = resendSamples(ctx, p, m, out.Body)
		out.Related, out.MoreRelated = relatedMessages(ctx, p, at.Key, m.Message.Content, c.events)
	}
	if out.Expired || out.Clock.At.IsZero() {
		return out, s.Event, nil
	}
	return pages.Refreshing{Page: out, Every: time.Second}, s.Event, nil
}

// ReadMessage reads a message and its entity.
func ReadMessage(r broker.Reader, k engine.Key) (m Snapshot, err error) {
	if m.Row, err = r.Message(k); err != nil {
		return m, err
	}
	if m.Entity, err = entity.ReadEntity(r, m.Path.Entity()); err != nil {
		return m, err
	}
	if m.Unpacked, err = m.Content.Content(); err != nil {
		return m, fmt.Errorf("message %d: %w", k, err)
	}
	return m, nil
}

// messageModel returns the page of an existing message, without its timeline.
func messageModel(ctx context.Context, p *pages.Pages, at pages.Address, m Snapshot, s pages.Snapshot) message.Message {
	title := recent.ShortName(m.Content, m.Message.Seq)
	out := message.Message{
		Shell: p.LiveShell(ctx, at, s, title), Key: pages.KeyText(m.Message.Key), Href: p.MessageURL(m.Message.Key),
		Entity: p.EntityRef(m.Entity.Kind, m.Path), Path: m.Path.Entity().Fold(),
		State: list.StateOf(m.Row, s.Now), Number: int64(m.Message.Seq),
		Subject: shorten.To(m.Unpacked.Subject, 400), ID: shorten.To(m.Unpacked.MessageID, 128), Type: shorten.To(m.Unpacked.ContentType, 200),
		Size: m.Content.Size(), Tries: int(m.Message.DeliveryCount), Max: int(m.MaxDeliveries),
		Clock: pages.TTLClock(m.Row, s.Now), Expired: pages.HasExpired(m.Row, s.Now), Hold: pages.MessageLock(m.Row, s.Now, m.Entity.Config.LockTime()),
		Due: pages.DueClock(m.Message, s.Now), Fate: pages.Fate(m.Path, m.DeadLettersOnExpiry),
		View: message.BodyView(pages.OneOf(at.Query.Get("view"), string(message.TreeView), string(message.RawView), string(message.HexView), string(message.HeadersView), string(message.SentView))),
		Body: message.Body{Size: m.Unpacked.BodySize, Form: bodyForm(m.Unpacked.BodyKind), Download: p.MessageURL(m.Message.Key) + "/body"},
	}
	out.Holder, out.HolderURL = admin.LockHolder(ctx, p, m.Lock.By)
	if m.Unpacked.HasSessionID() && m.Entity.Config.RequiresSession {
		out.Session = component.SessionName(ctx, m.Unpacked.SessionID)
		out.SessionHref = p.SessionURL(m.Entity.Kind, m.Path.Entity(), m.Unpacked.SessionID)
	}
	out.Shell.Active = layout.Queues
	if m.Entity.Kind != engine.Queue {
		out.Shell.Active = layout.Topics
	}
	if m.Unpacked.BodySize == 0 {
		out.Body.Download = ""
	}
	if x := m.Message.Extra; x != nil && m.Path.IsDeadLetter() {
		died := x.DeadAt.Time()
		out.Reason = page.Reason{Reason: x.Reason, Description: x.Description, First: died, Last: died, Now: s.Now.Time()}
	}
	out.Headers = headers(ctx, m.Row, m.Unpacked)
	out.Application = properties(m.Message.Properties(m.Unpacked))
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

// headers returns the system properties (semantics §2.1) that are set.
func headers(ctx context.Context, r engine.Row, c engine.Content) (out []message.Header) {
	m := r.Message
	add := func(name, amqp, v string) {
		if v != "" {
			out = append(out, message.Header{Name: name, AMQP: amqp, Value: shorten.To(v, maxValueBytes)})
		}
	}
	instant := func(name, amqp string, at engine.Instant) {
		if at != 0 {
			out = append(out, message.Header{Name: name, AMQP: amqp, At: at.Time()})
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
func body(ctx context.Context, p *pages.Pages, m Snapshot, around int64, b *message.Body) error {
	k, size := m.Message.Content, m.Unpacked.BodySize
	in, err := p.Broker.Body(ctx, k, size)
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
	b.From = message.HexAt(around, size)
	if end := min(b.From+message.HexBytes, size); end <= int64(len(b.Content)) {
		b.Window = b.Content[min(b.From, end):end]
		return nil
	}
	if _, err = in.Seek(b.From, io.SeekStart); err == nil {
		b.Window, err = io.ReadAll(io.LimitReader(in, message.HexBytes))
	}
	if err != nil {
		return fmt.Errorf("read the body of content %d from byte %d: %w", k, b.From, err)
	}
	return nil
}

// sentSections returns the message as its sender wrote it, by AMQP section, or nil if it cannot
// be decoded.
func sentSections(c engine.Content, b message.Body) (out []message.AMQPSection) {
	sections, err := codec.SentSections(c, b.Content)
	if err != nil {
		return nil // the page still shows the headers
	}
	for _, s := range sections {
		one := message.AMQPSection{Name: s.Name}
		for _, f := range s.Fields {
			one.Fields = append(one.Fields, component.Property{Name: shorten.To(f.Name, 200), Value: shorten.To(f.Value, maxValueBytes), Type: f.Type})
		}
		out = append(out, one)
	}
	return out
}

// removedMessagePage returns the page of a removed message, for as long as something is recorded of it.
func removedMessagePage(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	s, err := p.Read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	out := message.Message{Key: pages.KeyText(at.Key), Href: p.MessageURL(at.Key)}
	damaged := p.DamagedNotice(ctx, func(d engine.DamagedMessage) bool { return d.Key == at.Key }, "damaged.of.message")
	c := historyOf(ctx, p, at.Key)
	final := c.lastEvent()
	if final.Key == 0 {
		out.Damaged = damaged
		out.Shell, out.Missing = p.LiveShell(ctx, at, s, locale.T(ctx, "message.title.missing")), true
		out.TimelineLimits = timelineLimits(p, c)
		return out, s.Event, nil
	}
	last, kind := final.Path, engine.Queue
	if final.Kind == engine.EventUnmatched { // no subscription took the message, so it was only in its topic
		kind = engine.Topic
	}
	if e := c.last; e.Kind != 0 {
		last = e.Path
		// The headers may have been too large to keep.
		if content, err := e.Content.Content(); err == nil && e.Content != "" {
			row := engine.Row{Message: e.Message, Content: e.Content, Path: e.Path}
			row.Message.LockedUntil = 0
			m := Snapshot{Row: row, Unpacked: content}
			m.Entity.Kind = kind
			out = messageModel(ctx, p, at, m, s)
			out.Body.Download = ""
		}
	}
	if out.Entity.Name == "" {
		out.Entity, out.Path, out.HeadersMissing = p.EntityRef(kind, last), last.Entity().Fold(), true
		out.Number = int64(final.Seq)
	}
	out.Shell = p.LiveShell(ctx, at, s, recent.DisplayName(c.last.Content, final.Seq))
	if _, kept := p.Events.UnmatchedMessage(at.Key); kept {
		out.Lab = p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.FilterLab}.WithQuery(lab.LabFrom, pages.KeyText(at.Key)))
	}
	out.Ended, out.TimelineLimits = removalEntry(ctx, p, c, final, last), timelineLimits(p, c)
	out.Related, out.MoreRelated = relatedMessages(ctx, p, at.Key, final.Content, c.events)
	out.Timeline = timelineEntries(ctx, p, c.events)
	if !recent.RemovesMessage(final.Kind) && final.Kind != engine.EventMoved && !out.Ended.At.IsZero() { // the message has no final event of its own
		out.Timeline = append(out.Timeline, out.Ended)
	}
	out.Timeline, out.Damaged = pages.MarkDates(out.Timeline, s.Now), damaged
	return out, s.Event, nil
}

// removalEntry returns why a message no longer exists, when it was removed and by whom, as far as
// that is recorded.
func removalEntry(ctx context.Context, p *pages.Pages, c History, final recent.EventRecord, last engine.Path) component.TimelineStep {
	switch {
	case recent.RemovesMessage(final.Kind) || final.Kind == engine.EventMoved:
		return timelineEntry(ctx, p, final)
	case c.last.Kind != 0:
		return timelineEntry(ctx, p, recent.RecordOf(c.last))
	}
	args := locale.Args{"Entity": pages.DisplayPath(last)}
	id := "message.ended.with"
	with := removingEvent(ctx, p, final)
	switch with.Kind {
	case engine.EventPurged:
		id, args["Entity"] = "message.ended.purged", pages.DisplayPath(with.Path) // the purge may have removed dead letters only
	case engine.EventEntityDeleted:
		id = "message.ended.deleted"
	case engine.EventEntityAutoDeleted:
		id = "message.ended.idle"
	default:
		return component.TimelineStep{Icon: "lost", Tone: component.Lost, Title: locale.T(ctx, id, args)}
	}
	how := activity.StyleOf(with)
	e := component.TimelineStep{Icon: how.Icon, Tone: how.Tone, Title: locale.T(ctx, id, args), At: with.At.Time()}
	if with.Actor != "" {
		e.Detail = actorText(ctx, p, with.Actor)
	}
	return e
}

// timelineLimits returns how far back the message's timeline reaches.
func timelineLimits(p *pages.Pages, c History) message.TimelineLimits {
	return message.TimelineLimits{Retention: p.HistoryRetention(), Cut: c.truncated, Failed: c.failed}
}
