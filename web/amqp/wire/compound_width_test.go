package wire_test

import (
	"encoding/binary"
	"runtime"
	"testing"

	"mayfly/web/amqp/wire"
)

// Compounds of more than MaxElements are refused before memory is allocated for them.
func TestCompoundsAreBounded(t *testing.T) {
	const n = 1 << 20
	compound := func(code byte, count int, inside ...byte) []byte {
		b := append([]byte{code}, make([]byte, 8)...)
		binary.BigEndian.PutUint32(b[1:], uint32(4+len(inside)))
		binary.BigEndian.PutUint32(b[5:], uint32(count))
		return append(b, inside...)
	}
	nulls := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = 0x40
		}
		return b
	}
	keys := make([]byte, 0, 3*n)
	for range n {
		keys = append(keys, 0xa1, 0, 0x40)
	}
	for name, tc := range map[string]struct {
		b    []byte
		read func([]byte) error
	}{
		"a list":   {compound(0xd0, n, nulls(n)...), func(b []byte) error { _, err := wire.ParseList(b); return err }},
		"an array": {compound(0xf0, n, append([]byte{0x50}, nulls(n)...)...), func(b []byte) error { _, err := wire.ParseArray(b); return err }},
		"a map":    {compound(0xd1, 2*n, keys...), func(b []byte) error { _, err := wire.ParseMap(b); return err }},
		"a claim":  {compound(0xd0, 1<<31-1, nulls(100)...), func(b []byte) error { _, err := wire.ParseList(b); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := tc.read(tc.b)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; err == nil || n > 1<<20 {
				t.Errorf("it allocates %d bytes: %v", n, err)
			}
		})
	}
	if all, err := wire.ParseList(compound(0xd0, wire.MaxElements, nulls(wire.MaxElements)...)); err != nil || len(all) != wire.MaxElements {
		t.Errorf("%d elements: %v", len(all), err)
	}
}
