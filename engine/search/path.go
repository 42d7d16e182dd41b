package search

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// A member is one step of a path into JSON.
type member struct {
	list  bool   // an element of a list, not a member of an object
	every bool   // whatever its name or index
	name  string // of a member of an object
	index int    // of an element of a list
}

const mostMembers = 32

// parsePath reads a.b[0][*]."c.d" of a term, which stands at byte at of text.
func parsePath(text, s string, at int) (path []member, err error) {
	for begin := at; s != ""; {
		if len(path) == mostMembers {
			return nil, wrong(text, at, "A path has at most %d parts.", mostMembers)
		}
		m, n, why := parseMember(s)
		if why != "" {
			return nil, wrong(text, at, "%s", why)
		}
		path, s, at = append(path, m), s[n:], at+n
		if strings.HasPrefix(s, ".") {
			if s, at = s[1:], at+1; s == "" || s[0] == '[' {
				return nil, wrong(text, begin, "A path is written json.customer.orders[0].id.")
			}
		} else if s != "" && s[0] != '[' {
			return nil, wrong(text, at, "Between two names of a path stands a point.")
		}
	}
	return path, nil
}

// parseMember reads the first member of s and how many bytes it has.
func parseMember(s string) (m member, n int, why string) {
	switch s[0] {
	case '[':
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return m, 0, "A bracket is opened and not closed."
		}
		m.list = true
		if s[1:end] == "*" {
			m.every = true
			return m, end + 1, ""
		}
		i, err := strconv.ParseUint(s[1:end], 10, 31)
		if err != nil {
			return m, 0, "Between the brackets stands the number of an element, from 0, or * for any."
		}
		m.index = int(i)
		return m, end + 1, ""
	case '"':
		name, n, ok := unquote(s)
		if !ok {
			return m, 0, "A quote is opened and not closed."
		}
		m.name = name
		return m, n, ""
	}
	end := strings.IndexAny(s, `.["`)
	switch {
	case end == 0:
		return m, 0, "A name is missing; write \"\" for the empty one."
	case end < 0:
		end = len(s)
	}
	if m.name = s[:end]; m.name == "*" {
		return member{every: true}, end, ""
	}
	return m, end, ""
}

// pathText writes a path so that it reads back as it is.
func pathText(path []member) string {
	var b strings.Builder
	for i, m := range path {
		switch {
		case m.list && m.every:
			b.WriteString("[*]")
			continue
		case m.list:
			b.WriteString("[" + strconv.Itoa(m.index) + "]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		switch {
		case m.every:
			b.WriteByte('*')
		case m.name == "" || m.name == "*" || strings.ContainsAny(m.name, ".[]:\"\\ \t\r\n") || !plainWord(m.name):
			b.WriteString(quote(m.name))
		default:
			b.WriteString(m.name)
		}
	}
	return b.String()
}

// found gives each what stands at path in doc, which is valid JSON, until each
// returns true, and tells whether it did.
func found(doc []byte, path []member, each func(raw []byte) bool) bool {
	doc = bytes.TrimLeft(doc, " \t\r\n")
	if len(path) == 0 {
		return each(doc[:skip(doc)])
	}
	m := path[0]
	switch {
	case m.list && doc[0] == '[':
		i := 0
		return parts(doc, func(_, value []byte) bool {
			i++
			return (m.every || i-1 == m.index) && found(value, path[1:], each)
		})
	case !m.list && doc[0] == '{':
		return parts(doc, func(name, value []byte) bool {
			return (m.every || unquoted(name) == m.name) && found(value, path[1:], each)
		})
	default:
		return false
	}
}

// parts gives each the members of an object, or the elements of a list, until
// each returns true. A value ends where it ends: what follows it is there too.
func parts(doc []byte, each func(name, value []byte) bool) bool {
	object := doc[0] == '{'
	for s := blank(doc[1:]); s[0] != '}' && s[0] != ']'; {
		var name []byte
		if object {
			n := skip(s)
			name = s[:n]
			s = blank(blank(s[n:])[1:]) // the colon
		}
		n := skip(s)
		if each(name, s[:n]) {
			return true
		}
		if s = blank(s[n:]); s[0] == ',' {
			s = blank(s[1:])
		}
	}
	return false
}

func blank(s []byte) []byte { return bytes.TrimLeft(s, " \t\r\n") }

// skip is the length of the value that s, the rest of valid JSON, begins with.
func skip(s []byte) int {
	switch s[0] {
	case '"':
		return 1 + closing(s[1:])
	case '{', '[':
		depth := 0
		for i := 0; ; {
			switch s[i] {
			case '"':
				i += 1 + closing(s[i+1:])
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	default:
		if n := bytes.IndexAny(s, ",]} \t\r\n"); n >= 0 {
			return n
		}
		return len(s)
	}
}

// closing is the length of a text after its opening quote, with the closing one.
func closing(s []byte) int {
	for i := 0; ; i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// unquoted is what a text of valid JSON says.
func unquoted(raw []byte) string {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
