package wire

// A Header describes the transport of a message (AMQP 1.0, part 3, 3.2.1). Absent fields
// stay absent, because clients look for the fields that they sent.
type Header struct {
	Durable       Opt[bool]   // absent means false
	Priority      Opt[uint8]  // absent means 4
	TTL           Opt[uint32] // milliseconds
	FirstAcquirer Opt[bool]   // absent means false
	DeliveryCount Opt[uint32] // number of earlier deliveries; absent means 0
}

// Decode decodes the section's value. Nil, for a message without the section, gives an
// empty header.
func (h *Header) Decode(section []byte) error {
	*h = Header{}
	if empty(section) {
		return nil
	}
	c := newCursor(section)
	f := c.enterList(Code(SectionHeader))
	*h = Header{
		Durable:       f.bool("durable"),
		Priority:      f.ubyte("priority"),
		TTL:           f.uint("ttl"),
		FirstAcquirer: f.bool("first-acquirer"),
		DeliveryCount: f.uint("delivery-count"),
	}
	f.leave()
	return c.checkEnd()
}

// Append appends the section to b.
func (h *Header) Append(b []byte) []byte {
	b, at := openComposite(b, Code(SectionHeader))
	b = appendOptBool(b, h.Durable)
	b = appendOptUByte(b, h.Priority)
	b = appendOptUInt(b, h.TTL)
	b = appendOptBool(b, h.FirstAcquirer)
	b = appendOptUInt(b, h.DeliveryCount)
	return closeList(b, at, 5)
}

// empty reports whether a section is absent or null.
func empty(section []byte) bool {
	return len(section) == 0 || len(section) == 1 && section[0] == codeNull
}
