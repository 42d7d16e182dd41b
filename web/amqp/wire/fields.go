package wire

import (
	"slices"

	"mayfly/engine/value"
)

// fields reads a composite, which is a described list, field by field in order. A null field and
// one beyond the end of the list are both absent. Its methods use the name of a field only in
// errors.
type fields struct {
	c     *cursor
	outer int
	code  Code
	left  int // fields left in the list
}

// enterComposite begins a composite of the type want.
func (c *cursor) enterComposite(want Code) fields {
	start := c.off
	if got := c.descriptor(); got != want && c.err == nil {
		c.off = start
		c.fail(CondInvalidField, "%v is expected, not %v", want, got)
	}
	return c.enterList(want)
}

// enterList begins a composite whose descriptor has been read.
func (c *cursor) enterList(code Code) fields {
	f := fields{c: c, code: code, outer: c.end}
	switch constructor := c.byte(); constructor {
	case codeList0:
		c.end = c.off
	case codeList8, codeList32:
		f.outer, f.left = c.enterCompound(layouts[constructor] & widthMask)
		if most := fieldCount(code); f.left > most {
			c.fail(CondInvalidField, "%v has %d fields, not %d", code, most, f.left)
		}
	default:
		c.off--
		c.fail(CondInvalidField, "the fields of %v are a list, not constructor %#02x", code, constructor)
	}
	if c.whole == 0 {
		c.whole = c.end
	}
	return f
}

// leave ends a composite. All of its fields must have been read.
func (f *fields) leave() { f.c.leaveCompound(f.outer) }

// fieldCount returns the number of fields of a type.
func fieldCount(code Code) int {
	switch code {
	case CodeOpen:
		return 10
	case CodeBegin:
		return 8
	case CodeAttach:
		return 14
	case CodeFlow, CodeTransfer, CodeSource:
		return 11
	case CodeDisposition:
		return 6
	case CodeTarget:
		return 7
	case CodeDetach, CodeError, CodeModified, CodeInit:
		return 3
	case CodeReceived, CodeTransactional, CodeDischarge, CodeOutcome:
		return 2
	case CodeEnd, CodeClose, CodeRejected, CodeCoordinator, CodeDeclare, CodeDeclared,
		CodeMechanisms, CodeChallenge, CodeResponse:
		return 1
	case Code(SectionHeader):
		return 5
	case Code(SectionProperties):
		return 13
	default:
		return 0
	}
}

// skipAbsent reports whether the next field is absent, and skips it if so.
func (f *fields) skipAbsent() bool {
	if f.left == 0 || f.c.err != nil {
		return true
	}
	f.left--
	if f.c.peek() == codeNull {
		f.c.off++
		return true
	}
	return false
}

// failType fails the cursor because a field has another type than `want`, as the constructor just
// read shows.
func (f *fields) failType(name, want string) {
	c := f.c
	c.off--
	c.fail(CondInvalidField, "%v: %s is %s, not constructor %#02x", f.code, name, want, c.peek())
}

func (f *fields) failMissing(name string) {
	f.c.fail(CondInvalidField, "%v: %s is missing", f.code, name)
}

func (f *fields) bool(name string) (o Opt[bool]) {
	if f.skipAbsent() {
		return o
	}
	switch f.c.byte() {
	case codeTrue:
		return Some(true)
	case codeFalse:
		return Some(false)
	case codeBool:
		return Some(f.c.bool())
	default:
		f.failType(name, "a boolean")
		return o
	}
}

func (f *fields) ubyte(name string) (o Opt[uint8]) {
	if f.skipAbsent() {
		return o
	}
	if f.c.byte() != codeUByte {
		f.failType(name, "a ubyte")
		return o
	}
	return Some(f.c.byte())
}

func (f *fields) ushort(name string) (o Opt[uint16]) {
	if f.skipAbsent() {
		return o
	}
	if f.c.byte() != codeUShort {
		f.failType(name, "a ushort")
		return o
	}
	return Some(f.c.uint16())
}

func (f *fields) uint(name string) (o Opt[uint32]) {
	if f.skipAbsent() {
		return o
	}
	switch f.c.byte() {
	case codeUInt0:
		return Some(uint32(0))
	case codeSmallUInt:
		return Some(uint32(f.c.byte()))
	case codeUInt:
		return Some(f.c.uint32())
	default:
		f.failType(name, "a uint")
		return o
	}
}

func (f *fields) needUint(name string) uint32 {
	n, ok := f.uint(name).Get()
	if !ok {
		f.failMissing(name)
	}
	return n
}

func (f *fields) ulong(name string) (o Opt[uint64]) {
	if f.skipAbsent() {
		return o
	}
	switch f.c.byte() {
	case codeLong0:
		return Some(uint64(0))
	case codeSmallULong:
		return Some(uint64(f.c.byte()))
	case codeULong:
		return Some(f.c.uint64())
	default:
		f.failType(name, "a ulong")
		return o
	}
}

func (f *fields) timestamp(name string) (o Opt[int64]) {
	if f.skipAbsent() {
		return o
	}
	if f.c.byte() != codeTimestamp {
		f.failType(name, "a timestamp")
		return o
	}
	return Some(int64(f.c.uint64()))
}

// str reads a string. A symbol counts as one.
func (f *fields) str(name string) (o Opt[string]) {
	if f.skipAbsent() {
		return o
	}
	switch code := f.c.byte(); code {
	case codeString8, codeString32, codeSymbol8, codeSymbol32:
		return Some(f.c.takeString(len(f.c.bytes(code))))
	default:
		f.failType(name, "a string")
		return o
	}
}

func (f *fields) needString(name string) string {
	s, ok := f.str(name).Get()
	if !ok {
		f.failMissing(name)
	}
	return s
}

// symbol reads a symbol. An ASCII string counts as one.
func (f *fields) symbol(name string) (o Opt[string]) {
	o = f.str(name)
	if n := len(o.value); !isASCII(f.c.b[f.c.off-n : f.c.off]) {
		f.c.off -= n
		f.c.fail(CondInvalidField, "%v: %s is a symbol, which is ASCII", f.code, name)
	}
	return o
}

func (f *fields) needSymbol(name string) string {
	s, ok := f.symbol(name).Get()
	if !ok {
		f.failMissing(name)
	}
	return s
}

// binary reads a binary field without copying it. It is nil only if the field is absent.
func (f *fields) binary(name string) []byte {
	if f.skipAbsent() {
		return nil
	}
	code := f.c.byte()
	if code != codeBinary8 && code != codeBinary32 {
		f.failType(name, "binary")
		return nil
	}
	b := f.c.bytes(code)
	return slices.Clip(b)
}

// symbols reads a field of several symbols: an array, or a single symbol. It returns nil
// if the field is absent.
func (f *fields) symbols(name string) []string {
	if f.skipAbsent() {
		return nil
	}
	c := f.c
	switch code := c.byte(); code {
	case codeSymbol8, codeSymbol32:
		return []string{c.takeString(len(c.bytes(code)))}
	case codeArray8, codeArray32:
		a := c.enterArray(layouts[code]&widthMask, MaxDepth)
		if a.count > 0 && string(a.constructor) != "\xa3" && string(a.constructor) != "\xb3" {
			c.fail(CondInvalidField, "%v: %s is an array of symbols, not of constructor %#02x", f.code, name, a.constructor)
		}
		all := make([]string, 0, a.count)
		for n := a.count; n > 0 && c.err == nil; n-- {
			all = append(all, c.takeString(len(c.bytes(a.code))))
		}
		c.leaveCompound(a.outer)
		return all
	default:
		f.failType(name, "one symbol or an array of them")
		return nil
	}
}

// fields reads a map whose keys are symbols. It returns nil if the field is absent.
func (f *fields) fields(name string) value.Properties {
	if f.skipAbsent() {
		return nil
	}
	return f.c.entries(name)
}

// skip skips a field of any type.
func (f *fields) skip() {
	if !f.skipAbsent() {
		f.c.skip(MaxDepth)
	}
}
