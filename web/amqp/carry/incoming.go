package carry

import (
	"bytes"
	"io"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// Incoming is an encoded message as a broker takes it. A message without
// message-id is given one.
func Incoming(encoded []byte) (broker.Outgoing, error) {
	var m wire.Message
	if err := m.Decode(encoded); err != nil {
		return broker.Outgoing{}, err //nolint:wrapcheck // a *wire.ProtocolError says where
	}
	var x extras
	out, err := begun(&m, &x)
	if err != nil {
		return broker.Outgoing{}, err
	}
	c := &out.Content
	switch m.Body.Kind {
	case wire.NoBody:
		x.marks |= markNoBody
	case wire.DataBody:
		c.BodyKind = engine.DataBody
	case wire.SequenceBody:
		c.BodyKind = engine.SequenceBody
	case wire.ValueBody:
		c.BodyKind = engine.ValueBody
		c.Preview = previewOf(m.Body.Content())
	}
	if m.Body.Sections > 1 {
		out.Body = m.Body.Content() // joined, and so copied
		for content := range m.Body.Contents() {
			x.sections = append(x.sections, int64(len(content)))
		}
		x.sections = x.sections[:len(x.sections)-1]
	} else {
		out.Body = bytes.Clone(m.Body.Content())
	}
	if err := x.foot(m.Footer); err != nil {
		return broker.Outgoing{}, err
	}
	c.Wire = x.pack()
	return out, nil
}

// Begin is Incoming for a message whose data is still on its way: to be called
// when s first writes to its Data, of which body is the other end. When body comes
// to its end all of the message has been written to s, and nobody writes any more;
// a message that breaks off, or is too large, has it end with an error.
func Begin(s *wire.Scanner, body io.Reader) (broker.Outgoing, error) {
	head, ok := s.Head()
	if !ok {
		return broker.Outgoing{}, argument("The message ends before its body.")
	}
	var x extras
	out, err := begun(&head, &x)
	if err != nil {
		return broker.Outgoing{}, err
	}
	out.Reader = body
	out.Finish = func(c *engine.Content) error {
		m, err := s.Message()
		if err != nil {
			return err //nolint:wrapcheck // a *wire.ProtocolError says where
		}
		if err := x.foot(m.Footer); err != nil {
			return err
		}
		if err := x.deliver(m.DeliveryAnnotations); err != nil { // they may stand behind the body
			return err
		}
		from := int64(0)
		for _, end := range s.Ends() {
			x.sections, from = append(x.sections, end-from), end
		}
		x.sections = x.sections[:max(0, len(x.sections)-1)]
		c.Wire = x.pack()
		return nil
	}
	return out, nil
}

// begun is what the sections in front of a message's body say.
func begun(m *wire.Message, x *extras) (out broker.Outgoing, err error) {
	c := &out.Content
	var h wire.Header
	if err := h.Decode(m.Header); err != nil {
		return out, err //nolint:wrapcheck // a *wire.ProtocolError says where
	}
	var p wire.Properties
	if err := p.Decode(m.Properties); err != nil {
		return out, err //nolint:wrapcheck // a *wire.ProtocolError says where
	}
	if identify(c, x, &p); p.MessageID.Kind() == value.Null {
		out.Added = int64(len(c.MessageID)) + 2 // with its tag and length
	}
	setTTL(c, x, &h, &p)
	x.header.Durable, x.header.Priority, x.header.FirstAcquirer = h.Durable, h.Priority, h.FirstAcquirer
	if err := annotate(c, x, m.MessageAnnotations); err != nil {
		return out, err
	}
	if err := x.deliver(m.DeliveryAnnotations); err != nil {
		return out, err
	}
	if m.ApplicationProperties != nil {
		if c.Properties, err = wire.ParseMap(m.ApplicationProperties); err != nil {
			return out, err //nolint:wrapcheck // a *wire.ProtocolError says where
		}
		if len(c.Properties) == 0 {
			c.Properties = nil
			x.marks |= markNoProperties
		}
	}
	return out, nil
}

// identify takes over the properties.
func identify(c *engine.Content, x *extras, p *wire.Properties) {
	for _, f := range [...]struct {
		to    *string
		from  wire.Opt[string]
		empty mark
	}{
		{&c.To, p.To, markTo}, {&c.Subject, p.Subject, markSubject}, {&c.ReplyTo, p.ReplyTo, markReplyTo},
		{&c.ContentType, p.ContentType, markContentType}, {&c.ReplyToSessionID, p.ReplyToGroupID, markReplyToGroupID},
	} {
		s, ok := f.from.Get()
		if *f.to = s; ok && s == "" {
			x.marks |= f.empty
		}
	}
	if id, ok := p.GroupID.Get(); ok {
		c.SessionID, c.EmptySessionID = id, id == ""
	}
	c.MessageID, x.properties.MessageID = x.id(p.MessageID, markMessageID)
	if p.MessageID.Kind() == value.Null {
		c.MessageID = broker.NewMessageID()
	}
	c.CorrelationID, x.properties.CorrelationID = x.id(p.CorrelationID, markCorrelationID)
	x.properties.UserID, x.properties.ContentEncoding = p.UserID, p.ContentEncoding
	x.properties.AbsoluteExpiryTime, x.properties.CreationTime = p.AbsoluteExpiryTime, p.CreationTime
	x.properties.GroupSequence = p.GroupSequence
}

// id is an id as everybody sees it, and as it is kept if it is no string.
func (x *extras) id(v value.Value, empty mark) (text string, typed value.Value) {
	if v.Kind() != value.String {
		return v.Text(), v
	}
	text, _ = v.Str()
	if text == "" {
		x.marks |= empty
	}
	return text, value.Value{}
}

// setTTL takes over the time to live: header.ttl, or what the two times of the
// properties are apart where that is too long for it (TTL-9). What is longer than
// a time.Duration is never (TTL-2).
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
	apart := uint64(until) - uint64(from) // whatever their signs
	switch {
	case apart > math.MaxInt64/uint64(time.Millisecond):
		c.TTL, x.header.TTL = 0, h.TTL
	case apart > uint64(ms):
		c.TTL = time.Duration(apart) * time.Millisecond
	}
}

// annotate takes over the annotations of the message.
func annotate(c *engine.Content, x *extras, section []byte) error {
	var refused error
	text := func(to *string, key string, v value.Value, empty mark) {
		s, ok := v.Str()
		if b, held := v.Bytes(); held && v.Kind() == value.Binary { // so Python's SDK sends on what it has received
			s, ok = string(b), utf8.Valid(b)
		}
		if !ok || v.Kind() == value.URI {
			refused = argument("The message annotation '%s' is a string, not of type %v.", key, v.Kind())
		}
		if *to = s; s == "" {
			x.marks |= empty
		}
	}
	rest, err := chosen(section, func(key string, v value.Value) bool {
		null := v.Kind() == value.Null // comes back as null
		switch {
		case brokers(key):
			return false
		case null:
			return true
		}
		switch key {
		case keyDeadLetterSource:
		case keyPartitionKey:
			text(&c.PartitionKey, key, v, markPartitionKey)
		case keyViaPartitionKey:
			text(&c.ViaPartitionKey, key, v, markViaPartitionKey)
		case keyScheduled:
			ms, ok := v.Millis()
			switch {
			case !ok:
				refused = argument("The message annotation '%s' is a timestamp, not of type %v.", key, v.Kind())
			case ms < firstMilli || ms > int64(engine.Forever):
				refused = outOfRange("The message annotation '%s' is a time in the years 1 to 9999, not at %d ms.", key, ms)
			}
			c.ScheduledFor = engine.Instant(ms)
			return ms == 0 // which a content takes for none
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

// firstMilli is the beginning of year 1, in milliseconds since 1970.
const firstMilli = -62_135_596_800_000

// chosen are the entries of a section that is a map which keep wants; nil if the
// section is absent.
func chosen(section []byte, keep func(key string, v value.Value) bool) (value.Properties, error) {
	if section == nil {
		return nil, nil
	}
	all, err := wire.ParseMap(section)
	if err != nil {
		return nil, err //nolint:wrapcheck // a *wire.ProtocolError says where
	}
	if all == nil { // null means the same as an empty one
		return value.Properties{}, nil
	}
	return slices.DeleteFunc(all, func(p value.Property) bool { return !keep(p.Name, p.Value) }), nil
}

// deliver takes over the annotations of the delivery.
func (x *extras) deliver(section []byte) error {
	all, err := chosen(section, func(key string, _ value.Value) bool { return key != keyLockToken })
	if all != nil {
		x.delivery = wire.AppendFields(nil, all)
	}
	return err
}

// foot takes over the footer.
func (x *extras) foot(section []byte) error {
	all, err := chosen(section, func(string, value.Value) bool { return true })
	if all != nil {
		x.footer = wire.AppendFields(nil, all)
	}
	return err
}

// previewOf is the preview of a body that is an encoded value: its text, if it
// has one.
func previewOf(encoded []byte) string {
	v, err := wire.ParseOne(encoded)
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
