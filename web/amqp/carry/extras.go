package carry

import (
	"encoding/binary"
	"fmt"

	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// extras are what a sender says in AMQP that no other field of a content has
// room for. The zero value says nothing.
type extras struct {
	header wire.Header // but for the delivery count; TTL only where it is not what the content says
	// properties has user id, encoding, times and group sequence, and ids of other
	// types than string.
	properties  wire.Properties
	marks       mark
	annotations []byte  // of the message, but for those that are the content's or the broker's: an encoded map
	delivery    []byte  // annotations of the delivery, likewise; nil: the section is absent
	footer      []byte  // an encoded map; nil: absent
	sections    []int64 // sizes of the body's sections in bytes of content, but for the last
}

// A mark is a detail that needs no more than a bit. The numbers are stored.
type mark uint64

const (
	markNoBody       mark = 1 << iota // there is no body, which is not the same as an empty one
	markNoProperties                  // there are application properties, none of them
	markDurableSet
	markDurable
	markFirstAcquirerSet
	markFirstAcquirer
	markMessageID // this and those below: it is there, and empty
	markTo
	markSubject
	markReplyTo
	markCorrelationID
	markContentType
	markReplyToGroupID
	markPartitionKey
	markViaPartitionKey
)

func (m mark) has(one mark) bool { return m&one != 0 }

// The stored form is a sequence of fields like those of an [engine.Packed]: a
// tag, a length and bytes; readers skip tags they do not know. The numbers are
// stored: a new field gets the next one.
const (
	tagMarks = iota + 1
	tagPriority
	tagTTL
	tagUserID
	tagContentEncoding
	tagAbsoluteExpiryTime
	tagCreationTime
	tagGroupSequence
	tagMessageID
	tagCorrelationID
	tagAnnotations
	tagDelivery
	tagFooter
	tagSections
)

// A packer appends fields.
type packer struct {
	b       []byte
	scratch [binary.MaxVarintLen64]byte
}

func (p *packer) bytes(tag byte, v []byte) {
	p.b = binary.AppendUvarint(append(p.b, tag), uint64(len(v)))
	p.b = append(p.b, v...)
}

func (p *packer) unsigned(tag byte, n uint64) {
	p.bytes(tag, p.scratch[:binary.PutUvarint(p.scratch[:], n)])
}

func (p *packer) signed(tag byte, n int64) {
	p.bytes(tag, p.scratch[:binary.PutVarint(p.scratch[:], n)])
}

// pack is x as a content keeps it; empty if x says nothing.
func (x *extras) pack() string {
	var p packer
	if durable, ok := x.header.Durable.Get(); ok {
		x.marks |= markDurableSet
		if durable {
			x.marks |= markDurable
		}
	}
	if first, ok := x.header.FirstAcquirer.Get(); ok {
		x.marks |= markFirstAcquirerSet
		if first {
			x.marks |= markFirstAcquirer
		}
	}
	if x.marks != 0 {
		p.unsigned(tagMarks, uint64(x.marks))
	}
	if n, ok := x.header.Priority.Get(); ok {
		p.unsigned(tagPriority, uint64(n))
	}
	if n, ok := x.header.TTL.Get(); ok {
		p.unsigned(tagTTL, uint64(n))
	}
	q := &x.properties
	if q.UserID != nil {
		p.bytes(tagUserID, q.UserID)
	}
	if s, ok := q.ContentEncoding.Get(); ok {
		p.bytes(tagContentEncoding, []byte(s))
	}
	if n, ok := q.AbsoluteExpiryTime.Get(); ok {
		p.signed(tagAbsoluteExpiryTime, n)
	}
	if n, ok := q.CreationTime.Get(); ok {
		p.signed(tagCreationTime, n)
	}
	if n, ok := q.GroupSequence.Get(); ok {
		p.unsigned(tagGroupSequence, uint64(n))
	}
	if q.MessageID.Kind() != value.Null {
		p.bytes(tagMessageID, wire.AppendValue(nil, q.MessageID))
	}
	if q.CorrelationID.Kind() != value.Null {
		p.bytes(tagCorrelationID, wire.AppendValue(nil, q.CorrelationID))
	}
	for _, f := range [...]struct {
		tag byte
		v   []byte
	}{{tagAnnotations, x.annotations}, {tagDelivery, x.delivery}, {tagFooter, x.footer}} {
		if f.v != nil {
			p.bytes(f.tag, f.v)
		}
	}
	if len(x.sections) > 0 {
		var sizes []byte
		for _, n := range x.sections {
			sizes = binary.AppendUvarint(sizes, uint64(n))
		}
		p.bytes(tagSections, sizes)
	}
	return string(p.b)
}

// unpack reads what pack wrote.
func (x *extras) unpack(packed string) error {
	*x = extras{}
	for b := []byte(packed); len(b) > 0; {
		tag := b[0]
		n, used := binary.Uvarint(b[1:])
		if used <= 0 || n > uint64(len(b)-1-used) {
			return fmt.Errorf("what AMQP says of a message is cut off in field %d", tag)
		}
		v := b[1+used : 1+used+int(n) : 1+used+int(n)]
		b = b[1+used+int(n):]
		if err := x.field(tag, v); err != nil {
			return fmt.Errorf("what AMQP says of a message: field %d: %w", tag, err)
		}
	}
	return nil
}

func (x *extras) field(tag byte, v []byte) (err error) {
	number, _ := binary.Uvarint(v)
	signed, _ := binary.Varint(v)
	q := &x.properties
	switch tag {
	case tagMarks:
		x.mark(mark(number))
	case tagPriority:
		x.header.Priority = wire.Some(uint8(number))
	case tagTTL:
		x.header.TTL = wire.Some(uint32(number))
	case tagUserID:
		q.UserID = v
	case tagContentEncoding:
		q.ContentEncoding = wire.Some(string(v))
	case tagAbsoluteExpiryTime:
		q.AbsoluteExpiryTime = wire.Some(signed)
	case tagCreationTime:
		q.CreationTime = wire.Some(signed)
	case tagGroupSequence:
		q.GroupSequence = wire.Some(uint32(number))
	case tagMessageID:
		q.MessageID, err = wire.ParseOne(v)
	case tagCorrelationID:
		q.CorrelationID, err = wire.ParseOne(v)
	case tagAnnotations:
		x.annotations = v
	case tagDelivery:
		x.delivery = v
	case tagFooter:
		x.footer = v
	case tagSections:
		for len(v) > 0 {
			n, used := binary.Uvarint(v)
			if used <= 0 {
				return fmt.Errorf("a size is none")
			}
			x.sections = append(x.sections, int64(n))
			v = v[used:]
		}
	}
	return err
}

func (x *extras) mark(m mark) {
	x.marks = m
	if m.has(markDurableSet) {
		x.header.Durable = wire.Some(m.has(markDurable))
	}
	if m.has(markFirstAcquirerSet) {
		x.header.FirstAcquirer = wire.Some(m.has(markFirstAcquirer))
	}
}
