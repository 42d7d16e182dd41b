package wire

// Mechanisms offers authentication mechanisms (AMQP 1.0, part 5, 5.3.3.1). They are
// always written as an array, even if there is only one.
type Mechanisms struct {
	Mechanisms []string // symbols; mandatory
}

// Init chooses a mechanism (part 5, 5.3.3.2).
type Init struct {
	Mechanism       string // mandatory
	InitialResponse []byte // nil if there is none
	Hostname        Opt[string]
}

// Challenge is a challenge of the server (part 5, 5.3.3.3).
type Challenge struct {
	Challenge []byte // mandatory
}

// Response answers a challenge (part 5, 5.3.3.4).
type Response struct {
	Response []byte // mandatory
}

// A SASLCode is the result of authentication (part 5, 5.3.3.6).
type SASLCode uint8

// The results of authentication.
const (
	SASLOK         SASLCode = 0
	SASLAuth       SASLCode = 1 // the credentials are invalid
	SASLSys        SASLCode = 2 // a system error
	SASLSysPermBad SASLCode = 3 // a permanent system error
	SASLSysTemp    SASLCode = 4 // a temporary system error
)

// Outcome ends authentication (part 5, 5.3.3.5).
type Outcome struct {
	Result         SASLCode // mandatory
	AdditionalData []byte   // nil if there is none
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
	c := newCursor(body)
	f := c.enterComposite(CodeMechanisms)
	m.Mechanisms = f.symbols("sasl-server-mechanisms")
	if m.Mechanisms == nil {
		f.failMissing("sasl-server-mechanisms")
	}
	f.leave()
	return c.checkEnd()
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
	c := newCursor(body)
	f := c.enterComposite(CodeInit)
	*i = Init{
		Mechanism:       f.needSymbol("mechanism"),
		InitialResponse: f.copied("initial-response"),
		Hostname:        f.str("hostname"),
	}
	f.leave()
	return c.checkEnd()
}

func (i *Init) append(b []byte) []byte {
	b, at := openComposite(b, CodeInit)
	b = appendSymbol(b, i.Mechanism)
	b = appendOptBinary(b, i.InitialResponse)
	b = appendOptString(b, i.Hostname)
	return closeList(b, at, 3)
}

func (m *Challenge) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeChallenge)
	m.Challenge = f.needBinary("challenge")
	f.leave()
	return c.checkEnd()
}

func (m *Challenge) append(b []byte) []byte {
	b, at := openComposite(b, CodeChallenge)
	return closeList(appendBinary(b, m.Challenge), at, 1)
}

func (r *Response) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeResponse)
	r.Response = f.needBinary("response")
	f.leave()
	return c.checkEnd()
}

func (r *Response) append(b []byte) []byte {
	b, at := openComposite(b, CodeResponse)
	return closeList(appendBinary(b, r.Response), at, 1)
}

func (o *Outcome) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeOutcome)
	code, ok := f.ubyte("code").Get()
	if !ok {
		f.failMissing("code")
	}
	*o = Outcome{Result: SASLCode(code), AdditionalData: f.copied("additional-data")}
	f.leave()
	return c.checkEnd()
}

func (o *Outcome) append(b []byte) []byte {
	b, at := openComposite(b, CodeOutcome)
	b = append(b, codeUByte, byte(o.Result))
	b = appendOptBinary(b, o.AdditionalData)
	return closeList(b, at, 2)
}

// copied reads a copy of a binary field. It returns nil if the field is absent.
func (f *fields) copied(name string) []byte {
	b := f.binary(name)
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}
