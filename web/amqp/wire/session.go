package wire

import "mayfly/engine/value"

// Begin begins a session on a channel (AMQP 1.0, part 2, 2.7.2).
type Begin struct {
	RemoteChannel       Opt[uint16] // in an answer, the channel of the begin that it answers
	NextOutgoingID      uint32      // mandatory
	IncomingWindow      uint32      // mandatory
	OutgoingWindow      uint32      // mandatory
	HandleMax           Opt[uint32] // absent means the maximum
	OfferedCapabilities []string
	DesiredCapabilities []string
	Properties          value.Properties
}

// Code is CodeBegin.
func (*Begin) Code() Code { return CodeBegin }
func (*Begin) sealed()    {}

// Decode decodes a begin.
func (p *Begin) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeBegin)
	*p = Begin{
		RemoteChannel:       f.ushort("remote-channel"),
		NextOutgoingID:      f.needUint("next-outgoing-id"),
		IncomingWindow:      f.needUint("incoming-window"),
		OutgoingWindow:      f.needUint("outgoing-window"),
		HandleMax:           f.uint("handle-max"),
		OfferedCapabilities: f.symbols("offered-capabilities"),
		DesiredCapabilities: f.symbols("desired-capabilities"),
		Properties:          f.fields("properties"),
	}
	f.leave()
	return c.checkEnd()
}

func (p *Begin) append(b []byte) []byte {
	b, at := openComposite(b, CodeBegin)
	b = appendOptUShort(b, p.RemoteChannel)
	b = appendUInt(b, p.NextOutgoingID)
	b = appendUInt(b, p.IncomingWindow)
	b = appendUInt(b, p.OutgoingWindow)
	b = appendOptUInt(b, p.HandleMax)
	b = appendSymbols(b, p.OfferedCapabilities)
	b = appendSymbols(b, p.DesiredCapabilities)
	b = AppendFields(b, p.Properties)
	return closeList(b, at, 8)
}

// End ends a session (part 2, 2.7.8).
type End struct {
	Error *Error // nil without an error
}

// Code is CodeEnd.
func (*End) Code() Code { return CodeEnd }
func (*End) sealed()    {}

// Decode decodes an end.
func (p *End) Decode(body []byte) (err error) {
	p.Error, err = decodeEnding(body, CodeEnd)
	return err
}

func (p *End) append(b []byte) []byte { return appendEnding(b, CodeEnd, p.Error) }

// Flow announces the state of a session and, with a handle, of one of its links (part 2,
// 2.7.4).
type Flow struct {
	NextIncomingID Opt[uint32] // absent before the peer's begin
	IncomingWindow uint32      // mandatory
	NextOutgoingID uint32      // mandatory
	OutgoingWindow uint32      // mandatory
	Handle         Opt[uint32] // absent in a flow without a link, in which the fields below have no meaning, except Echo
	DeliveryCount  Opt[uint32]
	LinkCredit     Opt[uint32]
	Available      Opt[uint32]
	Drain          bool
	Echo           bool
	Properties     value.Properties
}

// Code is CodeFlow.
func (*Flow) Code() Code { return CodeFlow }
func (*Flow) sealed()    {}

// Decode decodes a flow. It allocates only for properties, which clients do not send.
func (p *Flow) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeFlow)
	*p = Flow{
		NextIncomingID: f.uint("next-incoming-id"),
		IncomingWindow: f.needUint("incoming-window"),
		NextOutgoingID: f.needUint("next-outgoing-id"),
		OutgoingWindow: f.needUint("outgoing-window"),
		Handle:         f.uint("handle"),
		DeliveryCount:  f.uint("delivery-count"),
		LinkCredit:     f.uint("link-credit"),
		Available:      f.uint("available"),
		Drain:          f.bool("drain").Or(false),
		Echo:           f.bool("echo").Or(false),
		Properties:     f.fields("properties"),
	}
	f.leave()
	return c.checkEnd()
}

func (p *Flow) append(b []byte) []byte {
	b, at := openComposite(b, CodeFlow)
	b = appendOptUInt(b, p.NextIncomingID)
	b = appendUInt(b, p.IncomingWindow)
	b = appendUInt(b, p.NextOutgoingID)
	b = appendUInt(b, p.OutgoingWindow)
	b = appendOptUInt(b, p.Handle)
	b = appendOptUInt(b, p.DeliveryCount)
	b = appendOptUInt(b, p.LinkCredit)
	b = appendOptUInt(b, p.Available)
	b = appendBool(b, p.Drain)
	b = appendBool(b, p.Echo)
	b = AppendFields(b, p.Properties)
	return closeList(b, at, 11)
}
