package codec

import (
	"bytes"
	"io"
	"math"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// DecodeMessage decodes a message for the broker. A message without message-id gets one.
func DecodeMessage(encoded []byte) (broker.Outgoing, error) {
	var m wire.Message
	if err := m.Decode(encoded); err != nil {
		return broker.Outgoing{}, err
	}
	var x extras
	out, err := decodeHead(&m, &x)
	if err != nil {
		return broker.Outgoing{}, err
	}
	c := &out.Content
	switch m.Body.Kind {
	case wire.NoBody:
		x.flags |= flagNoBody
	case wire.DataBody:
		c.BodyKind = engine.DataBody
	case wire.SequenceBody:
		c.BodyKind = engine.SequenceBody
	case wire.ValueBody:
		c.BodyKind = engine.ValueBody
		c.Preview = previewOf(m.Body.Content())
	}
	if m.Body.Sections > 1 {
		out.Body = m.Body.Content() // joined, and therefore a copy
		for content := range m.Body.Contents() {
			x.sectionSizes = append(x.sectionSizes, int64(len(content)))
		}
		x.sectionSizes = x.sectionSizes[:len(x.sectionSizes)-1]
	} else {
		out.Body = bytes.Clone(m.Body.Content())
	}
	if err := x.setFooter(m.Footer); err != nil {
		return broker.Outgoing{}, err
	}
	c.Wire = x.pack()
	return out, nil
}

// DecodeStream is like DecodeMessage, but for a message whose data is still arriving. Call it when
// s has first written to s.Data, from which `body` reads. `body` must return io.EOF only when all
// of the message has been written to s, after which nothing more may be written. For a message that
// breaks off or is too large, it must return another error.
func DecodeStream(s *wire.Scanner, body io.Reader) (broker.Outgoing, error) {
	head, ok := s.Head()
	if !ok {
		return broker.Outgoing{}, engine.Refuse(engine.ErrArgument, "The message ends before its body.")
	}
	var x extras
	out, err := decodeHead(&head, &x)
	if err != nil {
		return broker.Outgoing{}, err
	}
	out.Reader = body
	out.Finish = func(c *engine.Content) error {
		m, err := s.Message()
		if err != nil {
			return err
		}
		if err := x.setFooter(m.Footer); err != nil {
			return err
		}
		if err := x.setDeliveryAnnotations(m.DeliveryAnnotations); err != nil { // they may follow the body
			return err
		}
		from := int64(0)
		for _, end := range s.SectionEnds() {
			x.sectionSizes, from = append(x.sectionSizes, end-from), end
		}
		x.sectionSizes = x.sectionSizes[:max(0, len(x.sectionSizes)-1)]
		c.Wire = x.pack()
		return nil
	}
	return out, nil
}

// decodeHead decodes the sections before a message's body.
func decodeHead(m *wire.Message, x *extras) (out broker.Outgoing, err error) {
	c := &out.Content
	var h wire.Header
	if err := h.Decode(m.Header); err != nil {
		return out, err
	}
	var p wire.Properties
	if err := p.Decode(m.Properties); err != nil {
		return out, err
	}
	if setProperties(c, x, &p); p.MessageID.Kind() == value.Null {
		out.GeneratedBytes = int64(len(c.MessageID)) + 2 // including its tag and length
	}
	setTTL(c, x, &h, &p)
	x.header.Durable, x.header.Priority, x.header.FirstAcquirer = h.Durable, h.Priority, h.FirstAcquirer
	if err := setAnnotations(c, x, m.MessageAnnotations); err != nil {
		return out, err
	}
	if err := x.setDeliveryAnnotations(m.DeliveryAnnotations); err != nil {
		return out, err
	}
	if m.ApplicationProperties != nil {
		if c.Properties, err = wire.ParseMap(m.ApplicationProperties); err != nil {
			return out, err
		}
		if len(c.Properties) == 0 {
			c.Properties = nil
			x.flags |= flagNoProperties
		}
	}
	return out, nil
}

// setProperties sets the fields that come from the properties section.
func setProperties(c *engine.Content, x *extras, p *wire.Properties) {
	for _, f := range [...]struct {
		to    *string
		from  wire.Opt[string]
		empty extraFlag
	}{
		{&c.To, p.To, flagEmptyTo}, {&c.Subject, p.Subject, flagEmptySubject}, {&c.ReplyTo, p.ReplyTo, flagEmptyReplyTo},
		{&c.ContentType, p.ContentType, flagEmptyContentType}, {&c.ReplyToSessionID, p.ReplyToGroupID, flagEmptyReplyToGroupID},
	} {
		s, ok := f.from.Get()
		if *f.to = s; ok && s == "" {
			x.flags |= f.empty
		}
	}
	if id, ok := p.GroupID.Get(); ok {
		c.SessionID, c.EmptySessionID = id, id == ""
	}
	c.MessageID, x.properties.MessageID = x.splitID(p.MessageID, flagEmptyMessageID)
	if p.MessageID.Kind() == value.Null {
		c.MessageID = broker.NewMessageID()
	}
	c.CorrelationID, x.properties.CorrelationID = x.splitID(p.CorrelationID, flagEmptyCorrelationID)
	x.properties.UserID, x.properties.ContentEncoding = p.UserID, p.ContentEncoding
	x.properties.AbsoluteExpiryTime, x.properties.CreationTime = p.AbsoluteExpiryTime, p.CreationTime
	x.properties.GroupSequence = p.GroupSequence
}

// splitID returns the text of an id, and also its typed value if it is not a string.
func (x *extras) splitID(v value.Value, empty extraFlag) (text string, typed value.Value) {
	if v.Kind() != value.String {
		return wire.TextOfID(v), v
	}
	text, _ = v.Str()
	if text == "" {
		x.flags |= empty
	}
	return text, value.Value{}
}

// setTTL sets the time to live: header.ttl or, if that has its maximum, the time from creation-time
// to absolute-expiry-time if it is longer (TTL-9). A time longer than a time.Duration means never
// (TTL-2).
func setTTL(c *engine.Content, x *extras, h *wire.Header, p *wire.Properties) {
	ms, ok := h.TTL.Get()
	if !ok {
		return
	}
	c.TTL = time.Duration(ms) * time.Millisecond
	if ms == 0 { // TTL-8
		c.TTL = -time.Millisecond
	}
	from, begins := p.CreationTime.Get()
	until, ends := p.AbsoluteExpiryTime.Get()
	if ms < math.MaxUint32 || !begins || !ends || until <= from {
		return
	}
	apart := uint64(until) - uint64(from) // correct for any signs
	switch {
	case apart > math.MaxInt64/uint64(time.Millisecond):
		c.TTL, x.header.TTL = 0, h.TTL
	case apart > uint64(ms):
		c.TTL = time.Duration(apart) * time.Millisecond
	}
}

// setAnnotations sets the fields that come from the message's annotations.
func setAnnotations(c *engine.Content, x *extras, section []byte) error {
	var refused error
	text := func(to *string, key string, v value.Value, empty extraFlag) {
		if v.Kind() == value.Raw {
			refused = engine.Refuse(engine.ErrArgument, "The message annotation '%s' is a string, not of type %v.", key, v.Kind())
			return
		}
		if *to = wire.TextOfID(v); *to == "" {
			x.flags |= empty
		}
	}
	rest, err := filterMap(section, func(key string, v value.Value) bool {
		null := v.Kind() == value.Null // a null is delivered as null
		switch {
		case isBrokerAnnotation(key):
			return false
		case null:
			return true
		}
		switch key {
		case keyDeadLetterSource:
		case keyPartitionKey:
			text(&c.PartitionKey, key, v, flagEmptyPartitionKey)
		case keyViaPartitionKey:
			text(&c.ViaPartitionKey, key, v, flagEmptyViaPartitionKey)
		case keyScheduled:
			ms, ok := v.Millis()
			switch {
			case !ok:
				refused = engine.Refuse(engine.ErrArgument, "The message annotation '%s' is a timestamp, not of type %v.", key, v.Kind())
			case ms < minScheduledMillis || ms > int64(engine.Forever):
				refused = engine.Refuse(engine.ErrOutOfRange, "The message annotation '%s' is a time in the years 1 to 9999, not at %d ms.", key, ms)
			}
			c.ScheduledFor = engine.Instant(ms)
			return ms == 0 // zero means unscheduled in a content, so it stays an annotation
		case keyDeliveryTime, keyDeliveryDelay:
			if asksForDelay(key, v) {
				refused = engine.Refuse(engine.ErrNotImplemented, "%s", "Delayed delivery, which the message annotation '"+key+"' asks for, is not supported. Set '"+keyScheduled+"' to schedule the message.")
			}
			return true
		default:
			return true
		}
		return false
	})
	if err == nil {
		err = refused
	}
	if len(rest) > 0 {
		x.annotations = wire.AppendFields(nil, rest)
	}
	return err
}

// minScheduledMillis is the beginning of the year 1, in milliseconds since 1970.
const minScheduledMillis = -62_135_596_800_000

// filterMap returns the entries for which keep returns true, of a section that is a map. It
// returns nil if the section is absent.
func filterMap(section []byte, keep func(key string, v value.Value) bool) (value.Properties, error) {
	if section == nil {
		return nil, nil
	}
	all, err := wire.ParseMap(section)
	if err != nil {
		return nil, err
	}
	if all == nil { // null is the same as an empty map
		return value.Properties{}, nil
	}
	return slices.DeleteFunc(all, func(p value.Property) bool { return !keep(p.Name, p.Value) }), nil
}

// setDeliveryAnnotations sets the delivery annotations that the sender has sent, except a lock
// token.
func (x *extras) setDeliveryAnnotations(section []byte) error {
	all, err := filterMap(section, func(key string, _ value.Value) bool { return key != keyLockToken })
	if all != nil {
		x.deliveryAnnotations = wire.AppendFields(nil, all)
	}
	return err
}

func (x *extras) setFooter(section []byte) error {
	all, err := filterMap(section, func(string, value.Value) bool { return true })
	if all != nil {
		x.footer = wire.AppendFields(nil, all)
	}
	return err
}

// previewOf returns the preview of a body that is an encoded value: its text, or the
// empty string if it has none.
func previewOf(encoded []byte) string {
	v, err := wire.ParseSingleValue(encoded)
	if err != nil {
		return ""
	}
	switch v.Kind() {
	case value.Raw, value.Null:
		return ""
	case value.Binary:
		data, _ := v.Bytes()
		return engine.Preview(data)
	default:
		return engine.Preview([]byte(v.Text()))
	}
}

// asksForDelay reports whether an annotation of JMS requests delayed delivery. A delivery time in
// the past, as forwarded messages may have, does not.
func asksForDelay(key string, v value.Value) bool {
	ms, ok := v.Millis()
	if !ok {
		ms, ok = v.Int64()
	}
	if n, unsigned := v.Uint64(); !ok && unsigned {
		ms, ok = int64(min(n, math.MaxInt64)), true
	}
	if key == keyDeliveryTime {
		return ok && ms > time.Now().UnixMilli()
	}
	return ok && ms > 0
}
