package wire

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mayfly/engine/value"
)

// The expected bytes of tests are built here, without the encoder: hex digits for literal
// bytes, the functions for sizes.

func x(digits string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

func long(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func str8(s string) []byte { return append([]byte{0xa1, byte(len(s))}, s...) }
func sym8(s string) []byte { return append([]byte{0xa3, byte(len(s))}, s...) }
func bin8(s string) []byte { return append([]byte{0xa0, byte(len(s))}, s...) }

func small(code byte, count int, content []byte) []byte {
	return append([]byte{code, byte(len(content) + 1), byte(count)}, content...)
}

func large(code byte, count int, content []byte) []byte {
	return join([]byte{code}, long(len(content)+4), long(count), content)
}

func list8(parts ...[]byte) []byte  { return small(0xc0, len(parts), join(parts...)) }
func list32(parts ...[]byte) []byte { return large(0xd0, len(parts), join(parts...)) }
func map8(parts ...[]byte) []byte   { return small(0xc1, len(parts), join(parts...)) }
func map32(parts ...[]byte) []byte  { return large(0xd1, len(parts), join(parts...)) }

// of describes a value with a smallulong.
func of(code byte, v []byte) []byte { return join([]byte{0x00, 0x53, code}, v) }

func inFrame(kind byte, channel uint16, body []byte) []byte {
	return join(long(len(body)+8), []byte{2, kind}, binary.BigEndian.AppendUint16(nil, channel), body)
}

var (
	null  = []byte{0x40}
	yes   = []byte{0x41}
	no    = []byte{0x42}
	zero  = []byte{0x43}
	many  = strings.Repeat("long ", 60)
	equal = cmp.Options{cmp.AllowUnexported(Body{}), cmp.Comparer(func(a, b value.Value) bool { return a == b })}
)

func check(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if d := cmp.Diff(hex.EncodeToString(want), hex.EncodeToString(got)); d != "" {
		t.Errorf("%s:\n%s", what, d)
	}
}

// refused fails the test unless err is a ProtocolError with the condition, and with a description
// for the peer.
func refused(t *testing.T, err error, want Condition) {
	t.Helper()
	e, ok := err.(*ProtocolError) //nolint:errorlint // it is documented to be unwrapped
	if !ok || e.Condition != want {
		t.Fatalf("the error is %v, want %s", err, want)
	}
	if got := e.AMQP(); got.Condition != want || got.Description == "" {
		t.Fatalf("the peer's error would be %+v", got)
	}
}

func anyASCII(most int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom(nil, &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0, Hi: 0x7f, Stride: 1}}}), 0, most, -1)
}

// anyValue draws valid AMQP values of every kind.
func anyValue() *rapid.Generator[value.Value] {
	block := rapid.Custom(func(t *rapid.T) [16]byte {
		return [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "block"))
	})
	text := rapid.OneOf(rapid.StringN(0, 20, -1), rapid.Just(many))
	return rapid.OneOf(
		rapid.Just(value.Value{}),
		rapid.Map(rapid.Bool(), value.OfBool),
		rapid.Map(rapid.Uint8(), value.OfUByte), rapid.Map(rapid.Int8(), value.OfByte),
		rapid.Map(rapid.Uint32(), func(n uint32) value.Value { return value.OfChar(rune(n)) }),
		rapid.Map(rapid.Uint16(), value.OfUShort), rapid.Map(rapid.Int16(), value.OfShort),
		rapid.Map(rapid.Uint32(), value.OfUInt), rapid.Map(rapid.Int32(), value.OfInt),
		rapid.Map(rapid.Uint64(), value.OfULong), rapid.Map(rapid.Int64(), value.OfLong),
		rapid.Map(rapid.Float32(), value.OfFloat), rapid.Map(rapid.Float64(), value.OfDouble),
		rapid.Map(rapid.Uint32(), value.OfDecimal32), rapid.Map(rapid.Uint64(), value.OfDecimal64),
		rapid.Map(block, value.OfDecimal128), rapid.Map(block, value.OfUUID),
		rapid.Map(text, value.OfString), rapid.Map(anyASCII(300), value.OfSymbol), rapid.Map(text, value.OfURI),
		rapid.Map(rapid.SliceOf(rapid.Byte()), value.OfBinary),
		rapid.Map(rapid.Int64(), value.OfTimestamp), rapid.Map(rapid.Int64(), value.OfTimespan), rapid.Map(rapid.Int64(), value.OfDateTimeOffset),
		rapid.SampledFrom([]value.Value{
			value.OfRaw(x("45")), value.OfRaw(list8(str8("a"), null)), value.OfRaw(map32()), value.OfRaw(x("e0 04 02 50 01 02")),
			value.OfRaw(join(x("00 80 000000137000000c"), str8("s"))),
		}),
	)
}

func anyProperties() *rapid.Generator[value.Properties] {
	return rapid.Custom(func(t *rapid.T) value.Properties {
		if rapid.Bool().Draw(t, "null") {
			return nil
		}
		p := value.Properties{}
		for range rapid.IntRange(0, 4).Draw(t, "count") {
			p = append(p, value.Property{Name: anyASCII(8).Draw(t, "name"), Value: anyValue().Draw(t, "value")})
		}
		return p
	})
}
