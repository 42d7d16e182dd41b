package value

import (
	"math"
	"testing"
	"time"
	"unsafe"
)

func TestValueIsCompact(t *testing.T) {
	if size := unsafe.Sizeof(Value{}); size > 32 {
		t.Errorf("a Value takes %d bytes, want 32 at most", size)
	}
}

func TestValuesAreComparedByTypeAndBits(t *testing.T) {
	if OfInt(1) == OfLong(1) {
		t.Error("int 1 is long 1")
	}
	if OfDouble(0) == OfDouble(math.Copysign(0, -1)) {
		t.Error("0.0 is -0.0")
	}
	if a, b := OfDouble(math.NaN()), OfDouble(math.NaN()); a != b {
		t.Error("a NaN differs from itself")
	}
	if (Value{}).Kind() != Null {
		t.Error("the zero Value is not null")
	}
}

func TestAccessors(t *testing.T) {
	id := [16]byte{1, 2, 15: 16}
	if n, ok := OfShort(-3).Int64(); n != -3 || !ok {
		t.Errorf("short -3 is %d, %t", n, ok)
	}
	if _, ok := OfULong(1 << 63).Int64(); ok {
		t.Error("2^63 fits an int64")
	}
	if n, ok := OfULong(1 << 63).Uint64(); n != 1<<63 || !ok {
		t.Errorf("2^63 is %d, %t", n, ok)
	}
	if _, ok := OfByte(-1).Uint64(); ok {
		t.Error("-1 fits a uint64")
	}
	for _, v := range []Value{OfChar('5'), OfTimestamp(5), OfTimespan(5), OfBool(true), OfDouble(5), OfString("5"), {}} {
		if _, ok := v.Int64(); ok {
			t.Errorf("%v %v is an integer", v.Kind(), v)
		}
	}
	signalling := math.Float32frombits(0x7fa00001)
	if f, ok := OfFloat(signalling).Float32(); math.Float32bits(f) != 0x7fa00001 || !ok {
		t.Errorf("the NaN became %x, %t", math.Float32bits(f), ok)
	}
	if f, ok := OfFloat(1.5).Float64(); f != 1.5 || !ok {
		t.Errorf("float 1.5 is %v, %t", f, ok)
	}
	if r, ok := OfChar(-1).Char(); r != -1 || !ok {
		t.Errorf("the char became %x, %t", r, ok)
	}
	if got, ok := OfUUID(id).UUID(); got != id || !ok {
		t.Errorf("the uuid became %x, %t", got, ok)
	}
	if got, ok := OfDecimal128(id).Decimal128(); got != id || !ok {
		t.Errorf("the decimal became %x, %t", got, ok)
	}
	b := []byte("abc")
	bin := OfBinary(b)
	b[0] = 'x'
	if got, ok := bin.Bytes(); string(got) != "abc" || !ok {
		t.Errorf("binary is %q, %t", got, ok)
	}
	if _, ok := bin.Str(); ok {
		t.Error("binary is text")
	}
	if s, ok := OfSymbol("s").Str(); s != "s" || !ok {
		t.Errorf("symbol is %q, %t", s, ok)
	}
	want := time.Date(2026, 7, 14, 10, 4, 12, 345_678_900, time.UTC)
	if got, ok := OfDateTimeOffset(639_196_202_523_456_789).Time(); !got.Equal(want) || !ok {
		t.Errorf("the time is %v, %t, want %v", got, ok, want)
	}
	if got, ok := OfTimestamp(want.UnixMilli()).Time(); !got.Equal(want.Truncate(time.Millisecond)) || !ok {
		t.Errorf("the timestamp is %v, %t", got, ok)
	}
}

func TestKindsHaveNames(t *testing.T) {
	for _, k := range Kinds() {
		got, err := ParseKind(k.String())
		if err != nil || got != k {
			t.Errorf("ParseKind(%q) = %v, %v", k.String(), got, err)
		}
	}
	for name, want := range map[string]Kind{"bool": Bool, "com.microsoft:timespan": Timespan, "UShort": UShort} {
		if got, err := ParseKind(name); err != nil || got != want {
			t.Errorf("ParseKind(%q) = %v, %v, want %v", name, got, err, want)
		}
	}
	if k, err := ParseKind("decimal"); err == nil {
		t.Errorf("decimal is a kind: %v", k)
	}
	if got := Kind(200).String(); got != "kind 200" {
		t.Errorf("an unknown kind has the name %q", got)
	}
}

func TestStringForPeople(t *testing.T) {
	for want, v := range map[string]Value{
		"null":   {},
		"5":      OfInt(5),
		"00ff":   OfBinary([]byte{0, 255}),
		"eu":     OfString("eu"),
		"U+0020": OfChar(' '),
	} {
		if got := v.String(); got != want {
			t.Errorf("String is %q, want %q", got, want)
		}
	}
	if got := OfRaw(make([]byte, 1000)).String(); len(got) > 80 {
		t.Errorf("many bytes are formatted as %d characters", len(got))
	}
}
