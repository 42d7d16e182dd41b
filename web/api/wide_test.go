package api

import (
	"runtime"
	"strings"
	"testing"
)

// TestMessagesAreCounted: a list of too many messages is counted, not decoded.
func TestMessagesAreCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		text, want string
		most       uint64 // bytes
	}{
		"too many":       {"[" + strings.Repeat("{},", 516_665) + "{}]", "The request has 516666 messages; at most 5000 are allowed.", 64 << 10},
		"one too many":   {" [" + strings.Repeat("{},", 5000) + "{}]", "The request has 5001 messages; at most 5000 are allowed.", 64 << 10},
		"as many as may": {"[" + strings.Repeat(`{"body":"[,"},`, 4999) + "{}]", "", 24 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(tc.text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := parseMessages(raw)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > tc.most {
				t.Errorf("it allocates %d bytes; want at most %d", n, tc.most)
			}
			if (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
				t.Errorf("got %v", err)
			}
		})
	}
}
