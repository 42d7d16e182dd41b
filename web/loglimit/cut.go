package loglimit

import (
	"fmt"
	"log/slog"
	"unicode/utf8"
)

const (
	maxString = 200   // characters of a string
	maxOther  = 1_000 // characters of an error or another value written as text
)

// stackKey is the key of stack traces, which are the program's own and are not cut.
const stackKey = "stack"

// cut returns r with long values cut.
func cut(r slog.Record) slog.Record {
	long := utf8.RuneCountInString(r.Message) > maxString
	r.Attrs(func(a slog.Attr) bool {
		long = long || tooLong(a)
		return !long
	})
	if !long {
		return r
	}
	out := slog.NewRecord(r.Time, r.Level, shortened(r.Message, maxString), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(cutAttr(a))
		return true
	})
	return out
}

// tooLong reports whether a may have to be cut.
func tooLong(a slog.Attr) bool {
	switch a.Value.Kind() {
	case slog.KindString:
		return len(a.Value.String()) > maxString
	case slog.KindAny, slog.KindGroup, slog.KindLogValuer:
		return true
	default:
		return false
	}
}

// cutAttr returns a with a long value cut.
func cutAttr(a slog.Attr) slog.Attr {
	if a.Key == stackKey {
		return a
	}
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		v = slog.StringValue(shortened(v.String(), maxString))
	case slog.KindGroup:
		var all []slog.Attr
		for _, in := range v.Group() {
			all = append(all, cutAttr(in))
		}
		v = slog.GroupValue(all...)
	case slog.KindAny:
		v = cutAny(v)
	default:
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// cutAny returns v, or the beginning of its text if that is too long. Package fmt formats the text. If
// the value's own method panics, fmt writes <nil> for a nil pointer, as slog's handlers do, and else
// the text of the panic.
func cutAny(v slog.Value) slog.Value {
	verb := "%+v"
	switch v.Any().(type) {
	case error, fmt.Stringer:
		verb = "%v"
	}
	text := fmt.Sprintf(verb, v.Any())
	if short := shortened(text, maxOther); len(short) < len(text) {
		return slog.StringValue(short)
	}
	return v
}

// shortened returns s, or if it is longer than `most` characters, the first of them and the number of
// characters that were cut.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	at := 0
	for range most {
		_, n := utf8.DecodeRuneInString(s[at:])
		if at += n; at >= len(s) {
			return s
		}
	}
	return s[:at] + fmt.Sprintf("… (%d more)", utf8.RuneCountInString(s[at:]))
}
