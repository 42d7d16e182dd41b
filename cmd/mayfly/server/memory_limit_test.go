package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTakeMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"memory=1GiB": 1 << 30, "memory = 64MiB": 64 << 20, "memory=none": memoryUnlimited, "memory=0": memoryUnlimited, "entities=7": 0,
	} {
		rest, got, err := splitMemoryLimit([]string{"receives=1", text, "without=topics", "sessions"})
		if err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", text, got, err, want)
		}
		others := []string{"receives=1", "without=topics,sessions"}
		if want == 0 {
			others = []string{"receives=1", text, "without=topics,sessions"}
		}
		if !cmp.Equal(rest, others) {
			t.Errorf("%s leaves %q", text, rest)
		}
	}
	for _, text := range []string{"memory=", "memory=much", "memory=-1", "memory=1KiB"} {
		if _, _, err := splitMemoryLimit([]string{text}); err == nil || !strings.HasPrefix(err.Error(), "--limit memory=") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMemoryByDefault checks that the memory limit is memoryShare of the available memory unless
// --limit memory sets another one or none.
func TestMemoryByDefault(t *testing.T) {
	all, err := availableMemory()
	if err != nil {
		t.Skip(err)
	}
	c := Config{}
	if err := c.complete(); err != nil {
		t.Fatal(err)
	}
	if got := c.newMemory().Limit(); got != int64(float64(all)*memoryShare) {
		t.Errorf("the limit is %d of %d bytes", got, all)
	}
	for given, want := range map[int64]int64{memoryUnlimited: 0, 5 << 20: 5 << 20} {
		if c.Memory = given; c.newMemory().Limit() != want {
			t.Errorf("%d becomes %d", given, c.newMemory().Limit())
		}
	}
}
