package wire

// Mechanisms offers ways to authenticate (AMQP 1.0, part 5, 5.3.3.1). They are
// always written as an array, even of one.
type Mechanisms struct {
	Mechanisms []string // symbols; mandatory
}

// Init chooses one of them (part 5, 5.3.3.2).
type Init struct {
	Mechanism       string // mandatory
	InitialResponse []byte // nil: none
	Hostname        Opt[string]
}

// Challenge asks for something (part 5, 5.3.3.3).
type Challenge struct {
	Challenge []byte // mandatory
}

// Response answers a challenge (part 5, 5.3.3.4).
type Response struct {
	Response []byte // mandatory
}

// A SASLCode is how authentication ended (part 5, 5.3.3.6).
type SASLCode uint8

// How authentication ended.
const (
	SASLOK         SASLCode = 0
	SASLAuth       SASLCode = 1 // refused
	SASLSys        SASLCode = 2 // could not be told
	SASLSysPermBad SASLCode = 3 // could not be told, and never will
	SASLSysTemp    SASLCode = 4 // could not be told at the moment
)

// Outcome ends the exchange (part 5, 5.3.3.5).
type Outcome struct {
	Result         SASLCode // mandatory
	AdditionalData []byte   // nil: none
}

func (*Mechanisms) Code() Code { return CodeMechanisms }
func (*Init) Code() Code       { return CodeInit }
func (*Challenge) Code() Code  { return CodeChallenge }
func (*Response) Code() Code   { return CodeResponse }
func (*Outcome) Code() Code    { return CodeOutcome }

func (*Mechanisms) sealed() {}
func (*Init) sealed()       {}
func (*Challenge) sealed()  {}
func (*Response) sealed()   {}
func (*Outcome) sealed()    {}

func (m *Mechanisms) Decode(body []byte) error {
	c := over(body)
	f := c.enter(CodeMechanisms)
	m.Mechanisms = f.symbols("sasl-server-mechanisms")
	if m.Mechanisms == nil {
		f.missing("sasl-server-mechanisms")
	}
	f.leave()
	return c.finish()
}

func (m *Mechanisms) append(b []byte) []byte {
	b, at := openComposite(b, CodeMechanisms)
	all := m.Mechanisms
	if all == nil {
		all = []string{}
	}
	return closeList(appendSymbols(b, all), at, 1)
}

func (i *Init) Decode(body []byte) error {
	c := over(body)
	f := c.enter(CodeInit)
	*i = Init{
		Mechanism:       f.needSymbol("mechanism"),
		InitialResponse: f.copied("initial-response"),
		Hostname:        f.str("hostname"),
	}
	f.leave()
	return c.finish()
}

func (i *Init) append(b []byte) []byte {
	b, at := openComposite(b, CodeInit)
	b = appendSymbol(b, i.Mechanism)
	b = appendOptBinary(b, i.InitialResponse)
	b = appendOptString(b, i.Hostname)
	return closeList(b, at, 3)
}

func (m *Challenge) Decode(body []byte) error {
	c := over(body)
	f := c.enter(CodeChallenge)
	m.Challenge = f.needBinary("challenge")
	f.leave()
	return c.finish()
}

func (m *Challenge) append(b []byte) []byte {
	b, at := openComposite(b, CodeChallenge)
	return closeList(appendBinary(b, m.Challenge), at, 1)
}

func (r *Response) Decode(body []byte) error {
	c := over(body)
	f := c.enter(CodeResponse)
	r.Response = f.needBinary("response")
	f.leave()
	return c.finish()
}

func (r *Response) append(b []byte) []byte {
	b, at := openComposite(b, CodeResponse)
	return closeList(appendBinary(b, r.Response), at, 1)
}

func (o *Outcome) Decode(body []byte) error {
	c := over(body)
	f := c.enter(CodeOutcome)
	code, ok := f.ubyte("code").Get()
	if !ok {
		f.missing("code")
	}
	*o = Outcome{Result: SASLCode(code), AdditionalData: f.copied("additional-data")}
	f.leave()
	return c.finish()
}

func (o *Outcome) append(b []byte) []byte {
	b, at := openComposite(b, CodeOutcome)
	b = append(b, codeUByte, byte(o.Result))
	b = appendOptBinary(b, o.AdditionalData)
	return closeList(b, at, 2)
}

// copied is a copy of a binary field; nil if absent.
func (f *fields) copied(name string) []byte {
	b := f.binary(name)
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}
