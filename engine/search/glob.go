package search

import (
	"bytes"
	"strings"
)

// A glob is a pattern in lower case. It consists of pieces with any text between them.
type glob struct {
	pieces []string // at least one
}

// newGlob parses a text in which * stands for any text, or takes it literally if literal is set.
func newGlob(text string, literal bool) glob {
	text = strings.ToLower(text)
	if literal {
		return glob{[]string{text}}
	}
	for strings.Contains(text, "**") {
		text = strings.ReplaceAll(text, "**", "*")
	}
	return glob{strings.Split(text, "*")}
}

// anything reports whether g consists of stars only.
func (g glob) anything() bool { return len(g.pieces) == 2 && g.pieces[0] == "" && g.pieces[1] == "" }

// nothing reports whether g is empty.
func (g glob) nothing() bool { return len(g.pieces) == 1 && g.pieces[0] == "" }

// whole reports whether s matches g from beginning to end, ignoring the case of s.
func (g glob) whole(s string) bool {
	s = strings.ToLower(s)
	last := len(g.pieces) - 1
	if last == 0 {
		return s == g.pieces[0]
	}
	s, ok := strings.CutPrefix(s, g.pieces[0])
	if !ok {
		return false
	}
	for _, p := range g.pieces[1:last] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, g.pieces[last])
}

// within reports whether g matches somewhere in s, which is in lower case.
func (g glob) within(s []byte) bool {
	for _, p := range g.pieces {
		i := bytes.Index(s, []byte(p))
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return true
}
