package wire

import "mayfly/engine/value"

// Open begins a connection (AMQP 1.0, part 2, 2.7.1).
type Open struct {
	ContainerID         string // mandatory
	Hostname            Opt[string]
	MaxFrameSize        Opt[uint32] // bytes; absent means the maximum
	ChannelMax          Opt[uint16] // absent means 65535
	IdleTimeOut         Opt[uint32] // milliseconds; absent means no timeout
	OutgoingLocales     []string
	IncomingLocales     []string
	OfferedCapabilities []string
	DesiredCapabilities []string
	Properties          value.Properties
}

// Code is CodeOpen.
func (*Open) Code() Code { return CodeOpen }
func (*Open) sealed()    {}

// Decode decodes an open.
func (o *Open) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeOpen)
	*o = Open{
		ContainerID:         f.needString("container-id"),
		Hostname:            f.str("hostname"),
		MaxFrameSize:        f.uint("max-frame-size"),
		ChannelMax:          f.ushort("channel-max"),
		IdleTimeOut:         f.uint("idle-time-out"),
		OutgoingLocales:     f.symbols("outgoing-locales"),
		IncomingLocales:     f.symbols("incoming-locales"),
		OfferedCapabilities: f.symbols("offered-capabilities"),
		DesiredCapabilities: f.symbols("desired-capabilities"),
		Properties:          f.fields("properties"),
	}
	f.leave()
	return c.checkEnd()
}

func (o *Open) append(b []byte) []byte {
	b, at := openComposite(b, CodeOpen)
	b = appendString(b, o.ContainerID)
	b = appendOptString(b, o.Hostname)
	b = appendOptUInt(b, o.MaxFrameSize)
	b = appendOptUShort(b, o.ChannelMax)
	b = appendOptUInt(b, o.IdleTimeOut)
	b = appendSymbols(b, o.OutgoingLocales)
	b = appendSymbols(b, o.IncomingLocales)
	b = appendSymbols(b, o.OfferedCapabilities)
	b = appendSymbols(b, o.DesiredCapabilities)
	b = AppendFields(b, o.Properties)
	return closeList(b, at, 10)
}

// Close ends a connection (part 2, 2.7.9).
type Close struct {
	Error *Error // nil without an error
}

// Code is CodeClose.
func (*Close) Code() Code { return CodeClose }
func (*Close) sealed()    {}

// Decode decodes a close.
func (p *Close) Decode(body []byte) (err error) {
	p.Error, err = decodeEnding(body, CodeClose)
	return err
}

func (p *Close) append(b []byte) []byte { return appendEnding(b, CodeClose, p.Error) }

// decodeEnding decodes a performative whose only field is an error.
func decodeEnding(body []byte, code Code) (e *Error, err error) {
	c := newCursor(body)
	f := c.enterComposite(code)
	if !f.skipAbsent() {
		e = c.error()
	}
	f.leave()
	return e, c.checkEnd()
}

func appendEnding(b []byte, code Code, e *Error) []byte {
	b, at := openComposite(b, code)
	return closeList(appendError(b, e), at, 1)
}
