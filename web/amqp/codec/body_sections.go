package codec

import (
	"bytes"
	"io"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

// bodySections describes the sections of a body: their kind, and the number of content bytes of
// each. A message without a body has no sections.
type bodySections struct {
	section wire.Section
	sizes   []int64
	one     [1]int64 // avoids an allocation for a single section
}

// split sets p to the sections of a stored body. If the recorded sizes do not match,
// because the body has been changed, it becomes one section.
func (p *bodySections) split(c *engine.Content, x *extras) {
	p.sizes = nil
	switch c.BodyKind {
	case engine.ValueBody:
		p.section = wire.SectionValue
	case engine.SequenceBody:
		p.section = wire.SectionSequence
	default:
		p.section = wire.SectionData
	}
	if c.BodySize == 0 && x.flags.includes(flagNoBody) {
		return
	}
	left := c.BodySize
	for _, n := range x.sectionSizes {
		if n < 0 || n > left {
			left = -1
			break
		}
		left -= n
	}
	if len(x.sectionSizes) == 0 || left < 0 {
		p.one[0] = c.BodySize
		p.sizes = p.one[:]
		return
	}
	p.sizes = append(x.sectionSizes, left)
}

// appendHead appends the beginning of section i, or nothing if there is no such section.
func (p *bodySections) appendHead(b []byte, i int) []byte {
	if i >= len(p.sizes) {
		return b
	}
	if p.section == wire.SectionData {
		return wire.AppendDataHeader(b, uint32(p.sizes[i]))
	}
	return wire.AppendSection(b, p.section, []byte{})
}

// headBytes returns the number of bytes between the contents of sections.
func (p *bodySections) headBytes() (n int64) {
	var head [16]byte
	for i := 1; i < len(p.sizes); i++ {
		n += int64(len(p.appendHead(head[:0], i)))
	}
	return n
}

// BodySize returns the number of bytes between Head and Tail.
func (e *Envelope) BodySize() int64 { return e.bodySize + e.sections.headBytes() }

// Size returns the number of bytes of the whole message.
func (e *Envelope) Size() int64 { return int64(len(e.Head)+len(e.Tail)) + e.BodySize() }

// EncodeBody returns the bytes to send between Head and Tail: body unchanged, unless it has several
// sections. body must be the whole stored body.
func (e *Envelope) EncodeBody(body []byte) []byte {
	if len(e.sections.sizes) < 2 {
		return body
	}
	out := make([]byte, 0, e.BodySize())
	for i, n := range e.sections.sizes {
		if i > 0 {
			out = e.sections.appendHead(out, i)
		}
		out = append(out, body[:n]...)
		body = body[n:]
	}
	return out
}

// EncodeStream is like EncodeBody, but for a body that is read while it is sent.
func (e *Envelope) EncodeStream(body io.Reader) io.Reader {
	if len(e.sections.sizes) < 2 {
		return body
	}
	var parts []io.Reader
	for i, n := range e.sections.sizes {
		if i > 0 {
			parts = append(parts, bytes.NewReader(e.sections.appendHead(nil, i)))
		}
		parts = append(parts, io.LimitReader(body, n))
	}
	return io.MultiReader(parts...)
}

// OmitBody removes the body from the encoded message.
func (e *Envelope) OmitBody() {
	e.Head = e.Head[:e.headSize]
	e.sections.sizes, e.bodySize = nil, 0
}

// AppendMessage appends the whole message to b. body is the stored body.
func (e *Envelope) AppendMessage(b, body []byte) []byte {
	b = append(b, e.Head...)
	if len(e.sections.sizes) > 0 {
		b = append(b, e.EncodeBody(body)...)
	}
	return append(b, e.Tail...)
}
