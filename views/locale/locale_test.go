package locale

import "testing"

func TestTextsAreFilledAndCounted(t *testing.T) {
	ctx := t.Context()
	for name, tc := range map[string]struct{ got, want string }{
		"plain":               {T(ctx, "time.never"), "never"},
		"filled":              {T(ctx, "time.ago", Args{"Span": "12s"}), "12s ago"},
		"one":                 {N(ctx, "unit.minute", 1), "1 minute"},
		"many":                {N(ctx, "unit.minute", 12), "12 minutes"},
		"none":                {N(ctx, "unit.minute", 0), "0 minutes"},
		"an id nobody has":    {T(ctx, "no.such"), "no.such"},
		"thousands":           {Number(ctx, 1284), "1,284"},
		"a list of one":       {List(ctx, "a"), "a"},
		"a list of three":     {List(ctx, "a", "b", "c"), "a, b and c"},
		"an unknown language": {T(With(ctx, "tlh, *;q=0.1"), "time.never"), "never"},
		"a header not one":    {T(With(ctx, ";;;"), "time.never"), "never"},
		"the language":        {Lang(With(ctx, "en-GB")), "en"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", name, tc.got, tc.want)
		}
	}
}
