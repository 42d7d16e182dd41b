package locale

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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

// TestLanguageIsTheOneAskedFor checks which language an Accept-Language header selects, and that a
// language that the user has chosen has precedence.
func TestLanguageIsTheOneAskedFor(t *testing.T) {
	for header, want := range map[string]string{
		"":                           "en",
		"en-GB,en;q=0.9,pt;q=0.5":    "en",
		"pt":                         "pt-BR",
		"pt-BR,pt;q=0.9,en;q=0.8":    "pt-BR",
		"pt-PT,pt;q=0.9,en;q=0.8":    "pt-PT",
		"pt-AO,pt;q=0.9":             "pt-PT",
		"pt-MZ":                      "pt-PT",
		"cs-CZ,cs;q=0.9,en;q=0.8":    "cs",
		"sk,en;q=0.5":                "en",
		"zh":                         "zh-CN",
		"zh-Hans-SG":                 "zh-CN",
		"zh-TW,zh;q=0.9,en;q=0.8":    "zh-CN",
		"zh-TW":                      "zh-CN",
		"zh-HK,en;q=0.8":             "en",
		"de-DE,de;q=0.9":             "en",
		"de, cs;q=0.4":               "cs",
		"fr;q=0.9, pt-PT;q=0, en":    "en",
		"*":                          "en",
		strings.Repeat("pt-PT,", 99): "pt-PT",
	} {
		if got := Lang(With(t.Context(), header)); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
	for cookie, want := range map[string]string{"cs": "cs", "pt-PT": "pt-PT", "tlh": "pt-BR", "": "pt-BR", "pt-pt": "pt-BR"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Accept-Language", "pt-BR")
		r.AddCookie(&http.Cookie{Name: Cookie, Value: cookie})
		if got := Lang(With(t.Context(), Requested(r))); got != want {
			t.Errorf("cookie %q: got %s, want %s", cookie, got, want)
		}
	}
}

func TestNumbersAreWrittenAsTheLanguageDoes(t *testing.T) {
	for tag, want := range map[string][2]string{
		"en": {"1,284,000", "12,345.7"}, "pt-PT": {"1 284 000", "12 345,7"}, "pt-BR": {"1.284.000", "12.345,7"},
		"cs": {"1 284 000", "12 345,7"}, "zh-CN": {"1,284,000", "12,345.7"},
	} {
		ctx := With(t.Context(), tag)
		spaces := strings.NewReplacer("\u00a0", " ", "\u202f", " ")
		if got := [2]string{spaces.Replace(Number(ctx, 1284000)), spaces.Replace(Decimal(ctx, 12345.67, 1))}; got != want {
			t.Errorf("%s: got %q, want %q", tag, got, want)
		}
	}
}
