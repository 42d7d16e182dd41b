package search

import (
	"strings"
	"testing"
)

func TestFolded(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"order 17 of 1,204.50 at 10:04": "order # of # at #",
		"c0ffee00-0000-4000-8000-00000000cafe is\n gone": "# is gone",
		"0xdeadBEEF, ccaa30b40a2586279a23, decade":       "#, #, decade",
	} {
		if got := NormalizeError(text); got != want {
			t.Errorf("%q folds to %q, want %q", text, got, want)
		}
		if again := NormalizeError(want); again != want {
			t.Errorf("%q folds to %q", want, again)
		}
	}
	long := strings.Repeat("é", 10_000)
	if got := NormalizeError(long); len(got) > maxErrorText || NormalizeError(long) != got || NormalizeError(got) != got {
		t.Errorf("a long error is normalized to %d bytes", len(got))
	}
}
