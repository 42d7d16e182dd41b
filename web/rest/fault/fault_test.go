package fault_test

import (
	"testing"

	"mayfly/web/rest/fault"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"a <b> & 'c' \"d\" ü 𝄞":    "a &lt;b&gt; &amp; 'c' \"d\" ü 𝄞",
		"\t\r\n":                   "\t&#xD;\n",
		"\x00\x1f\xff\uFFFE\uFFFD": "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD",
	} {
		if got := fault.Escape(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
