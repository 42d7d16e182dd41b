package wire

import (
	"unicode/utf8"

	"mayfly/engine/value"
)

// Properties are a sender's properties of a message (AMQP 1.0, part 3, 3.2.4). Service Bus calls a
// group a session; its id may be empty.
type Properties struct {
	MessageID          value.Value // null if absent; otherwise a ulong, uuid, binary or string, and from some clients an int
	UserID             []byte      // nil if absent
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

// Decode decodes the section's value. Nil, for a message without the section, gives empty
// properties. Texts are parts of one copy of the section.
func (p *Properties) Decode(section []byte) error {
	*p = Properties{}
	if empty(section) {
		return nil
	}
	c := newCursor(section)
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
		GroupID:            f.idText("group-id"),
		GroupSequence:      f.uint("group-sequence"),
		ReplyToGroupID:     f.idText("reply-to-group-id"),
	}
	f.leave()
	return c.checkEnd()
}

// id reads an id of any type that is not a compound. It keeps the type, because an answer repeats
// the id unchanged.
func (f *fields) id(name string) value.Value {
	if f.skipAbsent() {
		return value.Value{}
	}
	v := f.c.value()
	if v.Kind() == value.Raw {
		f.c.fail(CondInvalidField, "%v: %s is a ulong, uuid, binary or string", f.code, name)
	}
	return v
}

// idText reads an id as text. It accepts values of other types, although the standard requires a
// string.
func (f *fields) idText(name string) Opt[string] {
	switch f.c.peek() {
	case codeString8, codeString32, codeSymbol8, codeSymbol32:
		return f.str(name)
	}
	v := f.id(name)
	if v.Kind() == value.Null {
		return Opt[string]{}
	}
	return Some(TextOfID(v))
}

// TextOfID returns the text of an id of any type. Ids are always compared by this text (MSG-11).
// The text of a binary is its bytes if they are UTF-8, because Python's SDK sends as binary the
// strings that it has received. Otherwise it is base64.
func TextOfID(v value.Value) string {
	if v.Kind() == value.Binary {
		if b, _ := v.Bytes(); utf8.Valid(b) {
			return string(b)
		}
	}
	return v.Text()
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

// AppendAnnotations appends a section that is a map: annotations and footer with symbols
// as keys, application properties with strings. A nil p appends nothing, an empty one an
// empty section.
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
