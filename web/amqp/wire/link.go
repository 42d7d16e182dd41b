package wire

import "mayfly/engine/value"

// A Role is the role of a link's end (AMQP 1.0, part 2, 2.8.1).
type Role bool

// The two ends of a link.
const (
	RoleSender   Role = false
	RoleReceiver Role = true
)

func (r Role) String() string {
	if r == RoleReceiver {
		return "receiver"
	}
	return "sender"
}

// A SenderSettleMode determines when a sender settles (part 2, 2.8.2).
type SenderSettleMode uint8

// The modes of a sender. An absent mode means SenderMixed.
const (
	SenderUnsettled SenderSettleMode = 0
	SenderSettled   SenderSettleMode = 1
	SenderMixed     SenderSettleMode = 2
)

// A ReceiverSettleMode determines when a receiver settles (part 2, 2.8.3).
type ReceiverSettleMode uint8

// The modes of a receiver, which settles at once or after the sender has settled. An absent mode
// means ReceiverFirst.
const (
	ReceiverFirst  ReceiverSettleMode = 0
	ReceiverSecond ReceiverSettleMode = 1
)

// Attach attaches a link to a session (part 2, 2.7.3). Its map of unsettled deliveries is
// ignored in decoding and null in encoding, because links are never resumed.
type Attach struct {
	Name                 string // mandatory
	Handle               uint32 // mandatory
	Role                 Role   // mandatory; the role of the peer that sends the attach
	SenderSettleMode     Opt[SenderSettleMode]
	ReceiverSettleMode   Opt[ReceiverSettleMode]
	Source               *Source      // nil for null, which in an answer refuses the link
	Target               *Target      // nil for null, as in Source, and with a Coordinator
	Coordinator          *Coordinator // the target of transactions
	IncompleteUnsettled  bool
	InitialDeliveryCount Opt[uint32] // mandatory for senders; a client may omit it
	MaxMessageSize       Opt[uint64] // bytes; zero or absent means no limit
	OfferedCapabilities  []string
	DesiredCapabilities  []string
	Properties           value.Properties
}

// Code is CodeAttach.
func (*Attach) Code() Code { return CodeAttach }
func (*Attach) sealed()    {}

// Decode decodes an attach.
func (p *Attach) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeAttach)
	*p = Attach{Name: f.needString("name"), Handle: f.needUint("handle"), Role: f.needRole()}
	p.SenderSettleMode, p.ReceiverSettleMode = f.senderSettleMode(), f.receiverSettleMode()
	if !f.skipAbsent() {
		p.Source = c.source()
	}
	if !f.skipAbsent() {
		p.Target, p.Coordinator = c.target()
	}
	f.skip()
	p.IncompleteUnsettled = f.bool("incomplete-unsettled").Or(false)
	p.InitialDeliveryCount = f.uint("initial-delivery-count")
	p.MaxMessageSize = f.ulong("max-message-size")
	p.OfferedCapabilities = f.symbols("offered-capabilities")
	p.DesiredCapabilities = f.symbols("desired-capabilities")
	p.Properties = f.fields("properties")
	f.leave()
	return c.checkEnd()
}

func (f *fields) needRole() Role {
	r, ok := f.bool("role").Get()
	if !ok {
		f.failMissing("role")
	}
	return Role(r)
}

func (f *fields) senderSettleMode() (o Opt[SenderSettleMode]) {
	n, ok := f.ubyte("snd-settle-mode").Get()
	if !ok {
		return o
	}
	if n > uint8(SenderMixed) {
		f.c.fail(CondInvalidField, "%v: unknown snd-settle-mode %d", f.code, n)
	}
	return Some(SenderSettleMode(n))
}

func (f *fields) receiverSettleMode() (o Opt[ReceiverSettleMode]) {
	n, ok := f.ubyte("rcv-settle-mode").Get()
	if !ok {
		return o
	}
	if n > uint8(ReceiverSecond) {
		f.c.fail(CondInvalidField, "%v: unknown rcv-settle-mode %d", f.code, n)
	}
	return Some(ReceiverSettleMode(n))
}

func (p *Attach) append(b []byte) []byte {
	b, at := openComposite(b, CodeAttach)
	b = appendString(b, p.Name)
	b = appendUInt(b, p.Handle)
	b = appendBool(b, bool(p.Role))
	if m, ok := p.SenderSettleMode.Get(); ok {
		b = append(b, codeUByte, byte(m))
	} else {
		b = append(b, codeNull)
	}
	b = appendReceiverSettleMode(b, p.ReceiverSettleMode)
	if p.Source != nil {
		b = p.Source.append(b)
	} else {
		b = append(b, codeNull)
	}
	switch {
	case p.Coordinator != nil:
		b = p.Coordinator.append(b)
	case p.Target != nil:
		b = p.Target.append(b)
	default:
		b = append(b, codeNull)
	}
	b = append(b, codeNull) // unsettled
	b = appendBool(b, p.IncompleteUnsettled)
	b = appendOptUInt(b, p.InitialDeliveryCount)
	b = appendOptULong(b, p.MaxMessageSize)
	b = appendSymbols(b, p.OfferedCapabilities)
	b = appendSymbols(b, p.DesiredCapabilities)
	b = AppendFields(b, p.Properties)
	return closeList(b, at, 14)
}

func appendReceiverSettleMode(b []byte, o Opt[ReceiverSettleMode]) []byte {
	if m, ok := o.Get(); ok {
		return append(b, codeUByte, byte(m))
	}
	return append(b, codeNull)
}

// Detach detaches a link from its session (part 2, 2.7.7).
type Detach struct {
	Handle uint32 // mandatory
	Closed bool   // the link is closed, not only detached
	Error  *Error // nil without an error
}

// Code is CodeDetach.
func (*Detach) Code() Code { return CodeDetach }
func (*Detach) sealed()    {}

// Decode decodes a detach.
func (p *Detach) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeDetach)
	*p = Detach{Handle: f.needUint("handle"), Closed: f.bool("closed").Or(false)}
	if !f.skipAbsent() {
		p.Error = c.error()
	}
	f.leave()
	return c.checkEnd()
}

func (p *Detach) append(b []byte) []byte {
	b, at := openComposite(b, CodeDetach)
	b = appendUInt(b, p.Handle)
	b = appendBool(b, p.Closed)
	b = appendError(b, p.Error)
	return closeList(b, at, 3)
}
