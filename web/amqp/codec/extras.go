package codec

import (
	"encoding/binary"
	"fmt"

	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// extras are the parts of an AMQP message that engine.Content has no field for. The zero value has
// no parts.
type extras struct {
	header wire.Header // without the delivery count; TTL only if it differs from the content's
	// properties has user id, encoding, times and group sequence, and ids that are not
	// strings.
	properties          wire.Properties
	flags               extraFlag
	annotations         []byte  // of the message, without those of the content and the broker: an encoded map
	deliveryAnnotations []byte  // annotations of the delivery, an encoded map; nil if the section is absent
	footer              []byte  // an encoded map; nil if absent
	sectionSizes        []int64 // content bytes of the body's sections, without the last
}

// An extraFlag is a one-bit detail. The bits are stored, so they must not change.
type extraFlag uint64

const (
	flagNoBody       extraFlag = 1 << iota // without a body, which differs from an empty one
	flagNoProperties                       // with application properties, but an empty map
	flagDurableSet
	flagDurable
	flagFirstAcquirerSet
	flagFirstAcquirer
	flagEmptyMessageID // for this flag and those below, the field is present and empty
	flagEmptyTo
	flagEmptySubject
	flagEmptyReplyTo
	flagEmptyCorrelationID
	flagEmptyContentType
	flagEmptyReplyToGroupID
	flagEmptyPartitionKey
	flagEmptyViaPartitionKey
)

func (m extraFlag) includes(one extraFlag) bool { return m&one != 0 }

// The stored form is a sequence of fields like those of an [engine.Packed]: a tag, a
// length and bytes. Decoders skip unknown tags. The numbers are stored: a new field gets
// the next one.
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

// An extrasEncoder encodes the fields of extras in their stored form.
type extrasEncoder struct {
	b       []byte
	scratch [binary.MaxVarintLen64]byte
}

func (p *extrasEncoder) bytes(tag byte, v []byte) {
	p.b = binary.AppendUvarint(append(p.b, tag), uint64(len(v)))
	p.b = append(p.b, v...)
}

func (p *extrasEncoder) unsigned(tag byte, n uint64) {
	p.bytes(tag, p.scratch[:binary.PutUvarint(p.scratch[:], n)])
}

func (p *extrasEncoder) signed(tag byte, n int64) {
	p.bytes(tag, p.scratch[:binary.PutVarint(p.scratch[:], n)])
}

// pack returns the stored form of x, which is empty if x has no parts.
func (x *extras) pack() string {
	var p extrasEncoder
	if durable, ok := x.header.Durable.Get(); ok {
		x.flags |= flagDurableSet
		if durable {
			x.flags |= flagDurable
		}
	}
	if first, ok := x.header.FirstAcquirer.Get(); ok {
		x.flags |= flagFirstAcquirerSet
		if first {
			x.flags |= flagFirstAcquirer
		}
	}
	if x.flags != 0 {
		p.unsigned(tagMarks, uint64(x.flags))
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
	}{{tagAnnotations, x.annotations}, {tagDelivery, x.deliveryAnnotations}, {tagFooter, x.footer}} {
		if f.v != nil {
			p.bytes(f.tag, f.v)
		}
	}
	if len(x.sectionSizes) > 0 {
		var sizes []byte
		for _, n := range x.sectionSizes {
			sizes = binary.AppendUvarint(sizes, uint64(n))
		}
		p.bytes(tagSections, sizes)
	}
	return string(p.b)
}

// unpack sets x to the parts that pack encoded.
func (x *extras) unpack(packed string) error {
	*x = extras{}
	for b := []byte(packed); len(b) > 0; {
		tag := b[0]
		n, used := binary.Uvarint(b[1:])
		if used <= 0 || n > uint64(len(b)-1-used) {
			return fmt.Errorf("the AMQP sections of a message are cut off in field %d", tag)
		}
		v := b[1+used : 1+used+int(n) : 1+used+int(n)]
		b = b[1+used+int(n):]
		if err := x.decodeField(tag, v); err != nil {
			return fmt.Errorf("the AMQP sections of a message: field %d: %w", tag, err)
		}
	}
	return nil
}

func (x *extras) decodeField(tag byte, v []byte) (err error) {
	number, _ := binary.Uvarint(v)
	signed, _ := binary.Varint(v)
	q := &x.properties
	switch tag {
	case tagMarks:
		x.setFlags(extraFlag(number))
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
		q.MessageID, err = wire.ParseSingleValue(v)
	case tagCorrelationID:
		q.CorrelationID, err = wire.ParseSingleValue(v)
	case tagAnnotations:
		x.annotations = v
	case tagDelivery:
		x.deliveryAnnotations = v
	case tagFooter:
		x.footer = v
	case tagSections:
		for len(v) > 0 {
			n, used := binary.Uvarint(v)
			if used <= 0 {
				return fmt.Errorf("a size is invalid")
			}
			x.sectionSizes = append(x.sectionSizes, int64(n))
			v = v[used:]
		}
	}
	return err
}

func (x *extras) setFlags(m extraFlag) {
	x.flags = m
	if m.includes(flagDurableSet) {
		x.header.Durable = wire.Some(m.includes(flagDurable))
	}
	if m.includes(flagFirstAcquirerSet) {
		x.header.FirstAcquirer = wire.Some(m.includes(flagFirstAcquirer))
	}
}
