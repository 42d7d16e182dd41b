package filter

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// The number of conditions is checked before they are parsed.
func TestCorrelationIsBounded(t *testing.T) {
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%x":1,`, i)
		}
		return `{"Properties":{` + b.String() + `"z":1}}`
	}
	for name, tc := range map[string]struct{ text, want string }{
		"wide":               {members(130_000), "more than 16384 values"},
		"as many as it is":   {members(16_000), ""},
		"deep":               {strings.Repeat(`{"Properties":`, 70_000), "nested more than 8 deep"},
		"a condition, typed": {`{"Properties":{"a":{"type":"int","value":"5"}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ParseCorrelation(tc.text)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 24<<20 {
				t.Errorf("it takes %d bytes", n)
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
