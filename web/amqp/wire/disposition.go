package wire

// Disposition announces the state of deliveries (AMQP 1.0, part 2, 2.7.6).
type Disposition struct {
	Role      Role        // mandatory; the role of the peer that sends it
	First     uint32      // mandatory
	Last      Opt[uint32] // absent means the same as First
	Settled   bool
	State     State // nil if there is none
	Batchable bool
}

// Code is CodeDisposition.
func (*Disposition) Code() Code { return CodeDisposition }
func (*Disposition) sealed()    {}

// Decode decodes a disposition. It does not allocate for accepted and released.
func (p *Disposition) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeDisposition)
	*p = Disposition{
		Role:      f.needRole(),
		First:     f.needUint("first"),
		Last:      f.uint("last"),
		Settled:   f.bool("settled").Or(false),
		State:     f.state("state"),
		Batchable: f.bool("batchable").Or(false),
	}
	f.leave()
	return c.checkEnd()
}

func (p *Disposition) append(b []byte) []byte {
	b, at := openComposite(b, CodeDisposition)
	b = appendBool(b, bool(p.Role))
	b = appendUInt(b, p.First)
	b = appendOptUInt(b, p.Last)
	b = appendBool(b, p.Settled)
	b = appendState(b, p.State)
	b = appendBool(b, p.Batchable)
	return closeList(b, at, 6)
}
