package value

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestStoredFormReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyProperties().Draw(t, "properties")
		tail := rapid.SliceOf(rapid.Byte()).Draw(t, "tail")
		b := append(p.Append([]byte("before")), tail...)
		whole := bytes.Clone(b)
		got, rest, err := ParseProperties(b[len("before"):])
		clear(b)
		if err != nil || !slices.Equal(got, p) || len(rest) != len(tail) {
			t.Fatalf("%v is parsed as %v, %d bytes left, %v", p, got, len(rest), err)
		}
		for end := range whole[len("before") : len(whole)-len(tail)] {
			if _, _, err := ParseProperties(whole[len("before"):][:end]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("the first %d bytes are parsed: %v", end, err)
			}
		}
		for _, q := range p {
			got, rest, err := ParseStored(append(q.Value.Append(nil), tail...))
			if err != nil || got != q.Value || !bytes.Equal(rest, tail) {
				t.Fatalf("%v reads as %v, %v", q.Value, got, err)
			}
		}
	})
}

// Values in the stored form must remain readable in all later versions.
func TestStoredFormStays(t *testing.T) {
	p := Properties{
		{"n", Value{}}, {"b", OfBool(true)}, {"i", OfInt(-2)}, {"u", OfULong(300)},
		{"d", OfDouble(1.5)}, {"s", OfString("é")}, {"t", OfTimestamp(1)}, {"r", OfRaw([]byte{0x45})},
	}
	want := "\x08" + "\x01n\x00" + "\x01b\x01\x01" + "\x01i\x08\x03" + "\x01u\x09\xac\x02" +
		"\x01d\x0c\x3f\xf8\x00\x00\x00\x00\x00\x00" + "\x01s\x10\x02\xc3\xa9" + "\x01t\x14\x02" + "\x01r\x18\x01\x45"
	if got := p.Append(nil); string(got) != want {
		t.Errorf("stored as\n%q, want\n%q", got, want)
	}
}

func TestLengthsAreCheckedBeforeAllocation(t *testing.T) {
	huge := binary.AppendUvarint(nil, math.MaxUint64)
	for name, b := range map[string][]byte{
		"count":  huge,
		"name":   append([]byte{1}, huge...),
		"string": append([]byte{1, 0, byte(String)}, huge...),
	} {
		b = append(b, make([]byte, 100)...)
		allocs := testing.AllocsPerRun(10, func() {
			if _, _, err := ParseProperties(b); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if allocs > 10 {
			t.Errorf("%s: an error takes %v allocations", name, allocs)
		}
	}
}

func TestStoredFormRefuses(t *testing.T) {
	for name, b := range map[string]string{
		"nothing":           "",
		"unknown kind":      "\x01\x00\x19",
		"boolean of 2":      "\x01\x00\x01\x02",
		"ubyte of 256":      "\x01\x00\x02\x80\x02",
		"byte of 128":       "\x01\x00\x03\x80\x02",
		"count too long":    "\x80\x00",
		"varint of 11":      "\x01\x00\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"more than there":   "\x02\x00\x00",
		"half a double":     "\x01\x00\x0c\x00\x00\x00\x00",
		"a uuid of 15":      "\x01\x00\x13\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"a name without it": "\x01\x05ab",
	} {
		if p, _, err := ParseProperties([]byte(b)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

func FuzzParseProperties(f *testing.F) {
	f.Add([]byte{})
	f.Add(Properties{{"a", OfString("b")}, {"c", OfInt(-5)}, {"d", OfUUID([16]byte{})}, {"e", OfFloat(1)}}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, rest, err := ParseProperties(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		// Each value has one stored form, so a parsed value is formatted as the same bytes.
		if got := p.Append(nil); !bytes.Equal(got, b[:len(b)-len(rest)]) {
			t.Fatalf("%x is parsed as %v, which is formatted as %x", b, p, got)
		}
	})
}

var ten = Properties{
	{"region", OfString("eu-west")}, {"tenant", OfString("contoso")}, {"priority", OfInt(5)}, {"size", OfLong(123456)},
	{"ratio", OfDouble(0.25)}, {"urgent", OfBool(true)}, {"order", OfUUID([16]byte{1})}, {"made", OfTimestamp(1784023452345)},
	{"Diagnostic-Id", OfString("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")}, {"nothing", Value{}},
}

func BenchmarkAppend(b *testing.B) {
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = ten.Append(buf[:0])
	}
}

func BenchmarkParseProperties(b *testing.B) {
	buf := ten.Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ParseProperties(buf); err != nil {
			b.Fatal(err)
		}
	}
}
