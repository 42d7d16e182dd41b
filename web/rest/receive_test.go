package rest

import "testing"

func TestContentType(t *testing.T) {
	for stored, want := range map[string]string{
		"":                          defaultContentType,
		"text/plain; charset=utf-8": "text/plain; charset=utf-8",
		"text/plain\r\nX-Evil: 1":   defaultContentType,
		"text/\x00plain":            defaultContentType,
		"text/\xffplain":            defaultContentType,
	} {
		if got := contentType(stored); got != want {
			t.Errorf("%q is %q, want %q", stored, got, want)
		}
	}
}
