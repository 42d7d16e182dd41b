package engine

import (
	"strconv"
	"strings"
)

// entityProperty takes a path of this namespace, or an absolute URI whose path it
// is, which is kept beside it; a text that is the path there is changes neither.
func entityProperty(name string, kinds []EntityKind, fields func(*Config) (path, address *string)) Property {
	p := Property{Name: name, Type: EntityProperty, Kinds: kinds}
	p.set = func(c *Config, l Limits, _ EntityKind, text string) error {
		at, address := fields(c)
		path, uri := text, ""
		if _, rest, ok := strings.Cut(text, "://"); ok {
			uri = text
			_, path, _ = strings.Cut(rest, "/")
			path = unescaped(path)
		}
		switch {
		case text == *at && text != "":
			return nil
		case text != "":
			if err := CheckName(Queue, path, l); err != nil {
				return p.refuse(text, ErrArgument, "The value for '%s' is not the path of a queue or topic: %v", name, err)
			}
			if len(uri) > longestAddress {
				return p.refuse(text, ErrArgument, "The value for '%s' has %d bytes; an address has at most %d.", name, len(uri), longestAddress)
			}
		}
		*at, *address = path, uri
		return nil
	}
	p.text = func(c Config) string { path, _ := fields(&c); return *path }
	return p
}

// unescaped is the path of a URI with its escapes, such as %2F, undone. What is no
// escape stays: no name has a percent sign.
func unescaped(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "%")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if len(after) < 2 {
			return b.String() + "%" + after
		}
		c, err := strconv.ParseUint(after[:2], 16, 8)
		if err != nil {
			b.WriteString("%" + after[:2])
		} else {
			b.WriteByte(byte(c))
		}
		s = after[2:]
	}
}

// longestAddress is how many bytes an absolute URI of a destination may have.
const longestAddress = 2048
