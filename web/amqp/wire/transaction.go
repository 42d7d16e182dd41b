package wire

// Declare begins a transaction (AMQP 1.0, part 4, 4.5.3). It is the body of a
// message to a coordinator, an amqp-value; see [CodeOf].
type Declare struct{}

// Discharge ends a transaction (part 4, 4.5.4).
type Discharge struct {
	TxnID []byte // mandatory
	Fail  bool   // roll back
}

// Decode decodes a declare. It refuses a global id, because distributed transactions are
// not supported.
func (d *Declare) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeDeclare)
	if !f.skipAbsent() {
		c.fail(CondNotImplemented, "%v: a global-id is not supported", CodeDeclare)
	}
	f.leave()
	return c.checkEnd()
}

// Append appends d to b.
func (d *Declare) Append(b []byte) []byte {
	b, at := openComposite(b, CodeDeclare)
	return closeList(append(b, codeNull), at, 1)
}

// Decode decodes a discharge.
func (d *Discharge) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeDischarge)
	*d = Discharge{TxnID: f.needBinary("txn-id"), Fail: f.bool("fail").Or(false)}
	f.leave()
	return c.checkEnd()
}

// Append appends d to b.
func (d *Discharge) Append(b []byte) []byte {
	b, at := openComposite(b, CodeDischarge)
	b = appendBinary(b, d.TxnID)
	b = appendBool(b, d.Fail)
	return closeList(b, at, 2)
}
