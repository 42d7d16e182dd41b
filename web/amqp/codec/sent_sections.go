package codec

import (
	"fmt"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// A Section is a section of a message as its sender sent it.
type Section struct {
	Name   string // AMQP's, such as "header" or "message-annotations"; "body" for all sections of the body
	Fields []Field
}

// A Field is one field of a section.
type Field struct {
	Name  string
	Type  string // AMQP's; for a section of a body, its descriptor
	Value string // for people, see value.Value.String; empty for an empty value
}

// SentSections returns what the sender sent, section by section, without anything that the broker
// or a settlement has added (MSG-2). It omits absent sections. `body` is the stored body or a part
// of it. If the body is a single AMQP value and `body` is complete, its section contains the value.
// Otherwise the sections of the body contain their sizes.
func SentSections(c engine.Content, body []byte) ([]Section, error) {
	var e Envelope
	if err := e.extras.unpack(c.Wire); err != nil {
		return nil, fmt.Errorf("sections of the message: %w: %w", errCorrupt, err)
	}
	e.appendProperties(nil, &c)
	var out []Section
	add := func(name string, fields []Field) {
		if len(fields) > 0 {
			out = append(out, Section{name, fields})
		}
	}
	annotations, err := e.extras.sentAnnotations(c)
	if err != nil {
		return nil, err
	}
	add("header", e.extras.sentHeader(c))
	if err := addMap(add, "delivery-annotations", e.extras.deliveryAnnotations); err != nil {
		return nil, err
	}
	add("message-annotations", annotations)
	add("properties", e.extras.sentProperties())
	add("application-properties", fieldsOf(c.Properties))
	add("body", e.sentBody(c, body))
	err = addMap(add, "footer", e.extras.footer)
	return out, err
}

// A fieldList collects fields.
type fieldList []Field

func (t *fieldList) add(name, kind, text string) { *t = append(*t, Field{name, kind, text}) }

func (t *fieldList) addValue(name string, v value.Value) {
	if v.Kind() != value.Null {
		t.add(name, v.Kind().String(), v.String())
	}
}

func (t *fieldList) addText(name, kind string, s wire.Opt[string]) {
	if text, ok := s.Get(); ok {
		t.add(name, kind, text)
	}
}

func fieldsOf(all value.Properties) (t fieldList) {
	for _, p := range all {
		t.add(p.Name, p.Value.Kind().String(), p.Value.String())
	}
	return t
}

func addMap(add func(string, []Field), section string, encoded []byte) error {
	all, err := wire.ParseMap(encoded)
	if err != nil {
		return fmt.Errorf("sections of the message: %s: %w: %w", section, errCorrupt, err)
	}
	add(section, fieldsOf(all))
	return nil
}

func (x *extras) sentHeader(c engine.Content) (t fieldList) {
	if v, ok := x.header.Durable.Get(); ok {
		t.addValue("durable", value.OfBool(v))
	}
	if v, ok := x.header.Priority.Get(); ok {
		t.addValue("priority", value.OfUByte(v))
	}
	ttl, ok := x.header.TTL.Get()
	switch {
	case ok:
		t.add("ttl", "milliseconds", strconv.FormatUint(uint64(ttl), 10))
	case c.TTL != 0: // a negative one has expired on arrival (TTL-8)
		t.add("ttl", "milliseconds", strconv.FormatInt(int64((max(c.TTL, 0)+time.Millisecond-1)/time.Millisecond), 10))
	}
	if v, ok := x.header.FirstAcquirer.Get(); ok {
		t.addValue("first-acquirer", value.OfBool(v))
	}
	return t
}

// sentAnnotations returns the annotations of the message, including those that Service Bus
// defines.
func (x *extras) sentAnnotations(c engine.Content) ([]Field, error) {
	all, err := wire.ParseMap(x.annotations)
	if err != nil {
		return nil, fmt.Errorf("sections of the message: message-annotations: %w: %w", errCorrupt, err)
	}
	t := fieldsOf(all)
	if c.ScheduledFor != 0 {
		t.addValue(keyScheduled, value.OfTimestamp(int64(c.ScheduledFor)))
	}
	if c.PartitionKey != "" || x.flags.includes(flagEmptyPartitionKey) {
		t.addValue(keyPartitionKey, value.OfString(c.PartitionKey))
	}
	if c.ViaPartitionKey != "" || x.flags.includes(flagEmptyViaPartitionKey) {
		t.addValue(keyViaPartitionKey, value.OfString(c.ViaPartitionKey))
	}
	return t, nil
}

// sentProperties returns the fields of the properties, which appendProperties has set.
func (x *extras) sentProperties() (t fieldList) {
	p := &x.properties
	t.addValue("message-id", p.MessageID)
	if p.UserID != nil {
		t.addValue("user-id", value.OfBinary(p.UserID))
	}
	t.addText("to", "string", p.To)
	t.addText("subject", "string", p.Subject)
	t.addText("reply-to", "string", p.ReplyTo)
	t.addValue("correlation-id", p.CorrelationID)
	t.addText("content-type", "symbol", p.ContentType)
	t.addText("content-encoding", "symbol", p.ContentEncoding)
	if ms, ok := p.AbsoluteExpiryTime.Get(); ok {
		t.addValue("absolute-expiry-time", value.OfTimestamp(ms))
	}
	if ms, ok := p.CreationTime.Get(); ok {
		t.addValue("creation-time", value.OfTimestamp(ms))
	}
	t.addText("group-id", "string", p.GroupID)
	if n, ok := p.GroupSequence.Get(); ok {
		t.addValue("group-sequence", value.OfUInt(n))
	}
	t.addText("reply-to-group-id", "string", p.ReplyToGroupID)
	return t
}

func (e *Envelope) sentBody(c engine.Content, body []byte) (t fieldList) {
	e.sections.split(&c, &e.extras)
	section := map[wire.Section]string{wire.SectionData: "data", wire.SectionValue: "amqp-value", wire.SectionSequence: "amqp-sequence"}[e.sections.section]
	if len(e.sections.sizes) == 1 && e.sections.section == wire.SectionValue && int64(len(body)) == c.BodySize {
		if v, err := wire.ParseSingleValue(body); err == nil {
			t.add(section, v.Kind().String(), v.String())
			return t
		}
	}
	for _, n := range e.sections.sizes {
		t.add(section, "bytes", strconv.FormatInt(n, 10))
	}
	return t
}
