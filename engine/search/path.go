package search

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// A member is one step of a path into JSON.
type member struct {
	list  bool   // an element of a list, rather than a member of an object
	every bool   // any name or index
	name  string // the name of a member
	index int    // the index of an element
}

const maxMembers = 32

// parsePath parses a path such as a.b[0][*]."c.d". s is the part of text that begins at byte `at`,
// for positions in errors.
func parsePath(text, s string, at int) (path []member, err error) {
	for begin := at; s != ""; {
		if len(path) == maxMembers {
			return nil, errorAt(text, at, "A path can have at most %d parts.", maxMembers)
		}
		m, n, why := parseMember(s)
		if why != "" {
			return nil, errorAt(text, at, "%s", why)
		}
		path, s, at = append(path, m), s[n:], at+n
		if strings.HasPrefix(s, ".") {
			if s, at = s[1:], at+1; s == "" || s[0] == '[' {
				return nil, errorAt(text, begin, "Write a path as json.customer.orders[0].id.")
			}
		} else if s != "" && s[0] != '[' {
			return nil, errorAt(text, at, "Separate the names of a path by a period.")
		}
	}
	return path, nil
}

// parseMember parses the first member of s, and returns its length n in bytes.
func parseMember(s string) (m member, n int, why string) {
	switch s[0] {
	case '[':
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return m, 0, "A bracket is not closed."
		}
		m.list = true
		if s[1:end] == "*" {
			m.every = true
			return m, end + 1, ""
		}
		i, err := strconv.ParseUint(s[1:end], 10, 31)
		if err != nil {
			return m, 0, "Write the number of an element, from 0, between the brackets, or * for any element."
		}
		m.index = int(i)
		return m, end + 1, ""
	case '"':
		name, n, ok := unquote(s)
		if !ok {
			return m, 0, "A quote is not closed."
		}
		m.name = name
		return m, n, ""
	}
	end := strings.IndexAny(s, `.["`)
	switch {
	case end == 0:
		return m, 0, "A name is missing. Write \"\" for the empty name."
	case end < 0:
		end = len(s)
	}
	if m.name = s[:end]; m.name == "*" {
		return member{every: true}, end, ""
	}
	return m, end, ""
}

// pathText returns a path in the form that parsePath parses.
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

// anyValue calls `each` with every value at path in doc until `each` returns true, and reports
// whether it did. doc must be valid JSON.
func anyValue(doc []byte, path []member, each func(raw []byte) bool) bool {
	doc = bytes.TrimLeft(doc, " \t\r\n")
	if len(path) == 0 {
		return each(doc[:valueEnd(doc)])
	}
	m := path[0]
	switch {
	case m.list && doc[0] == '[':
		i := 0
		return eachMember(doc, func(_, value []byte) bool {
			i++
			return (m.every || i-1 == m.index) && anyValue(value, path[1:], each)
		})
	case !m.list && doc[0] == '{':
		return eachMember(doc, func(name, value []byte) bool {
			return (m.every || jsonString(name) == m.name) && anyValue(value, path[1:], each)
		})
	default:
		return false
	}
}

// eachMember calls `each` with every member of an object or element of a list until `each` returns
// true, and reports whether it did. doc must be valid JSON. name is a JSON string, or nil for a
// list.
func eachMember(doc []byte, each func(name, value []byte) bool) bool {
	object := doc[0] == '{'
	for s := trimBlank(doc[1:]); s[0] != '}' && s[0] != ']'; {
		var name []byte
		if object {
			n := valueEnd(s)
			name = s[:n]
			s = trimBlank(trimBlank(s[n:])[1:]) // the colon
		}
		n := valueEnd(s)
		if each(name, s[:n]) {
			return true
		}
		if s = trimBlank(s[n:]); s[0] == ',' {
			s = trimBlank(s[1:])
		}
	}
	return false
}

func trimBlank(s []byte) []byte { return bytes.TrimLeft(s, " \t\r\n") }

// valueEnd returns the length of the JSON value at the beginning of s, which must be valid.
func valueEnd(s []byte) int {
	switch s[0] {
	case '"':
		return 1 + quoteEnd(s[1:])
	case '{', '[':
		depth := 0
		for i := 0; ; {
			switch s[i] {
			case '"':
				i += 1 + quoteEnd(s[i+1:])
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

// quoteEnd returns the length of the rest of a JSON string after its opening quote, including the
// closing quote.
func quoteEnd(s []byte) int {
	for i := 0; ; i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// jsonString returns the text of a valid JSON string.
func jsonString(raw []byte) string {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
