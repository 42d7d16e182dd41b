package longtest

import (
	"fmt"
	"testing"
)

// A spy is a test that records how it ends, and continues.
type spy struct {
	testing.TB

	skipped, failed string
}

func (s *spy) Helper() {}

func (s *spy) Skipf(format string, args ...any) { s.skipped = fmt.Sprintf(format, args...) }

func (s *spy) Fatalf(format string, args ...any) { s.failed = fmt.Sprintf(format, args...) }

func TestOnly(t *testing.T) {
	const left = "storms: left out; MAYFLY_LONG=1 runs it"
	for value, want := range map[string]spy{
		"":     {skipped: left},
		"0":    {skipped: left},
		"1":    {},
		"true": {},
		"yes":  {failed: `MAYFLY_LONG="yes" is neither 1 nor 0`, skipped: left},
	} {
		t.Setenv(variable, value)
		if whole := value == "1" || value == "true"; value != "yes" && (Reduced(t, 9, 2) == 9) != whole {
			t.Errorf("MAYFLY_LONG=%q: the size is %d", value, Reduced(t, 9, 2))
		}
		var got spy
		if Require(&got, "storms"); got != want {
			t.Errorf("MAYFLY_LONG=%q: skipped %q, failed %q; want %q, %q", value, got.skipped, got.failed, want.skipped, want.failed)
		}
	}
}
