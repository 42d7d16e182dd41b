package carry

import (
	"fmt"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// A Section is a section of a message as its sender wrote it.
type Section struct {
	Name   string // AMQP's: "header", "message-annotations"; "body" for those of the body
	Fields []Field
}

// A Field is one thing that a section says.
type Field struct {
	Name  string
	Type  string // AMQP's; of a section of a body its descriptor
	Value string // for people, see value.Value.String; empty: there is an empty one
}

// Said is what the sender said of a message, section by section, and nothing that
// the broker or a settlement has added (MSG-2). Sections that are absent are left
// out. A body that is one AMQP value is shown if body is all of it; otherwise
// sections of the body tell their sizes.
func Said(c engine.Content, body []byte) ([]Section, error) {
	var e Envelope
	if err := e.x.unpack(c.Wire); err != nil {
		return nil, fmt.Errorf("what was sent: %w: %w", errStored, err)
	}
	e.identity(nil, &c)
	var out []Section
	add := func(name string, fields []Field) {
		if len(fields) > 0 {
			out = append(out, Section{name, fields})
		}
	}
	annotations, err := e.x.saidOfMessage(c)
	if err != nil {
		return nil, err
	}
	add("header", e.x.saidHeader(c))
	if err := addMap(add, "delivery-annotations", e.x.delivery); err != nil {
		return nil, err
	}
	add("message-annotations", annotations)
	add("properties", e.x.saidProperties())
	add("application-properties", fieldsOf(c.Properties))
	add("body", e.saidBody(c, body))
	err = addMap(add, "footer", e.x.footer)
	return out, err
}

// A teller collects fields.
type teller []Field

func (t *teller) say(name, kind, text string) { *t = append(*t, Field{name, kind, text}) }

func (t *teller) value(name string, v value.Value) {
	if v.Kind() != value.Null {
		t.say(name, v.Kind().String(), v.String())
	}
}

func (t *teller) text(name, kind string, s wire.Opt[string]) {
	if text, ok := s.Get(); ok {
		t.say(name, kind, text)
	}
}

func fieldsOf(all value.Properties) (t teller) {
	for _, p := range all {
		t.say(p.Name, p.Value.Kind().String(), p.Value.String())
	}
	return t
}

func addMap(add func(string, []Field), section string, encoded []byte) error {
	all, err := wire.ParseMap(encoded)
	if err != nil {
		return fmt.Errorf("what was sent: %s: %w: %w", section, errStored, err)
	}
	add(section, fieldsOf(all))
	return nil
}

func (x *extras) saidHeader(c engine.Content) (t teller) {
	if v, ok := x.header.Durable.Get(); ok {
		t.value("durable", value.OfBool(v))
	}
	if v, ok := x.header.Priority.Get(); ok {
		t.value("priority", value.OfUByte(v))
	}
	ttl, ok := x.header.TTL.Get()
	switch {
	case ok:
		t.say("ttl", "milliseconds", strconv.FormatUint(uint64(ttl), 10))
	case c.TTL != 0: // a negative one ran out on its way (TTL-8)
		t.say("ttl", "milliseconds", strconv.FormatInt(int64((max(c.TTL, 0)+time.Millisecond-1)/time.Millisecond), 10))
	}
	if v, ok := x.header.FirstAcquirer.Get(); ok {
		t.value("first-acquirer", value.OfBool(v))
	}
	return t
}

// saidOfMessage are the annotations of the message, those that mean something to
// Service Bus among them.
func (x *extras) saidOfMessage(c engine.Content) ([]Field, error) {
	all, err := wire.ParseMap(x.annotations)
	if err != nil {
		return nil, fmt.Errorf("what was sent: message-annotations: %w: %w", errStored, err)
	}
	t := fieldsOf(all)
	if c.ScheduledFor != 0 {
		t.value(keyScheduled, value.OfTimestamp(int64(c.ScheduledFor)))
	}
	if c.PartitionKey != "" || x.marks.has(markPartitionKey) {
		t.value(keyPartitionKey, value.OfString(c.PartitionKey))
	}
	if c.ViaPartitionKey != "" || x.marks.has(markViaPartitionKey) {
		t.value(keyViaPartitionKey, value.OfString(c.ViaPartitionKey))
	}
	return t, nil
}

// saidProperties are those of the section, once identity has set them.
func (x *extras) saidProperties() (t teller) {
	p := &x.properties
	t.value("message-id", p.MessageID)
	if p.UserID != nil {
		t.value("user-id", value.OfBinary(p.UserID))
	}
	t.text("to", "string", p.To)
	t.text("subject", "string", p.Subject)
	t.text("reply-to", "string", p.ReplyTo)
	t.value("correlation-id", p.CorrelationID)
	t.text("content-type", "symbol", p.ContentType)
	t.text("content-encoding", "symbol", p.ContentEncoding)
	if ms, ok := p.AbsoluteExpiryTime.Get(); ok {
		t.value("absolute-expiry-time", value.OfTimestamp(ms))
	}
	if ms, ok := p.CreationTime.Get(); ok {
		t.value("creation-time", value.OfTimestamp(ms))
	}
	t.text("group-id", "string", p.GroupID)
	if n, ok := p.GroupSequence.Get(); ok {
		t.value("group-sequence", value.OfUInt(n))
	}
	t.text("reply-to-group-id", "string", p.ReplyToGroupID)
	return t
}

func (e *Envelope) saidBody(c engine.Content, body []byte) (t teller) {
	e.stuff.cut(&c, &e.x)
	section := map[wire.Section]string{wire.SectionData: "data", wire.SectionValue: "amqp-value", wire.SectionSequence: "amqp-sequence"}[e.stuff.section]
	if len(e.stuff.sizes) == 1 && e.stuff.section == wire.SectionValue && int64(len(body)) == c.BodySize {
		if v, err := wire.ParseOne(body); err == nil {
			t.say(section, v.Kind().String(), v.String())
			return t
		}
	}
	for _, n := range e.stuff.sizes {
		t.say(section, "bytes", strconv.FormatInt(n, 10))
	}
	return t
}
