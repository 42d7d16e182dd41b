package value

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestJSONReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyProperties().Draw(t, "properties")
		for i := range p {
			p[i].Name = strings.ToValidUTF8(p[i].Name, "")
		}
		b, err := json.Marshal(p)
		if err != nil || !utf8.Valid(b) {
			t.Fatalf("%v is written %q, %v", p, b, err)
		}
		var got Properties
		if err := json.Unmarshal(b, &got); err != nil || !slices.Equal(got, p) {
			t.Fatalf("%s reads as %v: %v", b, got, err)
		}
	})
}

func TestJSONIsTyped(t *testing.T) {
	p := Properties{{"b", OfInt(5)}, {"a", Value{}}, {"b", OfString("\xff")}, {"c", OfDouble(math.NaN())}}
	p[3].Value = Value{kind: Double, bits: plainNaN64}
	got, err := json.Marshal(p)
	want := `{"b":{"type":"int","value":"5"},"a":{"type":"null"},"b":{"type":"string","base64":"/w=="},"c":{"type":"double","value":"NaN"}}`
	if err != nil || string(got) != want {
		t.Errorf("written as %s, %v, want %s", got, err, want)
	}
}

func TestPlainJSON(t *testing.T) {
	in := `{"z": null, "y": true, "x": "5", "w": 5, "v": -9223372036854775808, "u": 5.0, "t": 5e0, "s": {"type": "Int", "value": 5},
		"r": {"type": "boolean", "value": true}, "q": {"type": "null", "value": null}, "p": {"type":"uint","value":" 7 "}, "o": ""}`
	want := Properties{
		{"z", Value{}}, {"y", OfBool(true)}, {"x", OfString("5")}, {"w", OfLong(5)}, {"v", OfLong(math.MinInt64)},
		{"u", OfDouble(5)}, {"t", OfDouble(5)}, {"s", OfInt(5)}, {"r", OfBool(true)}, {"q", Value{}}, {"p", OfUInt(7)}, {"o", OfString("")},
	}
	var got Properties
	if err := json.Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSONRefuses(t *testing.T) {
	for in, word := range map[string]string{
		`{"a": [1]}`:                                           "list",
		`{"a": {"b": 1}}`:                                      "plain",
		`{"a": {"value": 1}}`:                                  "plain",
		`{"a": {"type": 5, "value": 1}}`:                       "plain",
		`{"a": {"type": "int"}}`:                               "no value",
		`{"a": {"type": "int", "value": null}}`:                "no value",
		`{"a": {"type": "int", "value": [1]}}`:                 "type int",
		`{"a": {"type": "int", "value": 1.5}}`:                 "whole number",
		`{"a": {"type": "integer", "value": 1}}`:               "not a type",
		`{"a": 9223372036854775808}`:                           "ulong",
		`{"a": 1e999}`:                                         "too large",
		`{"a": {"type":"string","value":"a","base64":"YQ=="}}`: "not both",
		`{"a": {"type":"string","base64":"?"}}`:                "base64",
		`[1]`:                                                  "object",
		`5`:                                                    "object",
	} {
		var p Properties
		err := json.Unmarshal([]byte(in), &p)
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want a word about %q", in, err, word)
		}
	}
	v := OfInt(1)
	if err := json.Unmarshal([]byte(`"x`), &v); err == nil || v != OfInt(1) {
		t.Errorf("broken JSON gives %v, %v", v, err)
	}
}
