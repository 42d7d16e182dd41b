package component

import (
	"strings"
	"testing"
	"time"

	"mayfly/views/locale"
)

func TestTimesAreShort(t *testing.T) {
	for name, tc := range map[string]struct{ got, want string }{
		"seconds":                {Span(t.Context(), 48*time.Second), "48s"},
		"minutes":                {Span(t.Context(), 252*time.Second), "4m 12s"},
		"a whole minute":         {Span(t.Context(), time.Minute), "1m 00s"},
		"hours":                  {Span(t.Context(), 2*time.Hour+5*time.Minute+9*time.Second), "2h 05m"},
		"days":                   {Span(t.Context(), 76*time.Hour), "3d 4h"},
		"chosen minutes":         {Length(t.Context(), 5*time.Minute), "5m"},
		"chosen hours":           {Length(t.Context(), 90*time.Minute), "1h 30m"},
		"chosen odd minutes":     {Length(t.Context(), 65*time.Minute), "1h 05m"},
		"chosen days":            {Length(t.Context(), 14*24*time.Hour), "14d"},
		"chosen parts of one":    {Length(t.Context(), 1500*time.Millisecond), "1.5s"},
		"chosen thousandths":     {Length(t.Context(), 250*time.Millisecond), "250ms"},
		"in words":               {LongSpan(t.Context(), 61*time.Second), "1 minute 1 second"},
		"in words, hours":        {LongSpan(t.Context(), 2*time.Hour+time.Second), "2 hours"},
		"in words, none":         {LongSpan(t.Context(), 0), "0 seconds"},
		"a few bytes":            {Bytes(t.Context(), 640), "640 B"},
		"kilobytes":              {Bytes(t.Context(), 1434), "1.4 KB"},
		"megabytes":              {Bytes(t.Context(), 12<<20), "12 MB"},
		"a count":                {ShortCount(t.Context(), 12_400), "12,400"},
		"a large count":          {ShortCount(t.Context(), 184_201), "184k"},
		"a very large count":     {ShortCount(t.Context(), 2_345_678), "2.3M"},
		"a round number of them": {ShortCount(t.Context(), 2_000_000), "2M"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", name, tc.got, tc.want)
		}
	}
}

// TestTimesHaveTheUnitsOfTheLanguage checks that Span, for running times, and Length, for fixed
// durations, use the units and the decimal sign of each language.
func TestTimesHaveTheUnitsOfTheLanguage(t *testing.T) {
	for tag, want := range map[string][4]string{
		"en":    {"45s", "4m 04s", "1h 30m", "1.5s"},
		"cs":    {"45 s", "4 min 04 s", "1 h 30 min", "1,5 s"},
		"pt-PT": {"45 s", "4 min 04 s", "1 h 30 min", "1,5 s"},
		"pt-BR": {"45 s", "4 min 04 s", "1 h 30 min", "1,5 s"},
		"zh-CN": {"45 秒", "4 分钟 04 秒", "1 小时 30 分钟", "1.5 秒"},
	} {
		ctx := locale.With(t.Context(), tag)
		if Span(ctx, 45*time.Second) != Length(ctx, 45*time.Second) {
			t.Errorf("%s: 45 s is %q running and %q standing", tag, Span(ctx, 45*time.Second), Length(ctx, 45*time.Second))
		}
		for i, got := range []string{Length(ctx, 45*time.Second), Span(ctx, 244*time.Second), Length(ctx, 90*time.Minute), Length(ctx, 1500*time.Millisecond)} {
			if strings.ReplaceAll(got, "\u00a0", " ") != want[i] {
				t.Errorf("%s: %q, want %q", tag, got, want[i])
			}
		}
	}
}

// TestNoticeTellsItsLanguage checks that ServerText in a notice, which is always English, is marked
// with lang="en" on pages in other languages.
func TestNoticeTellsItsLanguage(t *testing.T) {
	t.Parallel()
	for lang, want := range map[string]string{
		"en": `<strong>Refused.</strong>`, "cs": `<strong lang="en">Refused.</strong>`,
	} {
		var b strings.Builder
		if err := NoticeBox(Notice{Tone: Critical, ServerText: "Refused."}).Render(locale.With(t.Context(), lang), &b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("in %s: %s", lang, b.String())
		}
		b.Reset()
		if err := NoticeBox(Notice{Title: "Nevrátilo se", Detail: "Nic.", ServerText: "It is gone."}).Render(locale.With(t.Context(), lang), &b); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); strings.Contains(text, `<p lang="en">It is gone.</p>`) != (lang != "en") || !strings.Contains(text, `<strong>Nevrátilo se</strong> <p>Nic.</p>`) {
			t.Errorf("in %s: %s", lang, text)
		}
	}
}
