package wire

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"
)

// Each primitive type is written in its shortest encoding.

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, codeTrue)
	}
	return append(b, codeFalse)
}

func appendUShort(b []byte, n uint16) []byte {
	return binary.BigEndian.AppendUint16(append(b, codeUShort), n)
}

func appendUInt(b []byte, n uint32) []byte {
	switch {
	case n == 0:
		return append(b, codeUInt0)
	case n <= math.MaxUint8:
		return append(b, codeSmallUInt, byte(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, codeUInt), n)
	}
}

func appendULong(b []byte, n uint64) []byte {
	switch {
	case n == 0:
		return append(b, codeLong0)
	case n <= math.MaxUint8:
		return append(b, codeSmallULong, byte(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, codeULong), n)
	}
}

func appendInt(b []byte, n int32) []byte {
	if n == int32(int8(n)) {
		return append(b, codeSmallInt, byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, codeInt), uint32(n))
}

func appendLong(b []byte, n int64) []byte {
	if n == int64(int8(n)) {
		return append(b, codeSmallLong, byte(n))
	}
	return binary.BigEndian.AppendUint64(append(b, codeLong), uint64(n))
}

func appendTimestamp(b []byte, ms int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, codeTimestamp), uint64(ms))
}

// appendString appends a string. It replaces invalid UTF-8 by U+FFFD, because a peer would close
// its connection because of it.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return append(appendSize(b, codeString8, len(s)), s...)
}

// appendSymbol appends a symbol. It replaces each byte that is not ASCII by a question mark.
func appendSymbol(b []byte, s string) []byte {
	b = appendSize(b, codeSymbol8, len(s))
	return appendASCII(b, s)
}

func appendASCII(b []byte, s string) []byte {
	start := len(b)
	b = append(b, s...)
	for i := start; i < len(b); i++ {
		if b[i] >= utf8.RuneSelf {
			b[i] = '?'
		}
	}
	return b
}

func appendBinary(b, data []byte) []byte {
	return append(appendSize(b, codeBinary8, len(data)), data...)
}

// appendSize appends the constructor and the size of a value of n bytes. short is the constructor
// for a size of one byte.
func appendSize(b []byte, short byte, n int) []byte {
	if n <= math.MaxUint8 {
		return append(b, short, byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, short+0x10), uint32(n))
}

// openCompound leaves room in b for the head of a short list, map or array. The caller passes at to
// closeCompound.
func openCompound(b []byte) (_ []byte, at int) {
	return append(b, 0, 0, 0), len(b)
}

// closeCompound writes the head of the list, map or array that begins at b[at], whose constructor
// is short if its size and count fit into a byte each. Otherwise it moves the content by six bytes
// to make room for a longer head.
func closeCompound(b []byte, at int, short byte, count int) []byte {
	const head8, head32 = 3, 9
	size := len(b) - at - head8
	if size+1 <= math.MaxUint8 && count <= math.MaxUint8 {
		b[at], b[at+1], b[at+2] = short, byte(size+1), byte(count)
		return b
	}
	b = append(b, 0, 0, 0, 0, 0, 0)
	copy(b[at+head32:], b[at+head8:at+head8+size])
	b[at] = short + 0x10
	binary.BigEndian.PutUint32(b[at+1:], uint32(size+4))
	binary.BigEndian.PutUint32(b[at+5:], uint32(count))
	return b
}

// openComposite begins a described list with a smallulong descriptor.
func openComposite(b []byte, code Code) (_ []byte, at int) {
	return openCompound(append(b, codeDescribed, codeSmallULong, byte(code)))
}

// closeList ends a list that openComposite began. count is the number of all fields of
// the type, set or not, because some clients read fields by their position.
func closeList(b []byte, at, count int) []byte {
	return closeCompound(b, at, codeList8, count)
}

// Optional fields are null when absent.

func appendOptBool(b []byte, o Opt[bool]) []byte {
	if v, ok := o.Get(); ok {
		return appendBool(b, v)
	}
	return append(b, codeNull)
}

func appendOptUByte(b []byte, o Opt[uint8]) []byte {
	if v, ok := o.Get(); ok {
		return append(b, codeUByte, v)
	}
	return append(b, codeNull)
}

func appendOptUShort(b []byte, o Opt[uint16]) []byte {
	if v, ok := o.Get(); ok {
		return appendUShort(b, v)
	}
	return append(b, codeNull)
}

func appendOptUInt(b []byte, o Opt[uint32]) []byte {
	if v, ok := o.Get(); ok {
		return appendUInt(b, v)
	}
	return append(b, codeNull)
}

func appendOptULong(b []byte, o Opt[uint64]) []byte {
	if v, ok := o.Get(); ok {
		return appendULong(b, v)
	}
	return append(b, codeNull)
}

func appendOptTimestamp(b []byte, o Opt[int64]) []byte {
	if v, ok := o.Get(); ok {
		return appendTimestamp(b, v)
	}
	return append(b, codeNull)
}

func appendOptString(b []byte, o Opt[string]) []byte {
	if v, ok := o.Get(); ok {
		return appendString(b, v)
	}
	return append(b, codeNull)
}

func appendOptSymbol(b []byte, o Opt[string]) []byte {
	if v, ok := o.Get(); ok {
		return appendSymbol(b, v)
	}
	return append(b, codeNull)
}

// appendOptBinary appends null for nil, and an empty binary for an empty slice.
func appendOptBinary(b, data []byte) []byte {
	if data == nil {
		return append(b, codeNull)
	}
	return appendBinary(b, data)
}

// appendSymbols appends an array, even of one symbol or none, or null for nil.
func appendSymbols(b []byte, symbols []string) []byte {
	if symbols == nil {
		return append(b, codeNull)
	}
	b, at := openCompound(b)
	long := false
	for _, s := range symbols {
		long = long || len(s) > math.MaxUint8
	}
	if long {
		b = append(b, codeSymbol32)
		for _, s := range symbols {
			b = appendASCII(binary.BigEndian.AppendUint32(b, uint32(len(s))), s)
		}
	} else {
		b = append(b, codeSymbol8)
		for _, s := range symbols {
			b = appendASCII(append(b, byte(len(s))), s)
		}
	}
	return closeCompound(b, at, codeArray8, len(symbols))
}
