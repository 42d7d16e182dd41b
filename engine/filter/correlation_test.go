package filter_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

func parseCorrelation(t *testing.T, text string) *filter.Correlation {
	t.Helper()
	c, err := filter.ParseCorrelation(text)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return c
}

// selects reports whether c matches m, and requires that Matches, an Index and Explain agree.
func selects(t *testing.T, c *filter.Correlation, m *filter.Message) bool {
	t.Helper()
	want := c.Matches(m)
	var x filter.Index[string]
	x.Add(c, "it")
	found := 0
	x.Match(m, func(string) { found++ })
	clauses := c.Explain(m)
	explained := len(clauses) > 0
	for _, clause := range clauses {
		explained = explained && clause.Result == filter.True
	}
	if (found == 1) != want || explained != want {
		t.Errorf("%s: Matches %v, found by the index %d times, explained %v", c.Text(), want, found, explained)
	}
	return want
}

func TestCorrelation(t *testing.T) {
	m := &filter.Message{
		MessageID: "m1", CorrelationID: "c1", SessionID: "s1", ReplyTo: "r1", ReplyToSessionID: "rs1", Label: "l1", To: "t1", ContentType: "ct1",
		Properties: props("Color", "red", "n", 2, "flag", true, "null", nil, "both", "lower", "BOTH", "upper"),
	}
	full := `{"ContentType":"ct1","CorrelationId":"c1","Label":"l1","MessageId":"m1","ReplyTo":"r1","ReplyToSessionId":"rs1","SessionId":"s1","To":"t1","Properties":{"color":"red","n":2}}`
	cases := map[string]bool{
		"FILT-13 " + full: true,
		`FILT-13 {"Label":"l1","To":"t1","SessionId":"s1"}`: true,
		`FILT-13 {"Label":"l1","To":"t1","SessionId":"s2"}`: false,
		`FILT-13 {"Properties":{"color":"red","n":3}}`:      false,
		`FILT-13 {"Label":"l2","Properties":{"n":2}}`:       false,
		`FILT-14 {"Properties":{"color":"Red"}}`:            false,
		`FILT-14 {"Properties":{"COLOR":"red"}}`:            true,
		`FILT-14 {"Label":"L1"}`:                            false,
		`FILT-14 {"Label":"l1 "}`:                           false,
		`FILT-15 {"Properties":{"n":"2"}}`:                  false,
		`FILT-15 {"Properties":{"n":2}}`:                    true,
		`FILT-15 {"Properties":{"n":2.0}}`:                  true,
		`FILT-15 {"Properties":{"n":2.5}}`:                  false,
		`FILT-15 {"Properties":{"flag":"true"}}`:            false,
		`FILT-15 {"Properties":{"flag":1}}`:                 false,
		`FILT-15 {"Properties":{"flag":true}}`:              true,
		`FILT-15 {"Properties":{"null":{"type":"null"}}}`:   true,
		`FILT-15 {"Properties":{"null":""}}`:                false,
		`FILT-16 {"Properties":{"gone":"red"}}`:             false,
		`FILT-16 {"Properties":{"gone":{"type":"null"}}}`:   false,
		`FILT-16 {"Properties":{"color":"red","gone":1}}`:   false,
		`MSG-4 {"Properties":{"both":"lower"}}`:             true,
		`MSG-4 {"Properties":{"BOTH":"upper"}}`:             true,
		`MSG-4 {"Properties":{"Both":"lower"}}`:             true,
		`MSG-4 {"Properties":{"Both":"upper"}}`:             false,
	}
	for _, name := range []string{"ContentType", "CorrelationId", "Label", "MessageId", "ReplyTo", "ReplyToSessionId", "SessionId", "To"} {
		cases[fmt.Sprintf(`FILT-13 {"%s":"other"}`, name)] = false
		cases[fmt.Sprintf("FILT-13 %s", strings.Replace(full, `"`+name+`":"`, `"`+name+`":"x`, 1))] = false
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			_, text, _ := strings.Cut(name, " ")
			if got := selects(t, parseCorrelation(t, text), m); got != want {
				t.Errorf("matches: %v", got)
			}
			if selects(t, parseCorrelation(t, text), &filter.Message{}) {
				t.Error("matches an empty message")
			}
		})
	}
	t.Run("FILT-16 no conditions", func(t *testing.T) {
		if selects(t, &filter.Correlation{}, m) {
			t.Error("matches")
		}
	})
	t.Run("FILT-17", func(t *testing.T) {
		if !selects(t, parseCorrelation(t, `{"Label":"l1"}`), m) {
			t.Fatal("does not match")
		}
		got, err := apply(t, "SET sys.Label = sys.Label + '!'; SET color = 'blue'", *m)
		if v, _ := got.Properties.Lookup("Color"); err != nil || got.Label != "l1!" || v != value.OfString("blue") {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// FILT-15: numbers are equal by value, everything else by type and value.
func TestCorrelationTypes(t *testing.T) {
	number := func(k value.Kind) value.Value { return decimalOf(k, "2") }
	two := []value.Value{number(value.UByte), number(value.Byte), number(value.UShort), number(value.Short), number(value.UInt), number(value.Int), number(value.Long), number(value.ULong)}
	two = append(two, value.OfDouble(2), value.OfFloat(2), number(value.Decimal32), number(value.Decimal64), number(value.Decimal128), decimalOf(value.Decimal128, "2.00 (IEEE 754)"), decimalOf(value.Decimal64, "0.2E+1"))
	one := []value.Value{ // values of different types, and different numbers
		value.OfString("2"), value.OfSymbol("2"), value.OfURI("2"), value.OfChar('2'), value.OfBinary([]byte("2")), value.OfRaw([]byte("2")), value.OfTimestamp(2), value.OfTimespan(2), value.OfDateTimeOffset(2),
		value.OfBool(true), {}, value.OfUUID([16]byte{2}), value.OfLong(3), value.OfLong(-2), value.OfULong(math.MaxUint64), value.OfLong(-1), value.OfDouble(2.5), value.OfFloat(0.1), value.OfLong(1<<53 + 1),
		value.OfDouble(math.Nextafter(2, 3)), decimalOf(value.Decimal128, "2.0001"), value.OfULong(math.MaxUint64 - 1), value.OfLong(math.MaxInt64), value.OfDouble(1e300),
	}
	groups := [][]value.Value{two}
	for _, v := range one {
		groups = append(groups, []value.Value{v})
	}
	groups = append(groups,
		[]value.Value{value.OfDouble(0), value.OfDouble(math.Copysign(0, -1)), value.OfFloat(0), value.OfFloat(float32(math.Copysign(0, -1))), value.OfInt(0), decimalOf(value.Decimal64, "0"), decimalOf(value.Decimal64, "-0.00"), decimalOf(value.Decimal128, "-0.0")},
		[]value.Value{value.OfDouble(1.5), value.OfFloat(1.5), decimalOf(value.Decimal128, "1.5"), decimalOf(value.Decimal128, "1.5 (IEEE 754)"), decimalOf(value.Decimal128, "1.50"), decimalOf(value.Decimal128, "150E-2"), decimalOf(value.Decimal32, "1.5")},
		[]value.Value{value.OfDouble(0.1), decimalOf(value.Decimal128, "0.1"), decimalOf(value.Decimal64, "0.10")}, // a JavaScript filter and a .NET message
		[]value.Value{decimalOf(value.Decimal64, "1200"), decimalOf(value.Decimal64, "1.2E+3"), value.OfShort(1200)}, []value.Value{decimalOf(value.Decimal64, "-1.5"), value.OfDouble(-1.5)},
		[]value.Value{value.OfDouble(1 << 63), value.OfULong(1 << 63), decimalOf(value.Decimal128, "9223372036854775808")}, []value.Value{value.OfDouble(-1 << 63), value.OfLong(math.MinInt64)},
		[]value.Value{value.OfDouble(1 << 64), decimalOf(value.Decimal128, "18446744073709551616"), value.OfFloat(1 << 64)},
		[]value.Value{value.OfDouble(1 << 53), value.OfLong(1 << 53), decimalOf(value.Decimal64, "9007199254740992")},
		[]value.Value{decimalOf(value.Decimal32, "NaN"), decimalOf(value.Decimal32, "-NaN"), value.OfDecimal32(0x7c000001), decimalOf(value.Double, "NaN(0x7ff8000000000001)"), value.OfDouble(math.NaN()), value.OfFloat(float32(math.NaN()))},
		[]value.Value{decimalOf(value.Decimal32, "Inf"), value.OfDecimal32(0x78000001), value.OfDouble(math.Inf(1)), value.OfFloat(float32(math.Inf(1)))}, []value.Value{decimalOf(value.Decimal32, "-Inf"), value.OfDecimal32(0xf8000001), value.OfDouble(math.Inf(-1))},
		[]value.Value{value.OfTimestamp(7), value.OfDateTimeOffset(621355968000070000), value.OfDateTime(621355968000070000, true), value.OfDateTime(621355968000070000, false)},
		[]value.Value{value.OfDateTimeOffset(621355968000070001), value.OfDateTime(621355968000070001, true), value.OfDateTime(621355968000070001, false)},
	)
	for i, a := range groups {
		for j, b := range groups {
			for _, want := range a {
				for _, has := range b {
					c := &filter.Correlation{Properties: value.Properties{{Name: "n", Value: want}}}
					m := &filter.Message{Properties: value.Properties{{Name: "n", Value: has}}}
					if got := selects(t, c, m); got != (i == j) {
						t.Errorf("FILT-15 condition %v %v and property %v %v: %v", want.Kind(), want, has.Kind(), has, got)
					}
				}
			}
		}
	}
}

func TestCorrelationText(t *testing.T) {
	for text, want := range map[string]string{ // empty means unchanged
		`{"ContentType":"ct","CorrelationId":"c","Label":"l","MessageId":"m","ReplyTo":"r","ReplyToSessionId":"rs","SessionId":"s","To":"t","Properties":{"A":1,"a":"x","b":true}}`: "",
		` { "label" : "x" , "PROPERTIES" : { "b" : -2 , "a" : 1.50 } } `: `{"Label":"x","Properties":{"a":1.5,"b":-2}}`,
		`{"Label":"\u003cé\u003e","To":null,"Properties":null}`:          `{"Label":"\u003cé\u003e"}`,
		`{"Label":"x","SessionId":""}`:                                   `{"Label":"x"}`,
		`{"Properties":{"a":1e2,"b":2.0,"c":1e300,"d":-0.0}}`:            `{"Properties":{"a":100.0,"b":2.0,"c":1e+300,"d":-0.0}}`,
		`{"Properties":{"a":{"type":"int","value":"5"},"b":{"type":"uuid","value":"01000000-0000-0000-0000-000000000000"},"c":{"type":"null"},"d":{"type":"double","value":"NaN"},"e":{"type":"timestamp","value":"1970-01-01T00:00:01Z"}}}`: "",
		`{"Properties":{"a":{"type":"string","value":"x"},"b":{"type":"long","value":5},"c":{"type":"double","value":5},"d":{"type":"bool","value":true},"e":{"type":"string","base64":"/w=="}}}`:                                            `{"Properties":{"a":"x","b":5,"c":5.0,"d":true,"e":{"type":"string","base64":"/w=="}}}`,
	} {
		c := parseCorrelation(t, text)
		if want == "" {
			want = text
		}
		if got := c.Text(); got != want {
			t.Errorf("%s\nis    %s", text, got)
		}
		if d := cmp.Diff(c.Text(), parseCorrelation(t, c.Text()).Text()); d != "" {
			t.Error(d)
		}
	}
	for text, want := range map[string]string{
		`{}`:                                "a correlation filter needs at least one condition",
		`{"Label":"","Properties":{}}`:      "a correlation filter needs at least one condition",
		``:                                  `a correlation filter must be a JSON object, as in {"Label":"x","Properties":{"color":"red"}}`,
		`[]`:                                `a correlation filter must be a JSON object, as in {"Label":"x","Properties":{"color":"red"}}`,
		`{"Label":"x"`:                      `a correlation filter must be a JSON object, as in {"Label":"x","Properties":{"color":"red"}}`,
		`{"Label":"x"} {}`:                  `a correlation filter must be a JSON object, as in {"Label":"x","Properties":{"color":"red"}}`,
		`{"Properties":[1]}`:                `a correlation filter must be a JSON object, as in {"Label":"x","Properties":{"color":"red"}}`,
		`{"Subject":"x"}`:                   `a correlation filter has no condition on "Subject"`,
		`{"Label":"x","label":"y"}`:         "Label is set twice",
		`{"Label":1}`:                       "the condition on Label must be a string",
		`{"Properties":{"a":1,"a":1}}`:      `property "a" is set twice`,
		`{"Properties":{"":1}}`:             "a property needs a name",
		`{"Properties":{"a":null}}`:         `property "a": a condition must be a string, number or boolean, or typed as in {"type":"int","value":"5"}`,
		`{"Properties":{"a":[1]}}`:          `property "a": a property cannot be a list`,
		`{"Properties":{"a":{"type":"x"}}}`: `property "a": "x" is not a type of property`,
	} {
		t.Run("FILT-16 "+text, func(t *testing.T) {
			if _, err := filter.ParseCorrelation(text); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

func TestCorrelationExplain(t *testing.T) {
	c := parseCorrelation(t, `{"Label":"it's","To":"x","Properties":{"n":{"type":"int","value":2},"color":"red","gone":2.5}}`)
	m := &filter.Message{Label: "it's", Properties: props("Color", "blue", "n", value.OfByte(2))}
	want := []filter.Clause{
		{Text: "sys.Label = 'it''s'", Result: T, Reads: []filter.Reading{{Name: "sys.Label", Value: value.OfString("it's")}}},
		{Text: "sys.To = 'x'", Result: F, Reads: []filter.Reading{{Name: "sys.To", Missing: true}}},
		{Text: "color = 'red'", Result: F, Reads: []filter.Reading{{Name: "color", Value: value.OfString("blue")}}},
		{Text: "gone = 2.5 (double)", Result: F, Reads: []filter.Reading{{Name: "gone", Missing: true}}},
		{Text: "n = 2", Result: T, Reads: []filter.Reading{{Name: "n", Value: value.OfByte(2)}}},
	}
	if d := cmp.Diff(want, c.Explain(m)); d != "" {
		t.Error(d)
	}
}
