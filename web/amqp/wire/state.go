package wire

import "mayfly/engine/value"

// A State is the state of a delivery: one of the outcomes [Accepted], [Rejected], [Released] and
// [Modified], or [Received], or the transactional [Declared] and [Transactional] (AMQP 1.0, part 3,
// 3.4; part 4, 4.5.5 and 4.5.8). Nil means no state, which differs from all of these.
type State interface {
	// StateCode returns the descriptor of the state.
	StateCode() Code
	appendState(b []byte) []byte
}

// Received states how much of a message has arrived.
type Received struct {
	SectionNumber uint32 // mandatory
	SectionOffset uint64 // mandatory
}

// Accepted means that the message was processed.
type Accepted struct{}

// Rejected means that the message is invalid. Service Bus dead-letters it.
type Rejected struct {
	Error *Error // nil without an error
}

// Released means that the message was not processed and will not be.
type Released struct{}

// Modified means that the message was not processed, and states how it has changed. Service Bus
// abandons it or, if undeliverable, defers it.
type Modified struct {
	DeliveryFailed     bool
	UndeliverableHere  bool
	MessageAnnotations value.Properties
}

// Declared is the outcome of a [Declare].
type Declared struct {
	TxnID []byte // mandatory
}

// Transactional means that a transfer or outcome belongs to a transaction.
type Transactional struct {
	TxnID   []byte // mandatory
	Outcome State  // provisional; one of the four outcomes or nil
}

func (Received) StateCode() Code      { return CodeReceived }
func (Accepted) StateCode() Code      { return CodeAccepted }
func (Rejected) StateCode() Code      { return CodeRejected }
func (Released) StateCode() Code      { return CodeReleased }
func (Modified) StateCode() Code      { return CodeModified }
func (Declared) StateCode() Code      { return CodeDeclared }
func (Transactional) StateCode() Code { return CodeTransactional }

func (s Received) appendState(b []byte) []byte {
	b, at := openComposite(b, CodeReceived)
	b = appendUInt(b, s.SectionNumber)
	b = appendULong(b, s.SectionOffset)
	return closeList(b, at, 2)
}

func (Accepted) appendState(b []byte) []byte {
	return append(b, codeDescribed, codeSmallULong, byte(CodeAccepted), codeList0)
}

func (s Rejected) appendState(b []byte) []byte {
	b, at := openComposite(b, CodeRejected)
	b = appendError(b, s.Error)
	return closeList(b, at, 1)
}

func (Released) appendState(b []byte) []byte {
	return append(b, codeDescribed, codeSmallULong, byte(CodeReleased), codeList0)
}

func (s Modified) appendState(b []byte) []byte {
	b, at := openComposite(b, CodeModified)
	b = appendBool(b, s.DeliveryFailed)
	b = appendBool(b, s.UndeliverableHere)
	b = AppendFields(b, s.MessageAnnotations)
	return closeList(b, at, 3)
}

func (s Declared) appendState(b []byte) []byte {
	b, at := openComposite(b, CodeDeclared)
	b = appendBinary(b, s.TxnID)
	return closeList(b, at, 1)
}

func (s Transactional) appendState(b []byte) []byte {
	b, at := openComposite(b, CodeTransactional)
	b = appendBinary(b, s.TxnID)
	b = appendState(b, s.Outcome)
	return closeList(b, at, 2)
}

// appendState appends s, or null for nil.
func appendState(b []byte, s State) []byte {
	if s == nil {
		return append(b, codeNull)
	}
	return s.appendState(b)
}

// state reads a field with a state. It returns nil if the field is absent.
func (f *fields) state(name string) State {
	if f.skipAbsent() {
		return nil
	}
	c := f.c
	code := c.descriptor()
	switch code {
	case CodeReceived:
		g := c.enterList(code)
		s := Received{SectionNumber: g.needUint("section-number"), SectionOffset: g.needUlong("section-offset")}
		g.leave()
		return s
	case CodeDeclared:
		g := c.enterList(code)
		s := Declared{TxnID: g.needBinary("txn-id")}
		g.leave()
		return s
	case CodeTransactional:
		g := c.enterList(code)
		s := Transactional{TxnID: g.needBinary("txn-id")}
		if !g.skipAbsent() {
			s.Outcome = g.outcome("outcome", c.descriptor())
		}
		g.leave()
		return s
	default:
		return f.outcome(name, code)
	}
}

// outcome reads an outcome whose descriptor has been read.
func (f *fields) outcome(name string, code Code) State {
	c := f.c
	switch code {
	case CodeAccepted:
		g := c.enterList(code)
		g.leave()
		return Accepted{}
	case CodeReleased:
		g := c.enterList(code)
		g.leave()
		return Released{}
	case CodeRejected:
		var s Rejected
		g := c.enterList(code)
		if !g.skipAbsent() {
			s.Error = c.error()
		}
		g.leave()
		return s
	case CodeModified:
		g := c.enterList(code)
		s := Modified{
			DeliveryFailed:     g.bool("delivery-failed").Or(false),
			UndeliverableHere:  g.bool("undeliverable-here").Or(false),
			MessageAnnotations: g.fields("message-annotations"),
		}
		g.leave()
		return s
	default:
		c.fail(CondInvalidField, "%v: %s cannot be %v", f.code, name, code)
		return nil
	}
}

func (f *fields) needUlong(name string) uint64 {
	n, ok := f.ulong(name).Get()
	if !ok {
		f.failMissing(name)
	}
	return n
}

// needBinary reads a mandatory binary field. It returns a copy, which outlives the frame.
func (f *fields) needBinary(name string) []byte {
	b := f.binary(name)
	if b == nil {
		f.failMissing(name)
	}
	return append([]byte{}, b...)
}
