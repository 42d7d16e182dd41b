package carry

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// An Envelope is what an encoded message has around the bytes of its body. It may
// be used again for the next message; the zero Envelope is ready. It is not to be
// copied.
//
// On the wire stand Head, the body and Tail. The body is that of the message as
// it is stored, given [Envelope.Body] or [Envelope.Stream], which put in what
// stands between sections if there are several.
type Envelope struct {
	Head []byte // the sections in front of the body, and how its first section begins
	Tail []byte // the footer

	front int              // length of Head without the beginning of the body
	stuff pieces           // of the body
	x     extras           // of the message
	size  int64            // of the body as it is stored
	all   value.Properties // annotations, while they are written
}

// manner is how a message goes out.
type manner uint8

const (
	locked  manner = iota // under a lock, whose token goes with it
	deleted               // for good
	looked                // it is only looked at (PEEK-8)
)

// Delivery sets e to what goes around the body of a delivery, in either mode; one
// that was fetched by its number is not different (DEF-6). It appends Head and
// Tail to b and returns that; e keeps parts of it.
func (e *Envelope) Delivery(b []byte, d *engine.Delivery) ([]byte, error) {
	how := locked
	if d.Deleted {
		how = deleted
	}
	return e.wrap(b, how, &d.Message, d.Content, d.Path, d.Expires)
}

// Peek sets e to what goes around the body of a message that somebody looks at.
// What only its entity's time to live has expire does not say when (TTL-14).
func (e *Envelope) Peek(b []byte, r *engine.Row) ([]byte, error) {
	return e.wrap(b, looked, &r.Message, r.Content, r.Path, 0)
}

// errStored says that nobody out there has to do with an error.
var errStored = errors.New("what is stored cannot be read")

func (e *Envelope) wrap(b []byte, how manner, m *engine.Message, packed engine.Packed, at engine.Path, expires engine.Instant) ([]byte, error) {
	start := len(b)
	c, err := packed.Content()
	if err == nil {
		err = e.x.unpack(c.Wire)
	}
	if err == nil {
		b = e.header(b, m, &c, expires)
		b, err = e.ofDelivery(b, how, m)
	}
	if err == nil {
		b, err = e.ofMessage(b, how, m, &c)
	}
	if err != nil {
		return b[:start], fmt.Errorf("message #%d of %q: %w: %w", m.Seq, at, errStored, err)
	}
	b = e.identity(b, &c)
	props := m.Properties(c)
	if props == nil && e.x.marks.has(markNoProperties) {
		props = value.Properties{}
	}
	b = wire.AppendAnnotations(b, wire.SectionApplicationProperties, props)
	e.front = len(b) - start
	e.size = c.BodySize
	e.stuff.cut(&c, &e.x)
	b = e.stuff.appendHead(b, 0)
	split := len(b)
	b = wire.AppendSection(b, wire.SectionFooter, e.x.footer)
	e.Head, e.Tail = b[start:split:split], b[split:len(b):len(b)]
	return b, nil
}

// A life is a message's time to live, as a receiver sees it.
type life struct {
	ms     int64
	set    bool
	lower  bool           // it is not what the sender asked for
	until  engine.Instant // when it ends; zero: as long as its entity does not count
	begins engine.Instant
}

func lifeOf(m *engine.Message, c *engine.Content, expires engine.Instant) life {
	own := int64(max(0, c.TTL) / time.Millisecond)
	if c.TTL > 0 && c.TTL%time.Millisecond != 0 {
		own++
	}
	l := life{ms: own, set: c.TTL != 0, begins: m.EnqueuedAt}
	if l.until = cmp.Or(m.ExpiresAt, expires); l.until == 0 {
		return l
	}
	ms := max(0, int64(l.until-l.begins))
	return life{ms: ms, set: true, lower: ms != own, until: l.until, begins: l.begins}
}

func (e *Envelope) header(b []byte, m *engine.Message, c *engine.Content, expires engine.Instant) []byte {
	h := e.x.header
	h.DeliveryCount = wire.Some(m.DeliveryCount)
	l := lifeOf(m, c, expires)
	if l.set {
		h.TTL = wire.Some(uint32(min(l.ms, math.MaxUint32)))
	}
	e.times(l)
	return h.Append(b)
}

// times has the two times of the properties agree with the time to live, where
// that is not what the sender said of all three, or is too long for the header
// alone (TTL-5, TTL-9).
func (e *Envelope) times(l life) {
	p := &e.x.properties
	said := p.AbsoluteExpiryTime.IsSet()
	switch {
	case !l.set || l.ms <= math.MaxUint32 && (!l.lower || !said):
		return
	case !l.lower && said && p.CreationTime.IsSet():
		return
	}
	until := cmp.Or(l.until, l.begins.Add(time.Duration(l.ms)*time.Millisecond))
	p.CreationTime, p.AbsoluteExpiryTime = wire.Some(int64(l.begins)), wire.Some(int64(until))
}

// ofDelivery appends the annotations of the delivery. One that is deleted has the
// section always, for some clients compare sizes.
func (e *Envelope) ofDelivery(b []byte, how manner, m *engine.Message) ([]byte, error) {
	if how != locked && e.x.delivery != nil {
		return wire.AppendSection(b, wire.SectionDeliveryAnnotations, e.x.delivery), nil
	}
	all := e.all[:0]
	if e.x.delivery != nil {
		said, err := wire.ParseMap(e.x.delivery)
		if err != nil {
			return b, err //nolint:wrapcheck // the caller says of what
		}
		all = append(all, said...)
	}
	switch how {
	case locked:
		all = append(all, value.Property{Name: keyLockToken, Value: value.OfUUID(m.Token())})
	case looked:
		return b, nil
	}
	e.all = all
	return appendAnnotations(b, wire.SectionDeliveryAnnotations, all), nil
}

// ofMessage appends the annotations of the message: those that were sent, and
// what the broker knows.
func (e *Envelope) ofMessage(b []byte, how manner, m *engine.Message, c *engine.Content) ([]byte, error) {
	all := e.all[:0]
	source := ""
	if m.Extra != nil { // DLQ-9
		source = m.Extra.Source
	}
	if e.x.annotations != nil {
		said, err := wire.ParseMap(e.x.annotations)
		if err != nil {
			return b, err //nolint:wrapcheck // the caller says of what
		}
		all = append(all, slices.DeleteFunc(said, func(p value.Property) bool { return overwritten(p.Name, source, c) })...)
	}
	add := func(key string, v value.Value) { all = append(all, value.Property{Name: key, Value: v}) }
	add(keySequenceNumber, value.OfLong(int64(m.Seq)))
	add(keyEnqueuedTime, value.OfTimestamp(int64(m.EnqueuedAt)))
	if m.EnqueuedSeq != 0 && m.EnqueuedSeq != m.Seq {
		add(keyEnqueuedSequenceNumber, value.OfLong(int64(m.EnqueuedSeq)))
	}
	if how == locked {
		add(keyLockedUntil, value.OfTimestamp(int64(m.LockedUntil)))
	}
	if m.State != engine.Active {
		add(keyState, value.OfInt(int32(m.State)))
	}
	if due := cmp.Or(m.ScheduledFor, c.ScheduledFor); due != 0 { // it may have been rescheduled
		add(keyScheduled, value.OfTimestamp(int64(due)))
	}
	if c.PartitionKey != "" || e.x.marks.has(markPartitionKey) {
		add(keyPartitionKey, value.OfString(c.PartitionKey))
	}
	if c.ViaPartitionKey != "" || e.x.marks.has(markViaPartitionKey) {
		add(keyViaPartitionKey, value.OfString(c.ViaPartitionKey))
	}
	if source != "" {
		add(keyDeadLetterSource, value.OfString(source))
	}
	e.all = all
	return appendAnnotations(b, wire.SectionMessageAnnotations, all), nil
}

// overwritten tells whether something else is said by now under a key that a
// sender left null.
func overwritten(key, source string, c *engine.Content) bool {
	switch key {
	case keyDeadLetterSource:
		return source != ""
	case keyPartitionKey:
		return c.PartitionKey != ""
	default:
		return false
	}
}

func appendAnnotations(b []byte, s wire.Section, all value.Properties) []byte {
	if all == nil {
		all = value.Properties{} // the section is there all the same
	}
	return wire.AppendAnnotations(b, s, all)
}

// identity appends the properties. What a rule's action has changed is a string,
// whatever it was.
func (e *Envelope) identity(b []byte, c *engine.Content) []byte {
	p := &e.x.properties
	has := e.x.marks.has
	text := func(s string, empty mark) wire.Opt[string] {
		if s == "" && !has(empty) {
			return wire.Opt[string]{}
		}
		return wire.Some(s)
	}
	id := func(s string, typed value.Value, empty mark) value.Value {
		switch {
		case typed.Kind() != value.Null && typed.Text() == s:
			return typed
		case s == "" && !has(empty):
			return value.Value{}
		default:
			return value.OfString(s)
		}
	}
	p.MessageID = id(c.MessageID, p.MessageID, markMessageID)
	p.CorrelationID = id(c.CorrelationID, p.CorrelationID, markCorrelationID)
	p.To, p.Subject, p.ReplyTo = text(c.To, markTo), text(c.Subject, markSubject), text(c.ReplyTo, markReplyTo)
	p.ContentType = text(c.ContentType, markContentType)
	p.ReplyToGroupID = text(c.ReplyToSessionID, markReplyToGroupID)
	if p.GroupID = (wire.Opt[string]{}); c.HasSessionID() {
		p.GroupID = wire.Some(c.SessionID)
	}
	return p.Append(b)
}
