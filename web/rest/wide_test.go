package rest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A batch with too many messages or values is refused before it is decoded.
func TestBatchIsBounded(t *testing.T) {
	const size = 2500 << 10
	var members strings.Builder
	for i := range size / 8 {
		fmt.Fprintf(&members, `"%x":1,`, i)
	}
	for name, tc := range map[string]struct {
		text, want string
		most       uint64 // bytes
	}{
		"wide":             {"[" + strings.Repeat("{},", size/3) + "{}]", "more than the 5000 messages", 1 << 20},
		"user's":           {`[{"UserProperties":{` + members.String() + `"z":1}}]`, "more than 16384 items", 1 << 20},
		"broker's":         {`[{"BrokerProperties":{` + members.String() + `"z":1}}]`, "more than 16384 items", 1 << 20},
		"deep":             {`[{"UserProperties":` + strings.Repeat(`{"a":`, size/5), "nested more than 16 deep", 1 << 20},
		"a long body":      {`[{"Body":"` + strings.Repeat("x", size) + `"}]`, "", 24 << 20},
		"as many as it is": {"[" + strings.Repeat("{},", 4999) + "{}]", "", 24 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(tc.text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := parseBatch(raw)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > tc.most {
				t.Errorf("it allocates %d bytes; want at most %d", n, tc.most)
			}
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || len(err.Error()) > 300) {
				t.Errorf("got %v", err)
			}
		})
	}
}
