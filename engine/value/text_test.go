package value

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue().Draw(t, "value")
		got, err := Parse(v.Kind(), v.Text())
		if err != nil || got != v {
			t.Fatalf("%v %q reads as %q: %v", v.Kind(), v.Text(), got.Text(), err)
		}
	})
}

func TestTextIsWhatPeopleWrite(t *testing.T) {
	for _, tc := range []struct {
		kind  Kind
		typed string
		want  string
	}{
		{Bool, " TRUE ", "true"},
		{UByte, "255", "255"},
		{Byte, "-128", "-128"},
		{ULong, "18446744073709551615", "18446744073709551615"},
		{Long, "-9223372036854775808", "-9223372036854775808"},
		{Char, "é", "é"},
		{Char, "u+1F600", "😀"},
		{Float, "0.1", "0.1"},
		{Double, "1e9", "1e+09"},
		{Double, "-inf", "-Inf"},
		{Double, "nan", "NaN"},
		{Decimal32, "1.50", "1.50"},
		{Decimal32, "9999999E90", "9.999999E+96"},
		{Decimal32, "0.001", "0.001"},
		{Decimal32, "1E-101", "1E-101"},
		{Decimal64, "-9999999999999999", "-9999999999999999"},
		{Decimal64, "0E3", "0E+3"},
		{Decimal64, "0.00", "0.00"},
		{Decimal128, "12345678901234567890.12345678901234", "12345678901234567890.12345678901234"},
		{Decimal128, "-Infinity", "-Inf"},
		{String, " kept ", " kept "},
		{Binary, "AAEC", "AAEC"},
		{UUID, "{6F1C3A52-0d4e-4b7a-9c11-2f6e5d7a8b90}", "6f1c3a52-0d4e-4b7a-9c11-2f6e5d7a8b90"},
		{Timestamp, "2026-07-14T12:04:12.3459+02:00", "2026-07-14T10:04:12.345Z"},
		{Timestamp, "0", "1970-01-01T00:00:00Z"},
		{Timestamp, "253402300800000", "253402300800000"},
		{DateTimeOffset, "2026-07-14T10:04:12.34567891Z", "2026-07-14T10:04:12.3456789Z"},
		{DateTimeOffset, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		{DateTimeOffset, "9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999Z"},
		{Timespan, "1.02:03:04.5", "1.02:03:04.5"},
		{Timespan, "90s", "00:01:30"},
		{Timespan, "-1h30m", "-01:30:00"},
		{Timespan, "P14D", "14.00:00:00"},
		{Timespan, "PT1H30M", "01:30:00"},
		{Timespan, "P1DT0.0000001S", "1.00:00:00.0000001"},
		{Timespan, "P1Y2M3DT4H5M6.5S", "428.04:05:06.5"},
		{Timespan, "P12M", "365.00:00:00"},
		{Timespan, "P13M", "395.00:00:00"},
		{Timespan, "-P1Y25M", "-1125.00:00:00"},
		{Timespan, "-PT2M", "-00:02:00"},
		{Timespan, "P0Y0M0DT0H30M0S", "00:30:00"},
		{Timespan, "P10675199DT2H48M5.4775807S", "10675199.02:48:05.4775807"},
		{Timespan, "-PT922337203685.4775808S", "-10675199.02:48:05.4775808"},
		{DateTime, "2026-07-14t10:04:12.3456789", "2026-07-14T10:04:12.3456789"},
		{DateTime, "2026-07-14T12:04:12.3456789+02:00", "2026-07-14T10:04:12.3456789Z"},
		{Timespan, "10675199.02:48:05.4775807", "10675199.02:48:05.4775807"},
		{Timespan, "-10675199.02:48:05.4775808", "-10675199.02:48:05.4775808"},
	} {
		v, err := Parse(tc.kind, tc.typed)
		if err != nil {
			t.Errorf("%v: %v", tc.kind, err)
		} else if v.Kind() != tc.kind || v.Text() != tc.want {
			t.Errorf("%v %q reads as %v %q, want %q", tc.kind, tc.typed, v.Kind(), v.Text(), tc.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		kind  Kind
		typed string
	}{
		{Null, "0"},
		{Bool, "1"},
		{Bool, ""},
		{UByte, "256"},
		{UByte, "-1"},
		{Byte, "128"},
		{Byte, "-129"},
		{UShort, "65536"},
		{Short, "-32769"},
		{UInt, "4294967296"},
		{Int, "2147483648"},
		{ULong, "18446744073709551616"},
		{Long, "9223372036854775808"},
		{Long, "1.0"},
		{Char, "ab"},
		{Char, "\xff"},
		{Char, "U+100000000"},
		{Float, "1e39"},
		{Double, "1e309"},
		{Double, "twelve"},
		{Double, "NaN(0x0)"},
		{Float, "NaN(0x7fc00001"},
		{Decimal32, "12345678"},
		{Decimal32, "1E91"},
		{Decimal32, "1E-102"},
		{Decimal32, "1E99999999999999999999"},
		{Decimal32, "0x00"},
		{Decimal64, "."},
		{Decimal64, "1,5"},
		{Decimal128, "1E"},
		{Binary, "?"},
		{UUID, "6f1c3a52"},
		{Timestamp, "yesterday"},
		{DateTimeOffset, "2026-07-14"},
		{Timespan, "24:00:00"},
		{Timespan, "1:60:00"},
		{Timespan, "1:00:00.00000001"},
		{Timespan, "1ns"},
		{Timespan, "P"},
		{Timespan, "PT"},
		{Timespan, "P1S"},
		{Timespan, "PT1D"},
		{Timespan, "PT1M1H"},
		{Timespan, "P1.5D"},
		{Timespan, "PT1.S"},
		{Timespan, "P1DT"},
		{Timespan, "P99999999999Y"},
		{Timespan, "P355839M"},
		{Timespan, "P355839MT1S"},
		{Timespan, "PT922337203685.4775808S"},
		{DateTime, "2026-07-14"},
		{Timespan, "--1s"},
		{Timespan, "10675199.02:48:05.4775808"},
		{Timespan, "1:2:3:4"},
		{kinds, "5"},
	} {
		if v, err := Parse(tc.kind, tc.typed); err == nil {
			t.Errorf("%v %q reads as %q", tc.kind, tc.typed, v.Text())
		}
	}
	_, err := Parse(String, strings.Repeat("x", 1<<20))
	if err != nil {
		t.Error(err)
	}
	if _, err = Parse(Int, strings.Repeat("x", 1<<20)); err == nil || len(err.Error()) > 300 {
		t.Errorf("the error is too long: %.300v", err)
	}
}

// The bits are those of the binary encoding of IEEE 754-2008, as other libraries write them.
func TestDecimalBits(t *testing.T) {
	for text, want := range map[string]uint32{
		"1":            0x32800001,
		"-1":           0xb2800001,
		"7.50":         0x318002ee,
		"9999999":      0x6cb8967f,
		"9.999999E+96": 0x77f8967f,
		"8388607":      0x32ffffff,
		"8388608":      0x6ca00000,
		"Inf":          0x78000000,
		"NaN":          0x7c000000,
	} {
		v, err := Parse(Decimal32, text)
		if bits, _ := v.Decimal32(); err != nil || bits != want {
			t.Errorf("%s has the bits %08x, %v, want %08x", text, bits, err, want)
		}
	}
	if got := OfDecimal32(0x6cb89680).Text(); got != "0x6cb89680" {
		t.Errorf("a significand of 10000000 is formatted as %s", got)
	}
	if got := OfDecimal64(0x31c0000000000001).Text(); got != "1" {
		t.Errorf("decimal64 1 is written %s", got)
	}
}

// FILT-33: .NET's decimals, as Microsoft.Azure.Amqp 2.7.3 encodes them, have the same numbers
// as in .NET, and so have the standard's, which Python's SDK encodes. Typed decimals are
// encoded as in .NET.
func TestDecimalsOfNET(t *testing.T) {
	net := func(sign, scale byte, low ...byte) Value {
		b := [16]byte{0x0c | sign, 0x40 - 2*scale}
		copy(b[16-len(low):], low)
		return OfDecimal128(b)
	}
	largest := []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}
	for _, tc := range []struct {
		name string
		v    Value
		text string
	}{
		{"FILT-33 5", net(0, 0, 5), "5"},
		{"FILT-33 -5", net(0x80, 0, 5), "-5"},
		{"FILT-33 0.10", net(0, 2, 10), "0.10"},
		{"FILT-33 -0.0", net(0x80, 1), "-0.0"},
		{"FILT-33 the largest", net(0, 0, largest...), "79228162514264337593543950335"},
		{"FILT-33 the least", net(0, 28, 1), "1E-28"},
		{"FILT-33 1500000000", net(0, 0, 0x59, 0x68, 0x2f, 0), "1500000000"},
		{"FILT-33 the standard's 5", OfDecimal128([16]byte{0x30, 0x40, 15: 5}), "5" + IEEE},
		{"FILT-33 the standard's -1.23", OfDecimal128([16]byte{0xb0, 0x3c, 15: 0x7b}), "-1.23" + IEEE},
		{"FILT-33 the standard's 1.5E+9", OfDecimal128([16]byte{0x30, 0x50, 15: 15}), "1.5E+9" + IEEE},
		{"FILT-33 more digits than .NET has", OfDecimal128([16]byte{0x30, 0x40, 2: 1}), "20282409603651670423947251286016"},
		{"FILT-33 a larger exponent than .NET has", OfDecimal128([16]byte{0x30, 0x7a, 15: 1}), "1E+29"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.v.Text(); got != tc.text {
				t.Errorf("it is encoded as %s, want %s", got, tc.text)
			}
			if got, want := tc.v.DecimalText(), strings.TrimSuffix(tc.text, IEEE); got != want || tc.v.String() != want {
				t.Errorf("it is shown as %s, want %s", got, want)
			}
			if got, err := Parse(Decimal128, tc.text); err != nil || got != tc.v {
				t.Errorf("%s reads as %x, %v", tc.text, got.str, err)
			}
		})
	}
	for text, want := range map[string]Value{"1.5E+9": net(0, 0, 0x59, 0x68, 0x2f, 0), "100": net(0, 0, 100)} {
		if got, err := Parse(Decimal128, text); err != nil || got != want {
			t.Errorf("%s reads as %x, %v", text, got.str, err)
		}
	}
	for _, b := range [][16]byte{{0x0c, 0x42, 15: 5}, {0x0c, 0x06, 15: 5}, {0x0c, 0x41, 15: 5}, {0x0c, 0x40, 0, 1, 15: 5}} { // almost .NET's form
		if _, _, ok := OfDecimal128(b).net(); ok {
			t.Errorf("%x is taken for .NET's", b)
		}
	}
}

func TestNaNsKeepTheirPayload(t *testing.T) {
	v := OfDouble(math.Float64frombits(0xfff8000000000000))
	if got := v.Text(); got != "NaN(0xfff8000000000000)" {
		t.Errorf(".NET's NaN is formatted as %s", got)
	}
}
