package server

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "64KiB": 64 << 10, "64k": 64 << 10, "256 MiB": 256 << 20, "1.5gb": 3 << 29, "2TiB": 2 << 40, "7B": 7,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s: got %d %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "much", "-1", "1e9", "5XB", "5KM", "KiB", "99999999TiB", "0x10", "1_000", "Inf", "NaN", "1 2"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
