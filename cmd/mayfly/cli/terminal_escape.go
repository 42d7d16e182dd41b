package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"mayfly/views/component"
)

// An escapingWriter makes texts of messages safe for a terminal: it writes control characters and
// invisible characters, such as direction marks, as JSON escapes. It keeps sequences that begin
// with ESC [, because those are the program's own: texts of messages go through Printable first.
// It is not safe for concurrent use.
type escapingWriter struct {
	to             io.Writer
	incompleteRune []byte // the incomplete rune at the end of the last write
}

// Write writes all of b. If it fails, it returns 0, even if a part was written.
func (l *escapingWriter) Write(b []byte) (int, error) {
	text := append(l.incompleteRune, b...)
	l.incompleteRune = nil
	var out bytes.Buffer
	for len(text) > 0 {
		if !utf8.FullRune(text) || text[0] == '\x1b' && len(text) == 1 {
			l.incompleteRune = bytes.Clone(text)
			break
		}
		r, n := utf8.DecodeRune(text)
		switch own := r == '\x1b' && text[1] == '['; {
		case own, r == '\n', r == '\r', r == '\t', r == utf8.RuneError && n > 1:
			out.Write(text[:n])
		case r == utf8.RuneError:
			out.WriteRune(r)
		case component.IsInvisible(r):
			out.WriteString(jsonEscape(r))
		default:
			out.Write(text[:n])
		}
		text = text[n:]
	}
	if _, err := l.to.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}

// jsonEscape returns r as a JSON escape.
func jsonEscape(r rune) string {
	if r < ' ' || r == 0x7f {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return component.EscapeInvisibleJSON(string(r))
}

// escaped returns s with an escapingWriter for each output that is a terminal.
func (s Streams) escaped() Streams {
	if s.Terminal.Out {
		s.Out = &escapingWriter{to: s.Out}
	}
	if s.Terminal.Err {
		s.Err = &escapingWriter{to: s.Err}
	}
	return s
}

// escapeForTerminal returns a text, perhaps of several lines, with invisible and control characters
// replaced.
func escapeForTerminal(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && component.IsInvisible(r) {
			return '·'
		}
		return r
	}, text)
}
