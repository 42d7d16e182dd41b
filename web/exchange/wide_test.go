package exchange_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/web/exchange"
)

// spent returns how many bytes f allocates, garbage included.
func spent(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// members returns n JSON members with different names.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%x":1,`, i)
	}
	return b.String() + `"z":1`
}

// TestDecodeIsBounded checks that JSON with too many items or values is refused before it is
// decoded, so that it takes little memory.
func TestDecodeIsBounded(t *testing.T) {
	const size = 8 << 20
	type rule struct{ Name, Kind, Filter, Action string }
	for name, tc := range map[string]struct {
		text string
		into any
		want string // part of the error
		most uint64 // bytes
	}{
		"a wide list":         {"[" + strings.Repeat("{},", size/3) + "{}]", new([]exchange.Outgoing), "more than 16384 items", 1 << 20},
		"many lists":          {"[" + strings.Repeat("[1,1,1,1,1,1],", size/14) + "[]]", new([][]int), "more than", 1 << 20},
		"wide properties":     {`{"properties":{` + members(200_000) + `}}`, new(exchange.Outgoing), "more than 16384 items", 1 << 20},
		"properties of many":  {"[" + strings.Repeat(`{"properties":{`+members(999)+`}},`, 200) + "{}]", new([]exchange.Outgoing), "more than 131072 values", 1 << 20},
		"rules":               {`{"rules":[` + strings.Repeat(`{},`, 340_000) + `{}]}`, new(struct{ Rules []rule }), "more than 16384 items", 1 << 20},
		"a line of an export": {`{"properties":{` + members(200_000) + `}}`, new(exchange.Exported), "more than 16384 items", 1 << 20},
		"deep":                {strings.Repeat(`{"properties":`, size/14), new(exchange.Outgoing), "nested more than 16 deep", 1 << 20},
		"deep lists":          {strings.Repeat(`[`, size), new([]exchange.Outgoing), "nested more than 16 deep", 1 << 20},
		"members not known":   {`{"` + strings.Repeat("x", size) + `":1}`, new(exchange.Outgoing), "a name of more than 65536 bytes", 1 << 20},
		"a member not known":  {`{"` + strings.Repeat("x", 60<<10) + `":1}`, new(exchange.Outgoing), "Unknown field", 4 << 20},
		"long":                {`{"body":"` + strings.Repeat("x", size) + `"}`, new(exchange.Outgoing), "", 64 << 20},
		"as much as it takes": {"[" + strings.Repeat(`{"properties":{`+members(99)+`}},`, 1200) + "{}]", new([]exchange.Outgoing), "", 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(tc.text)
			var err error
			if n := spent(func() { err = exchange.Decode(raw, tc.into) }); n > tc.most {
				t.Errorf("it allocates %d bytes; want at most %d", n, tc.most)
			}
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || !errors.Is(err, engine.ErrArgument) || len(err.Error()) > 300) {
				t.Errorf("got %v", err)
			}
		})
	}
}
