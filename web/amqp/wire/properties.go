package wire

import "mayfly/engine/value"

// Properties are what the sender says about a message (AMQP 1.0, part 3,
// 3.2.4). A group is a session of Service Bus, which may have the empty id.
type Properties struct {
	MessageID          value.Value // null: absent; else a ulong, uuid, binary or string, and from some clients an int
	UserID             []byte      // nil: absent
	To                 Opt[string]
	Subject            Opt[string]
	ReplyTo            Opt[string]
	CorrelationID      value.Value // like MessageID
	ContentType        Opt[string] // a symbol
	ContentEncoding    Opt[string] // a symbol
	AbsoluteExpiryTime Opt[int64]  // milliseconds since the Unix epoch
	CreationTime       Opt[int64]  // milliseconds since the Unix epoch
	GroupID            Opt[string]
	GroupSequence      Opt[uint32]
	ReplyToGroupID     Opt[string]
}

// Decode sets p from the section's value; nil, as of a message without the
// section, is no properties. Texts are cut from one copy of the section.
func (p *Properties) Decode(section []byte) error {
	*p = Properties{}
	if empty(section) {
		return nil
	}
	c := over(section)
	f := c.enterList(Code(SectionProperties))
	*p = Properties{
		MessageID:          f.id("message-id"),
		UserID:             f.copied("user-id"),
		To:                 f.str("to"),
		Subject:            f.str("subject"),
		ReplyTo:            f.str("reply-to"),
		CorrelationID:      f.id("correlation-id"),
		ContentType:        f.symbol("content-type"),
		ContentEncoding:    f.symbol("content-encoding"),
		AbsoluteExpiryTime: f.timestamp("absolute-expiry-time"),
		CreationTime:       f.timestamp("creation-time"),
		GroupID:            f.str("group-id"),
		GroupSequence:      f.uint("group-sequence"),
		ReplyToGroupID:     f.str("reply-to-group-id"),
	}
	f.leave()
	return c.finish()
}

// id is any value but a compound one: an answer repeats it as it came.
func (f *fields) id(name string) value.Value {
	if f.absent() {
		return value.Value{}
	}
	v := f.c.value()
	if v.Kind() == value.Raw {
		f.c.fail(CondInvalidField, "%v: %s is a ulong, uuid, binary or string", f.code, name)
	}
	return v
}

// Append appends the section to b.
func (p *Properties) Append(b []byte) []byte {
	b, at := openComposite(b, Code(SectionProperties))
	b = AppendValue(b, p.MessageID)
	b = appendOptBinary(b, p.UserID)
	b = appendOptString(b, p.To)
	b = appendOptString(b, p.Subject)
	b = appendOptString(b, p.ReplyTo)
	b = AppendValue(b, p.CorrelationID)
	b = appendOptSymbol(b, p.ContentType)
	b = appendOptSymbol(b, p.ContentEncoding)
	b = appendOptTimestamp(b, p.AbsoluteExpiryTime)
	b = appendOptTimestamp(b, p.CreationTime)
	b = appendOptString(b, p.GroupID)
	b = appendOptUInt(b, p.GroupSequence)
	b = appendOptString(b, p.ReplyToGroupID)
	return closeList(b, at, 13)
}

// AppendAnnotations appends a section that is a map: annotations and footer with
// symbols for keys, application properties with strings. Nil appends nothing,
// what is merely empty an empty section.
func AppendAnnotations(b []byte, s Section, p value.Properties) []byte {
	if p == nil {
		return b
	}
	b = append(b, codeDescribed, codeSmallULong, byte(s))
	if s == SectionApplicationProperties {
		return AppendMap(b, p)
	}
	return AppendFields(b, p)
}
