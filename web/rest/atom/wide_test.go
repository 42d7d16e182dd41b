package atom

import (
	"runtime"
	"strings"
	"testing"
)

// TestParseIsBounded checks that a document with too many elements and attributes, or too deep
// ones, is refused while it is being parsed.
func TestParseIsBounded(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"wide":                {"<a>" + strings.Repeat("<b/>", maxBytes/4-2), "more than 16384 elements"},
		"attributes":          {"<a" + strings.Repeat(` b=""`, maxBytes/5-2) + "/>", "more than 16384 elements and attributes"},
		"attributes of many":  {"<a>" + strings.Repeat(`<b c="" d="" e=""/>`, maxBytes/19), "more than 16384 elements and attributes"},
		"deep":                {strings.Repeat("<a>", maxBytes/3), "more than 24 deep"},
		"long":                {"<a>" + strings.Repeat("x", maxBytes) + "</a>", ""},
		"in pieces":           {"<a>" + strings.Repeat("x<!---->", maxBytes/8) + "</a>", ""},
		"a declared entity":   {`<!DOCTYPE a [<!ENTITY b "bbbbbbbb">]><a>&b;</a>`, "document type"},
		"an entity, unheard":  {`<a>&b;</a>`, "not XML"},
		"a name without end":  {"<" + strings.Repeat("a", maxBytes), "not XML"},
		"a text without end":  {"<a>" + strings.Repeat("x", maxBytes), "not XML"},
		"instructions":        {strings.Repeat("<?a?>", maxBytes/5), "needs a body"},
		"more than one":       {"<a/><b/>", "more than one element"},
		"comments, and a tag": {strings.Repeat("<!---->", maxBytes/7) + "<a/>", ""},
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(tc.text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := parse(raw)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
				t.Errorf("it allocates %d bytes", n)
			}
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || len(err.Error()) > 300) {
				t.Errorf("got %v", err)
			}
		})
	}
}
