package topology

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A file with too many values is refused before a tree is built, and a file with many problems
// has a short error.
func TestReadIsBounded(t *testing.T) {
	var rules strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&rules, `{"Name":"r%d","Properties":{}},`, i)
	}
	within := func(queues string) string {
		return `{"UserConfig":{"Namespaces":[{"Name":"n1","Queues":[` + queues + `]}]}}`
	}
	for name, tc := range map[string]struct{ text, want string }{
		"wide lists":    {within(strings.Repeat("[],", 349_000) + "[]"), "more than 196608 values"},
		"wide numbers":  {within(strings.Repeat("0,", 520_000) + "0"), "more than 196608 values"},
		"wrong objects": {within(strings.Repeat("{},", 60_000) + "{}"), " more"},
		"wide members":  {`{` + strings.Repeat(`"":0,`, 200_000) + `"":0}`, "more than 196608 values"},
		"many rules":    {within(`{"Name":"q","Properties":[],"Rules":[` + rules.String() + `{}]}`), "Properties"},
		"deep":          {strings.Repeat("[", maxFileBytes), "more than 196608 values"},
		"comments":      {strings.Repeat("/**/", maxFileBytes/4), "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(strings.NewReader(tc.text), Options{})
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 80<<20 {
				t.Errorf("it takes %d bytes", n)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 20<<10 {
				t.Errorf("the error is %.300v", err)
			}
		})
	}
}
