package show

import (
	"testing"

	"mayfly/engine"
)

// Each profile is named by the tier that it stands for, and by what it does
// without (§1.5).
func TestOverviewSaysWhoseLimitsThereAre(t *testing.T) {
	const of = "Limits and defaults are those of Service Bus' "
	for profile, want := range map[string]string{
		"standard": of + "Standard tier.", "premium": of + "Premium tier.", "emulator": of + "emulator.",
		"basic": of + "Basic tier. Left out: topics, sessions, duplicate detection, transactions, auto forward, auto delete on idle.",
	} {
		l, err := engine.Profile(profile)
		if err != nil {
			t.Fatal(err)
		}
		if got := tier(t.Context(), l); got != want {
			t.Errorf("%s: %q", profile, got)
		}
	}
}
