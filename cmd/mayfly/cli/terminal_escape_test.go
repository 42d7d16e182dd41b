package cli

import (
	"bytes"
	"fmt"
	"testing"
)

// TestLegible checks that control and invisible characters are escaped, in one write or in
// parts, and that the program's own sequences and readable text stay.
func TestLegible(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 漢 👍\tx\r\n": "plain é 漢 👍\tx\r\n", "\x1b[31mred\x1b[0m": "\x1b[31mred\x1b[0m", "a\u202eb\u2066c": `a\u202eb\u2066c`, "\x1b]52;c;aGk=\x07": `\u001b]52;c;aGk=\u0007`,
		"\u200b\u200d\ufeff": `\u200b\u200d\ufeff`, "\x9b31m": "\ufffd31m", "\u009b31m": `\u009b31m`, "\x00\x7f\x08": `\u0000\u007f\u0008`, "\ufffd": "\ufffd",
	} {
		var whole, parts bytes.Buffer
		l := &escapingWriter{to: &whole}
		fmt.Fprint(l, text) //nolint:errcheck // a buffer
		l = &escapingWriter{to: &parts}
		for _, b := range []byte(text) {
			if n, err := l.Write([]byte{b}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if whole.String() != want || parts.String() != want {
			t.Errorf("%q is written %q, and in parts %q; want %q", text, &whole, &parts, want)
		}
	}
}
