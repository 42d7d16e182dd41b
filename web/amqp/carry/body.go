package carry

import (
	"bytes"
	"io"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

// pieces are the sections of a body: of which kind, and the bytes of content of
// each. None: there is no body.
type pieces struct {
	section wire.Section
	sizes   []int64
	one     [1]int64 // sizes of most
}

// cut has p be the sections of a stored body. If it cannot be cut as it was,
// because somebody has changed it since, it is one.
func (p *pieces) cut(c *engine.Content, x *extras) {
	p.sizes = nil
	switch c.BodyKind {
	case engine.ValueBody:
		p.section = wire.SectionValue
	case engine.SequenceBody:
		p.section = wire.SectionSequence
	default:
		p.section = wire.SectionData
	}
	if c.BodySize == 0 && x.marks.has(markNoBody) {
		return
	}
	left := c.BodySize
	for _, n := range x.sections {
		if n < 0 || n > left {
			left = -1
			break
		}
		left -= n
	}
	if len(x.sections) == 0 || left < 0 {
		p.one[0] = c.BodySize
		p.sizes = p.one[:]
		return
	}
	p.sizes = append(x.sections, left)
}

// appendHead appends the beginning of section i; nothing if there is none.
func (p *pieces) appendHead(b []byte, i int) []byte {
	if i >= len(p.sizes) {
		return b
	}
	if p.section == wire.SectionData {
		return wire.AppendDataHead(b, uint32(p.sizes[i]))
	}
	return wire.AppendSection(b, p.section, []byte{})
}

// between is how many bytes stand between sections.
func (p *pieces) between() (n int64) {
	var head [16]byte
	for i := 1; i < len(p.sizes); i++ {
		n += int64(len(p.appendHead(head[:0], i)))
	}
	return n
}

// BodySize is the number of bytes between Head and Tail.
func (e *Envelope) BodySize() int64 { return e.size + e.stuff.between() }

// Size is the number of bytes of the whole message.
func (e *Envelope) Size() int64 { return int64(len(e.Head)+len(e.Tail)) + e.BodySize() }

// Body is a body in memory, of the size that its content has, as it stands between
// Head and Tail: itself, unless it has several sections.
func (e *Envelope) Body(body []byte) []byte {
	if len(e.stuff.sizes) < 2 {
		return body
	}
	out := make([]byte, 0, e.BodySize())
	for i, n := range e.stuff.sizes {
		if i > 0 {
			out = e.stuff.appendHead(out, i)
		}
		out = append(out, body[:n]...)
		body = body[n:]
	}
	return out
}

// Stream is Body for one that is read as it goes out.
func (e *Envelope) Stream(body io.Reader) io.Reader {
	if len(e.stuff.sizes) < 2 {
		return body
	}
	var parts []io.Reader
	for i, n := range e.stuff.sizes {
		if i > 0 {
			parts = append(parts, bytes.NewReader(e.stuff.appendHead(nil, i)))
		}
		parts = append(parts, io.LimitReader(body, n))
	}
	return io.MultiReader(parts...)
}

// OmitBody has e be of the message without its body.
func (e *Envelope) OmitBody() {
	e.Head = e.Head[:e.front]
	e.stuff.sizes, e.size = nil, 0
}

// Append appends the whole message to b, given its body as it is stored.
func (e *Envelope) Append(b, body []byte) []byte {
	b = append(b, e.Head...)
	if len(e.stuff.sizes) > 0 {
		b = append(b, e.Body(body)...)
	}
	return append(b, e.Tail...)
}
