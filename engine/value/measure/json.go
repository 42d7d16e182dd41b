// Package measure counts the values in JSON before it is decoded, since one byte of JSON may
// become a hundred bytes of memory.
package measure

import "fmt"

// Bounds limit what JSON may contain. Zero values mean no bound.
type Bounds struct {
	Depth  int // depth of nested lists and objects, at most 64
	Values int // number of all values: strings, numbers, lists, members of objects and so on
	Items  int // number of items of any list or object
	Name   int // length in bytes of the name of a member, as it is written
}

// maxDepth is the depth up to which items are counted for each list and object.
const maxDepth = 64

// CountValues counts the values in raw without allocating. It does not check the syntax: in
// invalid JSON it counts at least the values that a decoder returns before it fails. The
// error is a text for the author of the JSON.
func CountValues(raw []byte, most Bounds) (values int, err error) {
	var items [maxDepth + 1]int // items of the open lists and objects, by depth
	depth, values, quoted := 0, 1, false
	text, length := 0, 0 // start of the latest text, and its length
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"' && quoted:
			quoted, length = false, i-text
		case c == '"':
			quoted, text = true, i+1
		case quoted:
		case c == ':' && most.Name > 0 && length > most.Name:
			return values, fmt.Errorf("the JSON has a name of more than %d bytes", most.Name)
		case c == '{' || c == '[':
			values++
			if depth++; most.Depth > 0 && depth > most.Depth {
				return values, fmt.Errorf("the JSON is nested more than %d deep", most.Depth)
			}
			items[min(depth, maxDepth)] = 1
		case (c == '}' || c == ']') && depth > 0:
			depth--
		case c == ',':
			values++
			at := min(depth, maxDepth)
			if items[at]++; most.Items > 0 && items[at] > most.Items {
				return values, fmt.Errorf("a list or an object of the JSON has more than %d items", most.Items)
			}
		default:
			continue
		}
		if most.Values > 0 && values > most.Values {
			return values, fmt.Errorf("the JSON has more than %d values", most.Values)
		}
	}
	return values, nil
}

// CountItems counts the items of the list in raw, which may be truncated. It returns zero if raw
// is an empty list or no list.
func CountItems(raw []byte) int {
	depth, quoted, some, commas := 0, false, false, 0
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if depth == 1 && c > ' ' && c != ']' {
			some = true
		}
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth == 0 && c != '[' {
				return 0
			}
			depth++
		case c == ']' || c == '}':
			if depth--; depth <= 0 {
				i = len(raw)
			}
		case c == ',' && depth == 1:
			commas++
		}
	}
	if !some {
		return 0
	}
	return commas + 1
}
