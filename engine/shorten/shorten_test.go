package shorten_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mayfly/engine/shorten"
)

func TestTo(t *testing.T) {
	for _, tc := range []struct {
		text string
		n    int
		want string
	}{
		{"", 0, ""},
		{"a", 0, "…"},
		{"orders", 6, "orders"},
		{"orders", 5, "order…"},
		{"größe", 3, "gr…"}, // a letter of two bytes is not split
		{"größe", 4, "grö…"},
		{"größe", 6, "grö" + "ß…"},
		{"größe", 7, "größe"},
		{"€", 2, "…"},
		{"a\xffb", 3, "a\ufffdb"},
		{"\x80\x80\x80\x80", 2, "…"}, // only continuation bytes
	} {
		got := shorten.To(tc.text, tc.n)
		if got != tc.want {
			t.Errorf("%q to %d: %q, want %q", tc.text, tc.n, got, tc.want)
		}
	}
}

func FuzzTo(f *testing.F) {
	f.Add("größe", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 || n > 1000 {
			return
		}
		got := shorten.To(s, n)
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		if cut := strings.TrimSuffix(got, "…"); utf8.ValidString(s) && (len(cut) > max(n, len("…")) && len(s) > n || !strings.HasPrefix(s, cut)) {
			t.Errorf("%q to %d: %q", s, n, got)
		}
	})
}

func TestQuote(t *testing.T) {
	if got := shorten.Quote(strings.Repeat("x", 65)); got != strings.Repeat("x", 64)+"…" {
		t.Error(got)
	}
}
