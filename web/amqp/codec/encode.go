package codec

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

// An Envelope is the encoding of a message without the bytes of its body. It can be
// reused for the next message; the zero Envelope is ready for use. Do not copy it.
//
// An encoded message is Head, the body and Tail. The body is the stored one, passed
// through [Envelope.EncodeBody] or [Envelope.EncodeStream], which insert the bytes between its
// sections if there are several.
type Envelope struct {
	Head []byte // the sections before the body, and the head of the body's first section
	Tail []byte // the footer

	headSize    int              // length of Head without the head of the body's first section
	sections    bodySections     // of the body
	extras      extras           // of the message
	bodySize    int64            // of the stored body
	annotations value.Properties // annotations; reused
}

// handOut is the way in which a client gets a message.
type handOut uint8

const (
	handOutLocked    handOut = iota // with a lock, whose token is included
	handOutInSession                // with its session's lock, and a lock token
	handOutDeleted                  // received and deleted
	handOutPeeked                   // peeked (PEEK-8)
)

// EncodeDelivery sets e to the encoding of a delivery in either mode. A message that is received by
// its sequence number is encoded in the same way (DEF-6). It appends Head and Tail to b and returns
// the result; e.Head and e.Tail are slices of it.
func (e *Envelope) EncodeDelivery(b []byte, d *engine.Delivery) ([]byte, error) {
	how := handOutLocked
	switch {
	case d.Deleted:
		how = handOutDeleted
	case d.SessionLocked:
		how = handOutInSession
	}
	return e.encode(b, how, &d.Message, d.Content, d.Path, d.Expires)
}

// EncodePeeked sets e to the encoding of a peeked message. A message that expires only by its
// entity's time to live shows no expiry (TTL-14).
func (e *Envelope) EncodePeeked(b []byte, r *engine.Row) ([]byte, error) {
	return e.encode(b, handOutPeeked, &r.Message, r.Content, r.Path, 0)
}

// maxDotNetMillis is the locked-until time of a message that is locked with its session, in
// milliseconds: 9999-12-31T23:59:59.999Z, the largest date of .NET. The session's lock is
// renewed separately, so a client that compared the real time with its clock could refuse
// to settle a message that it still holds (SES-5).
const maxDotNetMillis = 253402300799999

// minDotNetMillis is 0001-01-01T00:00:00Z in milliseconds, the zero date of .NET and Go: the
// locked-until time of a message without a lock.
const minDotNetMillis = -62135596800000

// peekedLockedUntil returns the locked-until time of a peeked message.
func peekedLockedUntil(m *engine.Message) int64 {
	if m.LockedUntil == 0 {
		return minDotNetMillis
	}
	return int64(m.LockedUntil)
}

// errCorrupt marks errors about stored data, which clients have not caused.
var errCorrupt = errors.New("the stored message cannot be read")

func (e *Envelope) encode(b []byte, how handOut, m *engine.Message, packed engine.Packed, at engine.Path, expires engine.Instant) ([]byte, error) {
	start := len(b)
	c, err := packed.Content()
	if err == nil {
		err = e.extras.unpack(c.Wire)
	}
	if err == nil {
		b = e.appendHeader(b, m, &c, expires)
		b, err = e.appendDeliveryAnnotations(b, how, m)
	}
	if err == nil {
		b, err = e.appendMessageAnnotations(b, how, m, &c)
	}
	if err != nil {
		return b[:start], fmt.Errorf("message #%d of %q: %w: %w", m.Seq, at, errCorrupt, err)
	}
	b = e.appendProperties(b, &c)
	props := m.Properties(c)
	if props == nil && e.extras.flags.includes(flagNoProperties) {
		props = value.Properties{}
	}
	b = wire.AppendAnnotations(b, wire.SectionApplicationProperties, props)
	e.headSize = len(b) - start
	e.bodySize = c.BodySize
	e.sections.split(&c, &e.extras)
	b = e.sections.appendHead(b, 0)
	split := len(b)
	b = wire.AppendSection(b, wire.SectionFooter, e.extras.footer)
	e.Head, e.Tail = b[start:split:split], b[split:len(b):len(b)]
	return b, nil
}

// A timeToLive is a message's time to live as a receiver sees it.
type timeToLive struct {
	ms        int64
	set       bool
	differs   bool           // differs from the sender's
	expiresAt engine.Instant // when it ends; zero if only the entity limits it
	startsAt  engine.Instant
}

func timeToLiveOf(m *engine.Message, c *engine.Content, expires engine.Instant) timeToLive {
	own := int64(max(0, c.TTL) / time.Millisecond)
	if c.TTL > 0 && c.TTL%time.Millisecond != 0 {
		own++
	}
	l := timeToLive{ms: own, set: c.TTL != 0, startsAt: m.EnqueuedAt}
	if m.State == engine.Scheduled { // TTL-12
		l.startsAt = m.ScheduledFor
	}
	if l.expiresAt = cmp.Or(m.ExpiresAt, expires); l.expiresAt == 0 {
		return l
	}
	ms := max(0, int64(l.expiresAt-l.startsAt))
	return timeToLive{ms: ms, set: true, differs: ms != own, expiresAt: l.expiresAt, startsAt: l.startsAt}
}

func (e *Envelope) appendHeader(b []byte, m *engine.Message, c *engine.Content, expires engine.Instant) []byte {
	h := e.extras.header
	h.DeliveryCount = wire.Some(m.DeliveryCount)
	l := timeToLiveOf(m, c, expires)
	if l.set {
		h.TTL = wire.Some(uint32(min(l.ms, math.MaxUint32)))
	}
	e.setTimes(l)
	return h.Append(b)
}

// setTimes sets the absolute-expiry-time of the properties, and often their creation-time, to match
// the time to live. It does so only if the sender set an expiry time, or if the time to live is too
// long for the header alone (TTL-5, TTL-9, TTL-38). The sender's times are by another clock and,
// for a scheduled message, from before its enqueue time. Clients show the expiry time unchanged,
// and some take the difference of the two for the time to live.
func (e *Envelope) setTimes(l timeToLive) {
	p := &e.extras.properties
	ends := p.AbsoluteExpiryTime.IsSet()
	if !l.set || l.ms <= math.MaxUint32 && !ends {
		return
	}
	until := cmp.Or(l.expiresAt, l.startsAt.Add(time.Duration(l.ms)*time.Millisecond))
	p.AbsoluteExpiryTime = wire.Some(int64(until))
	if l.differs || l.ms > math.MaxUint32 || p.CreationTime.IsSet() {
		p.CreationTime = wire.Some(int64(l.startsAt))
	}
}

// appendDeliveryAnnotations appends the sender's delivery annotations and, for a locked delivery,
// its lock token. A received and deleted message has the section even if it is empty, because some
// clients compare sizes.
func (e *Envelope) appendDeliveryAnnotations(b []byte, how handOut, m *engine.Message) ([]byte, error) {
	if how > handOutInSession && e.extras.deliveryAnnotations != nil {
		return wire.AppendSection(b, wire.SectionDeliveryAnnotations, e.extras.deliveryAnnotations), nil
	}
	all := e.annotations[:0]
	if e.extras.deliveryAnnotations != nil {
		sent, err := wire.ParseMap(e.extras.deliveryAnnotations)
		if err != nil {
			return b, err
		}
		all = append(all, sent...)
	}
	switch how {
	case handOutLocked, handOutInSession:
		all = append(all, value.Property{Name: keyLockToken, Value: value.OfUUID(m.Token())})
	case handOutPeeked:
		return b, nil
	}
	e.annotations = all
	return appendAnnotations(b, wire.SectionDeliveryAnnotations, all), nil
}

// appendMessageAnnotations appends the annotations of the message: the sender's and the broker's.
func (e *Envelope) appendMessageAnnotations(b []byte, how handOut, m *engine.Message, c *engine.Content) ([]byte, error) {
	all := e.annotations[:0]
	source := ""
	if m.Extra != nil { // DLQ-9
		source = m.Extra.Source
	}
	if e.extras.annotations != nil {
		sent, err := wire.ParseMap(e.extras.annotations)
		if err != nil {
			return b, err
		}
		all = append(all, slices.DeleteFunc(sent, func(p value.Property) bool { return isOverwritten(p.Name, source, c) })...)
	}
	add := func(key string, v value.Value) { all = append(all, value.Property{Name: key, Value: v}) }
	add(keySequenceNumber, value.OfLong(int64(m.Seq)))
	add(keyEnqueuedTime, value.OfTimestamp(int64(m.EnqueuedAt)))
	setAside := how == handOutPeeked && m.State != engine.Active // PEEK-8
	if m.EnqueuedSeq != 0 && m.EnqueuedSeq != m.Seq || setAside {
		add(keyEnqueuedSequenceNumber, value.OfLong(int64(cmp.Or(m.EnqueuedSeq, m.Seq))))
	}
	switch how {
	case handOutLocked:
		add(keyLockedUntil, value.OfTimestamp(int64(m.LockedUntil)))
	case handOutInSession:
		add(keyLockedUntil, value.OfTimestamp(maxDotNetMillis))
	case handOutPeeked:
		if setAside {
			add(keyLockedUntil, value.OfTimestamp(peekedLockedUntil(m)))
		}
	}
	if m.State != engine.Active {
		add(keyState, value.OfInt(int32(m.State)))
	}
	if due := cmp.Or(m.ScheduledFor, c.ScheduledFor); due != 0 { // it may have been rescheduled
		add(keyScheduled, value.OfTimestamp(int64(due)))
	}
	if c.PartitionKey != "" || e.extras.flags.includes(flagEmptyPartitionKey) {
		add(keyPartitionKey, value.OfString(c.PartitionKey))
	}
	if c.ViaPartitionKey != "" || e.extras.flags.includes(flagEmptyViaPartitionKey) {
		add(keyViaPartitionKey, value.OfString(c.ViaPartitionKey))
	}
	if source != "" {
		add(keyDeadLetterSource, value.OfString(source))
	}
	e.annotations = all
	return appendAnnotations(b, wire.SectionMessageAnnotations, all), nil
}

// isOverwritten reports whether the broker or a rule has set an annotation that the sender sent as
// null. Then the null is not delivered.
func isOverwritten(key, source string, c *engine.Content) bool {
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
		all = value.Properties{} // the section is written, even if it is empty
	}
	return wire.AppendAnnotations(b, s, all)
}

// appendProperties appends the properties. A field that a rule's action has changed is a string,
// whatever its type was.
func (e *Envelope) appendProperties(b []byte, c *engine.Content) []byte {
	p := &e.extras.properties
	has := e.extras.flags.includes
	text := func(s string, empty extraFlag) wire.Opt[string] {
		if s == "" && !has(empty) {
			return wire.Opt[string]{}
		}
		return wire.Some(s)
	}
	id := func(s string, typed value.Value, empty extraFlag) value.Value {
		switch {
		case typed.Kind() != value.Null && (wire.TextOfID(typed) == s || typed.Text() == s): // an earlier version stored binary ids in base64
			return typed
		case s == "" && !has(empty):
			return value.Value{}
		default:
			return value.OfString(s)
		}
	}
	p.MessageID = id(c.MessageID, p.MessageID, flagEmptyMessageID)
	p.CorrelationID = id(c.CorrelationID, p.CorrelationID, flagEmptyCorrelationID)
	p.To, p.Subject, p.ReplyTo = text(c.To, flagEmptyTo), text(c.Subject, flagEmptySubject), text(c.ReplyTo, flagEmptyReplyTo)
	p.ContentType = text(c.ContentType, flagEmptyContentType)
	p.ReplyToGroupID = text(c.ReplyToSessionID, flagEmptyReplyToGroupID)
	if p.GroupID = (wire.Opt[string]{}); c.HasSessionID() {
		p.GroupID = wire.Some(c.SessionID)
	}
	return p.Append(b)
}
