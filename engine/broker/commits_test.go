package broker

import (
	"testing"
	"time"
)

// TestDurationsAreCountedByTheirBounds adds a duration equal to a bound, one just above it and
// one above all bounds.
func TestDurationsAreCountedByTheirBounds(t *testing.T) {
	var b Broker
	bounds := CommitBounds()
	if len(b.commitTimes.buckets) != len(bounds)+1 {
		t.Fatalf("there are %d counters for %d bounds", len(b.commitTimes.buckets), len(bounds))
	}
	for _, took := range []time.Duration{time.Millisecond, time.Millisecond + 1, time.Hour} {
		b.commitTimes.add(took)
	}
	got := b.Commits()
	for i, bound := range bounds {
		want := uint64(0)
		if bound >= time.Millisecond {
			want++
		}
		if bound > time.Millisecond {
			want++
		}
		if got.Within[i] != want {
			t.Errorf("%d took no longer than %v, want %d", got.Within[i], bound, want)
		}
	}
	if all := got.Within[len(bounds)]; all != 3 || got.Total != time.Hour+2*time.Millisecond+1 {
		t.Errorf("%d took %v together", all, got.Total)
	}
}
