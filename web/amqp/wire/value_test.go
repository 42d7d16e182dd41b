package wire

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mayfly/engine/value"
)

// TestValues reads every constructor, in every form. want is the form in which the value is
// written.
func TestValues(t *testing.T) {
	id := [16]byte(x("00112233445566778899aabbccddeeff"))
	for name, tc := range map[string]struct {
		in   []byte
		v    value.Value
		want []byte // nil means same as in
	}{
		"null":                 {x("40"), value.Value{}, nil},
		"true":                 {x("41"), value.OfBool(true), nil},
		"false":                {x("42"), value.OfBool(false), nil},
		"boolean true":         {x("56 01"), value.OfBool(true), x("41")},
		"boolean false":        {x("56 00"), value.OfBool(false), x("42")},
		"ubyte":                {x("50 ff"), value.OfUByte(255), nil},
		"ushort":               {x("60 ffff"), value.OfUShort(65535), nil},
		"uint":                 {x("70 ffffffff"), value.OfUInt(math.MaxUint32), nil},
		"uint, long for 1":     {x("70 00000001"), value.OfUInt(1), x("52 01")},
		"uint 256":             {x("70 00000100"), value.OfUInt(256), nil},
		"smalluint":            {x("52 ff"), value.OfUInt(255), nil},
		"uint0":                {x("43"), value.OfUInt(0), nil},
		"smalluint 0":          {x("52 00"), value.OfUInt(0), x("43")},
		"ulong":                {x("80 ffffffffffffffff"), value.OfULong(math.MaxUint64), nil},
		"smallulong":           {x("53 ff"), value.OfULong(255), nil},
		"ulong0":               {x("44"), value.OfULong(0), nil},
		"byte":                 {x("51 80"), value.OfByte(-128), nil},
		"short":                {x("61 8000"), value.OfShort(-32768), nil},
		"int":                  {x("71 80000000"), value.OfInt(math.MinInt32), nil},
		"int 128":              {x("71 00000080"), value.OfInt(128), nil},
		"smallint":             {x("54 80"), value.OfInt(-128), nil},
		"int, long for -1":     {x("71 ffffffff"), value.OfInt(-1), x("54 ff")},
		"long":                 {x("81 8000000000000000"), value.OfLong(math.MinInt64), nil},
		"long 128":             {x("81 0000000000000080"), value.OfLong(128), nil},
		"long -129":            {x("81 ffffffffffffff7f"), value.OfLong(-129), nil},
		"smalllong":            {x("55 7f"), value.OfLong(127), nil},
		"float":                {x("72 7fa00001"), value.OfFloat(math.Float32frombits(0x7fa00001)), nil},
		"double":               {x("82 8000000000000000"), value.OfDouble(math.Copysign(0, -1)), nil},
		"char":                 {x("73 0001f99f"), value.OfChar('🦟'), nil},
		"char that is none":    {x("73 ffffffff"), value.OfChar(-1), nil},
		"decimal32":            {x("74 32800001"), value.OfDecimal32(0x32800001), nil},
		"decimal64":            {x("84 31c0000000000001"), value.OfDecimal64(0x31c0000000000001), nil},
		"decimal128":           {x("94 00112233445566778899aabbccddeeff"), value.OfDecimal128(id), nil},
		"timestamp":            {x("83 ffffffffffffffff"), value.OfTimestamp(-1), nil},
		"uuid":                 {x("98 00112233445566778899aabbccddeeff"), value.OfUUID(id), nil},
		"vbin8":                {bin8("\x00\xff"), value.OfBinary([]byte{0, 255}), nil},
		"vbin32":               {x("b0 00000001 ff"), value.OfBinary([]byte{255}), x("a0 01 ff")},
		"str8":                 {str8("čau"), value.OfString("čau"), nil},
		"str8 empty":           {x("a1 00"), value.OfString(""), nil},
		"str32":                {join(x("b1 0000012c"), []byte(many)), value.OfString(many), nil},
		"str32 of 255":         {join(x("b1 000000ff"), []byte(many[:255])), value.OfString(many[:255]), str8(many[:255])},
		"sym8":                 {sym8("a"), value.OfSymbol("a"), nil},
		"sym32":                {join(x("b3 0000012c"), []byte(many)), value.OfSymbol(many), nil},
		"list0":                {x("45"), value.OfRaw(x("45")), nil},
		"list8":                {list8(str8("a"), zero), value.OfRaw(list8(str8("a"), zero)), nil},
		"list32":               {list32(null), value.OfRaw(list32(null)), nil},
		"map8":                 {map8(sym8("a"), zero), value.OfRaw(map8(sym8("a"), zero)), nil},
		"map32":                {map32(), value.OfRaw(map32()), nil},
		"array8":               {x("e0 04 02 50 0102"), value.OfRaw(x("e0 04 02 50 0102")), nil},
		"array32":              {x("f0 00000007 00000002 50 0102"), value.OfRaw(x("f0 00000007 00000002 50 0102")), nil},
		"array of none":        {x("e0 02 00 a3"), value.OfRaw(x("e0 02 00 a3")), nil},
		"array, bare":          {x("e0 01 00"), value.OfRaw(x("e0 01 00")), nil},
		"array, described":     {x("e0 07 02 00 53 70 54 0102"), value.OfRaw(x("e0 07 02 00 53 70 54 0102")), nil},
		"array of lists":       {x("e0 07 02 c0 01 00 02 01 40"), value.OfRaw(x("e0 07 02 c0 01 00 02 01 40")), nil},
		"array of nothings":    {x("f0 00000005 00000100 40"), value.OfRaw(x("f0 00000005 00000100 40")), nil},
		"array of arrays":      {x("e0 0a 01 f0 00000004 00000000"), value.OfRaw(x("e0 0a 01 f0 00000004 00000000")), nil},
		"described":            {of(0x70, x("45")), value.OfRaw(of(0x70, x("45"))), nil},
		"described twice":      {of(1, of(2, null)), value.OfRaw(of(1, of(2, null))), nil},
		"described by a list":  {join(x("00 45"), null), value.OfRaw(join(x("00 45"), null)), nil},
		"uri":                  {join(x("00"), sym8("com.microsoft:uri"), str8("a:b")), value.OfURI("a:b"), nil},
		"datetime-offset":      {join(x("00"), sym8("com.microsoft:datetime-offset"), x("81 08d0000000000000")), value.OfDateTimeOffset(0x08d0000000000000), nil},
		"timespan":             {join(x("00"), sym8("com.microsoft:timespan"), x("55 ff")), value.OfTimespan(-1), nil},
		"timespan by sym32":    {join(x("00 b3 00000016 "), []byte("com.microsoft:timespan"), x("55 ff")), value.OfTimespan(-1), join(x("00"), sym8("com.microsoft:timespan"), x("55 ff"))},
		"uri that is a symbol": {join(x("00"), sym8("com.microsoft:uri"), sym8("a")), value.OfRaw(join(x("00"), sym8("com.microsoft:uri"), sym8("a"))), nil},
		"timespan, an int":     {join(x("00"), sym8("com.microsoft:timespan"), x("54 01")), value.OfRaw(join(x("00"), sym8("com.microsoft:timespan"), x("54 01"))), nil},
		"deep":                 {append(bytes.Repeat(x("00 40"), MaxDepth), 0x40), value.OfRaw(append(bytes.Repeat(x("00 40"), MaxDepth), 0x40)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			v, rest, err := ParseValue(append(bytes.Clone(tc.in), "rest"...))
			if err != nil || string(rest) != "rest" {
				t.Fatalf("got %v, and %q is left", err, rest)
			}
			if v != tc.v {
				t.Errorf("%v %v, not %v %v", v.Kind(), v, tc.v.Kind(), tc.v)
			}
			if n, err := Skip(append(bytes.Clone(tc.in), "rest"...)); n != len(tc.in) || err != nil {
				t.Errorf("Skip returned %d of %d: %v", n, len(tc.in), err)
			}
			if tc.want == nil {
				tc.want = tc.in
			}
			check(t, "written", AppendValue(nil, v), tc.want)
			for cut := range tc.in {
				_, err := Skip(tc.in[:cut])
				refused(t, err, CondDecodeError)
				_, _, err = ParseValue(tc.in[:cut])
				refused(t, err, CondDecodeError)
			}
		})
	}
}

func TestValuesRefused(t *testing.T) {
	for name, in := range map[string][]byte{
		"no constructor":              x("46"),
		"constructor of no type":      x("99 00112233445566778899aabbccddeeff"),
		"boolean 2":                   x("56 02"),
		"string that is not UTF-8":    x("a1 01 ff"),
		"string cut within a rune":    x("a1 02 e282"),
		"symbol that is not ASCII":    x("a3 02 c3a9"),
		"size beyond the end":         x("b0 ffffffff 00"),
		"list size beyond the end":    x("c0 05 01 40"),
		"list count beyond its bytes": x("d0 00000005 ffffffff 40"),
		"list larger than its values": x("c0 03 01 4040"),
		"list smaller than its count": x("c0 02 02 40"),
		"value over its list's end":   join(x("c0 02 01 a1"), x("01 41")),
		"int over its list's end":     x("c0 02 01 71 00000001"),
		"boolean 2 in a list":         x("c0 03 01 5602"),
		"map of one":                  x("c1 02 01 40"),
		"array of too many":           x("f0 00000006 00000003 50 01"),
		"array of too few":            x("e0 04 01 50 0102"),
		"array of many nothings":      x("f0 00000005 00000101 40"),
		"array of unknowns":           x("e0 02 00 46"),
		"array, count overflowing":    x("f0 00000005 ffffffff 98"),
		"booleans of an array":        x("e0 04 02 56 0102"),
		"lists of an array":           x("e0 05 01 c0 02 01 ff"),
		"described list too deep":     append(bytes.Repeat(x("00 40"), MaxDepth+1), 0x40),
		"descriptors too deep":        append(bytes.Repeat(x("00"), 1000), 0x40),
		"array constructor too deep":  join(x("f0 00001000 00000001"), bytes.Repeat(x("00 40"), 2046)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Skip(in)
			refused(t, err, CondDecodeError)
			_, err = ParseSingleValue(in)
			refused(t, err, CondDecodeError)
		})
	}
}

// TestTextIsChecked checks that Skip refuses a string or symbol with a byte that is neither ASCII
// nor UTF-8, wherever in the text it is. Binary values may have any bytes.
func TestTextIsChecked(t *testing.T) {
	for n := range 20 {
		for at := range n {
			text := bytes.Repeat([]byte("a"), n)
			text[at] = 0x80
			for _, v := range [][]byte{str8(string(text)), sym8(string(text)), list8(sym8(string(text))), list8(str8(string(text)))} {
				_, err := Skip(v)
				refused(t, err, CondDecodeError)
			}
			if _, err := Skip(list8(bin8(string(text)))); err != nil {
				t.Error(err)
			}
		}
	}
}

// Lists in lists: 32 levels are read, 33 are not.
func TestDepth(t *testing.T) {
	nested := func(depth int) []byte {
		v := []byte{0x45}
		for range depth {
			v = list8(v)
		}
		return v
	}
	if _, err := Skip(nested(MaxDepth)); err != nil {
		t.Error(err)
	}
	_, err := Skip(nested(MaxDepth + 1))
	refused(t, err, CondDecodeError)
}

// A list, map or array whose count needs more bytes than it has is refused before anything is
// allocated for its elements.
func TestCountsAreClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		in    []byte
		parse func([]byte) error
	}{
		"list":           {large(0xd0, 9, make([]byte, 8)), func(b []byte) error { _, err := ParseList(b); return err }},
		"map":            {large(0xd1, 6, make([]byte, 8)), func(b []byte) error { _, err := ParseMap(b); return err }},
		"array of uuids": {large(0xf0, 2, append([]byte{0x98}, make([]byte, 31)...)), func(b []byte) error { _, err := ParseArray(b); return err }},
		"array of lists": {large(0xf0, 3, append([]byte{0xc0}, make([]byte, 5)...)), func(b []byte) error { _, err := ParseArray(b); return err }},
	} {
		err := tc.parse(tc.in)
		refused(t, err, CondDecodeError)
		if !strings.Contains(err.Error(), "bytes cannot hold") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	_, err := Skip(list8(str8("abc"), x("a1 02 61ff")))
	if got, want := err.Error(), "amqp:decode-error: a string is not UTF-8 at byte 10"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	_, err = ParseSingleValue(x("41 40"))
	refused(t, err, CondDecodeError)
}

// TestValuesMended checks that AppendValue replaces what a value may not contain, such as a
// string's bytes that are not UTF-8, so that the message around it stays valid.
func TestValuesMended(t *testing.T) {
	for name, tc := range map[string]struct {
		v    value.Value
		want []byte
	}{
		"raw that is nothing":      {value.OfRaw(nil), null},
		"raw that is cut":          {value.OfRaw(x("a1 02 61")), null},
		"raw that is two":          {value.OfRaw(x("40 40")), null},
		"string that is not UTF-8": {value.OfString("a\xffb"), str8("a\uFFFDb")},
		"symbol that is not ASCII": {value.OfSymbol("é"), sym8("??")},
	} {
		t.Run(name, func(t *testing.T) { check(t, "written", AppendValue(nil, tc.v), tc.want) })
	}
}

func TestValueRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyValue().Draw(t, "value")
		got, err := ParseSingleValue(AppendValue(nil, want))
		if err != nil || got != want {
			t.Fatalf("%v %v, not %v %v (%v)", got.Kind(), got, want.Kind(), want, err)
		}
	})
}

func TestCompoundRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyProperties().Draw(t, "map")
		var vs []value.Value
		for _, q := range p {
			vs = append(vs, q.Value)
		}
		for what, b := range map[string][]byte{"map": AppendMap(nil, p), "fields": AppendFields(nil, p)} {
			got, err := ParseMap(b)
			if want := p; err != nil || len(got) != len(want) || len(want) > 0 && !cmp.Equal(got, want, equal) {
				t.Fatalf("%s: %v, not %v (%v)", what, got, want, err)
			}
		}
		got, err := ParseList(AppendList(nil, vs...))
		if err != nil || len(got) != len(vs) || len(vs) > 0 && !cmp.Equal(got, vs, equal) {
			t.Fatalf("list: %v, want %v (%v)", got, vs, err)
		}
		one := anyValue().Draw(t, "element")
		switch one.Kind() {
		case value.Null, value.Raw, value.URI, value.Timespan, value.DateTimeOffset:
			return
		}
		vs = []value.Value{one, one}[:rapid.IntRange(0, 2).Draw(t, "elements")]
		got, err = ParseArray(AppendArray(nil, one.Kind(), vs...))
		if err != nil || len(got) != len(vs) || len(vs) > 0 && !cmp.Equal(got, vs, equal) {
			t.Fatalf("array: %v, want %v (%v)", got, vs, err)
		}
	})
}

// TestCompoundSizes checks sizes around the one at which a compound needs its long form.
func TestCompoundSizes(t *testing.T) {
	for _, n := range []int{0, 1, 251, 252, 253, 254, 255, 256, 1000} {
		content := strings.Repeat("a", n)
		b := AppendList([]byte("before"), value.OfBinary([]byte(content)), value.OfInt(7))
		vs, err := ParseList(b[len("before"):])
		if err != nil || len(vs) != 2 || vs[0] != value.OfBinary([]byte(content)) || vs[1] != value.OfInt(7) {
			t.Errorf("%d bytes: %v %v", n, vs, err)
		}
	}
	nulls := make([]value.Value, 300)
	if vs, err := ParseList(AppendList(nil, nulls...)); err != nil || len(vs) != 300 {
		t.Errorf("%d nulls: %v", len(vs), err)
	}
	check(t, "the longest short list", AppendList(nil, nulls[:254]...)[:3], x("c0 ff fe"))
	check(t, "the shortest long list", AppendList(nil, nulls[:255]...)[:9], x("d0 00000103 000000ff"))
}

func TestArrays(t *testing.T) {
	got, err := ParseArray(x("e0 09 02 00 53 70 c0 01 00 01 00"))
	want := []value.Value{value.OfRaw(x("00 53 70 c0 01 00")), value.OfRaw(x("00 53 70 c0 01 00"))}
	if err != nil || !cmp.Equal(got, want, equal) {
		t.Errorf("described lists: %v %v", got, err)
	}
	if got, err := ParseArray(x("e0 04 02 45")); err == nil {
		t.Errorf("a list0 array with a byte too many: %v", got)
	}
	if got, err := ParseArray(x("e0 02 02 45")); err != nil || len(got) != 2 || got[1] != value.OfRaw(x("45")) {
		t.Errorf("empty lists: %v %v", got, err)
	}
	// These are the tokens of a renew-lock request, and the expirations in the response.
	id := x("04030201060508070 90a0b0c0d0e0f10")
	if got, err := ParseArray(join(x("e0 12 01 98"), id)); err != nil || len(got) != 1 || got[0] != value.OfUUID([16]byte(id)) {
		t.Errorf("tokens: %v %v", got, err)
	}
	check(t, "expirations", AppendArray(nil, value.Timestamp, value.OfTimestamp(1), value.OfTimestamp(2)),
		x("e0 12 02 83 0000000000000001 0000000000000002"))
	check(t, "no sequence numbers", AppendArray(nil, value.Long), x("e0 02 00 81"))
	check(t, "sessions", AppendArray(nil, value.String, value.OfString("a"), value.OfString("")), x("e0 05 02 a1 01 61 00"))
	named := join(x("00 a3 50"), bytes.Repeat([]byte("x"), 0x50), x("50"))
	_, err = ParseArray(large(0xf0, 200, join(named, make([]byte, 200))))
	refused(t, err, CondDecodeError)
}

func TestArraysOfTheWrongKind(t *testing.T) {
	for name, make := range map[string]func(){
		"two kinds": func() { AppendArray(nil, value.Long, value.OfInt(1)) },
		"raw":       func() { AppendArray(nil, value.Raw) },
		"null":      func() { AppendArray(nil, value.Null) },
		"timespans": func() { AppendArray(nil, value.Timespan) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("an array was decoded")
				}
			}()
			make()
		})
	}
}

func TestTakenApart(t *testing.T) {
	d, v, err := ParseDescribed(join(x("00 80 000000137000000c"), str8("s1")))
	if err != nil || d != value.OfULong(0x137000000c) || v != value.OfString("s1") {
		t.Errorf("session filter: %v %v %v", d, v, err)
	}
	check(t, "session filter", AppendDescribed(nil, d, v), join(x("00 80 000000137000000c"), str8("s1")))
	for name, parse := range map[string]func() error{
		"list":                func() error { _, err := ParseList(str8("a")); return err },
		"array":               func() error { _, err := ParseArray(list8()); return err },
		"map":                 func() error { _, err := ParseMap(list8()); return err },
		"map with ulong keys": func() error { _, err := ParseMap(map8(x("53 01"), null)); return err },
		"map with null keys":  func() error { _, err := ParseMap(map8(null, x("a1 01 61"))); return err },
		"described":           func() error { _, _, err := ParseDescribed(null); return err },
	} {
		t.Run(name, func(t *testing.T) { refused(t, parse(), CondInvalidField) })
	}
	if p, err := ParseMap(nil); p != nil || err != nil {
		t.Errorf("no section: %v %v", p, err)
	}
}
