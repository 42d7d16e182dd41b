package measure_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mayfly/engine/value/measure"
)

// counted returns the number of values in v, as decoded by encoding/json.
func counted(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += counted(item)
		}
	case map[string]any:
		for _, item := range v {
			n += counted(item)
		}
	}
	return n
}

// FuzzOf checks that the count is never less than the number of values that a decoder creates, and
// exceeds it by at most one for each list and object.
func FuzzOf(f *testing.F) {
	for _, s := range []string{``, `1`, `"a,b\",[{"`, `[]`, `{}`, `[1,2,[3,{"a":"}","b":[]}]]`, `[[],[],{}]`, `{"a":{"b":{"c":[1,2,3]}}} `, `]]]]`, `,,,`, `"\\"`, "[\n 1 ,\t2 ]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw := []byte(text)
		n, err := measure.CountValues(raw, measure.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return
		}
		opens := strings.Count(text, "[") + strings.Count(text, "{")
		if is := counted(v); !strings.Contains(text, `":`) && n < is || n > is+opens+strings.Count(text, ",") {
			t.Errorf("%q has %d values, but %d were counted", text, is, n)
		}
		if list, ok := v.([]any); ok && measure.CountItems(raw) != len(list) || !ok && measure.CountItems(raw) != 0 {
			t.Errorf("%q: %d items were counted", text, measure.CountItems(raw))
		}
	})
}

func TestOf(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		most measure.Bounds
		want string
	}{
		"at all bounds":       {`[[1,2],[3]]`, measure.Bounds{Depth: 2, Values: 7, Items: 2}, ""},
		"too deep":            {`[[[1]]]`, measure.Bounds{Depth: 2}, "nested more than 2 deep"},
		"too many values":     {`[1,2,3,4]`, measure.Bounds{Values: 4}, "more than 4 values"},
		"too many items":      {`[[1,2,3]]`, measure.Bounds{Items: 2}, "more than 2 items"},
		"too many members":    {`{"a":1,"b":2,"c":3}`, measure.Bounds{Items: 2}, "more than 2 items"},
		"items of many lists": {`[[1,2],[1,2]]`, measure.Bounds{Items: 2}, ""},
		"what is in a text":   {`["[[[,,,\"[[[,,,"]`, measure.Bounds{Depth: 1, Values: 2, Items: 1}, ""},
		"deeper than counted": {strings.Repeat("[", 1000) + strings.Repeat("]", 1000), measure.Bounds{Items: 1}, ""},
		"a name":              {`{"abcd":"abcdef"}`, measure.Bounds{Name: 4}, ""},
		"a long name":         {`{"abcd":"","abcde" :1}`, measure.Bounds{Name: 4}, "a name of more than 4 bytes"},
		"wide, far down":      {strings.Repeat("[", 100) + "1,2,3", measure.Bounds{Items: 2}, "more than 2 items"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := measure.CountValues([]byte(tc.text), tc.most); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it is %v", err)
			}
		})
	}
}

func TestOfAllocatesNothing(t *testing.T) {
	raw := []byte("[" + strings.Repeat(`{"a":[1,"x"]},`, 1000) + "{}]")
	if n := testing.AllocsPerRun(10, func() {
		_, _ = measure.CountValues(raw, measure.Bounds{Depth: 16, Values: 1 << 20, Items: 1 << 20}) //nolint:errcheck // the benchmark ignores syntax errors
		measure.CountItems(raw)
	}); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}
