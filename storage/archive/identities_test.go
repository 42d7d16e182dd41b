package archive

import (
	"maps"
	"strings"
	"testing"
)

// TestIdentities checks that identities of several epochs are mapped to identities of one epoch in
// the same order, that new identities are higher, and that unknown ones are reported.
func TestIdentities(t *testing.T) {
	const epoch = 1 << counterBits
	var i identities
	given := []uint64{0, 5*epoch + 7, 2*epoch + 1<<39, 2*epoch + 1<<39 + 3, 5*epoch + 9, 9 * epoch, 1<<63 + 3}
	for _, id := range append(given, given...) {
		i.add(id)
	}
	for range 2 { // a second restore from the same check
		if err := i.assign(3); err != nil {
			t.Fatal(err)
		}
		got := map[uint64]uint64{}
		for _, id := range given {
			got[id] = i.mapped(id)
		}
		want := map[uint64]uint64{0: 0, 2*epoch + 1<<39: 3*epoch + 1, 2*epoch + 1<<39 + 3: 3*epoch + 4, 5*epoch + 7: 3*epoch + 5, 5*epoch + 9: 3*epoch + 7,
			9 * epoch: 3*epoch + 8, 1<<63 + 3: 3*epoch + 9}
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if a, b := i.newID(), i.newID(); a != 3*epoch+10 || b != a+1 {
			t.Errorf("fresh are %d and %d", a, b)
		}
		if i.unknown {
			t.Error("a known identity was reported as unknown")
		}
	}
	for _, id := range []uint64{2*epoch + 5, 5*epoch + 6, 5*epoch + 10, 77 * epoch} {
		if i.unknown = false; i.mapped(id) != 0 || !i.unknown {
			t.Errorf("%d was never met", id)
		}
	}
	i.add(8 * epoch)
	i.add(8*epoch + epoch - 1)
	if err := i.assign(3); err == nil || !strings.Contains(err.Error(), "too wide a range") {
		t.Errorf("%v", err)
	}
}
