package listing

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/search"
)

// Bounds of columns.
const (
	MostColumns = 30       // of a list
	mostText    = 200      // bytes of a column
	MostBody    = 64 << 10 // of a body that json. looks into
)

// A Column is what a list shows of each message. The zero Column is none; Parse
// makes them, and two that are written alike are equal.
type Column struct{ text string }

// The columns there are beside properties and JSON. The names are those of
// engine/search where it has one.
const (
	Message        = "message" // what it is called, and the beginning of its body
	State          = "state"
	TTL            = "ttl" // what is left until it runs out
	Expires        = "expires"
	Due            = "due" // what is left until its schedule
	Scheduled      = "scheduled"
	Lock           = "lock" // what is left of it
	Holder         = "holder"
	LockedSince    = "locked-since"
	Renewals       = "renewals" // of the lock
	Renewed        = "renewed"  // when it was last
	Seq            = "seq"
	EnqueuedSeq    = "enqueued-seq"
	Subject        = "subject"
	ID             = "id"
	Correlation    = "correlation"
	Session        = "session"
	To             = "to"
	ReplyTo        = "reply-to"
	ReplyToSession = "reply-to-session"
	Partition      = "partition"
	Type           = "type"
	Body           = "body" // its beginning
	Size           = "size"
	Delivery       = "delivery"
	Enqueued       = "enqueued"
	Reason         = "reason"
	Error          = "error"
	Source         = "source"
	For            = "for" // of a transfer that failed: where it was to go
	Died           = "dead-lettered"
	Deferred       = "deferred"
	By             = "by" // who deferred or dead-lettered it
	Entity         = "entity"
	Key            = "key"
)

// Fields are all these, in the order they are offered in.
func Fields() []string {
	return []string{
		State, TTL, Expires, Due, Scheduled, Lock, Holder, LockedSince, Renewals, Renewed, Seq, Message, Subject, ID, Body, Type, Session, Correlation, To, ReplyTo,
		ReplyToSession, Partition, Size, Delivery, Enqueued, EnqueuedSeq, Reason, Error, Source, For, Died, Deferred, By, Entity, Key,
	}
}

const (
	propPrefix = "prop."
	jsonPrefix = "json."
)

// Parse reads a column: a field, prop.NAME or json.PATH. The error is
// engine.ErrArgument.
func Parse(text string) (Column, error) {
	text = strings.TrimSpace(text)
	switch {
	case len(text) > mostText:
		return Column{}, argument("A column has at most %d bytes.", mostText)
	case !printable(text):
		return Column{}, argument("A column has characters that can be printed.")
	case slices.Contains(Fields(), text):
		return Column{text}, nil
	case len(text) > len(propPrefix) && strings.HasPrefix(text, propPrefix):
		return Column{text}, nil
	case len(text) > len(jsonPrefix) && strings.HasPrefix(text, jsonPrefix), strings.HasPrefix(text, "json["):
		path, err := search.ParsePath(strings.TrimPrefix(strings.TrimPrefix(text, "json"), "."))
		if err != nil {
			return Column{}, fmt.Errorf("read the column %q: %w", text, err)
		}
		return JSON(path), nil
	default:
		return Column{}, argument("There is no column '%s'; there are %s, prop.NAME and json.PATH.", cut(text), strings.Join(Fields(), ", "))
	}
}

// ParseAll reads the columns of a list: each once, MostColumns at most.
func ParseAll(texts []string) (all []Column, err error) {
	if len(texts) > MostColumns {
		return nil, argument("There are %d columns; a list has at most %d.", len(texts), MostColumns)
	}
	for _, text := range texts {
		c, err := Parse(text)
		if err != nil {
			return nil, err
		}
		if slices.Contains(all, c) {
			return nil, argument("The column '%s' is there twice.", cut(text))
		}
		all = append(all, c)
	}
	return all, nil
}

// Prop is the column of an application property.
func Prop(name string) Column { return Column{propPrefix + name} }

// JSON is the column of what stands at a path.
func JSON(path search.Path) Column {
	if text := path.String(); strings.HasPrefix(text, "[") {
		return Column{"json" + text}
	}
	return Column{jsonPrefix + path.String()}
}

// String writes c so that Parse reads it again.
func (c Column) String() string { return c.text }

// Prop is the name of the application property that c shows.
func (c Column) Prop() (name string, ok bool) { return strings.CutPrefix(c.text, propPrefix) }

// Path is what c shows of a body.
func (c Column) Path() (path search.Path, ok bool) {
	rest, ok := strings.CutPrefix(c.text, "json")
	if !ok || rest == "" || rest[0] != '.' && rest[0] != '[' {
		return path, false
	}
	path, err := search.ParsePath(strings.TrimPrefix(rest, "."))
	return path, err == nil
}

// NeedsBody tells whether Value wants the body.
func (c Column) NeedsBody() bool {
	return strings.HasPrefix(c.text, jsonPrefix) || strings.HasPrefix(c.text, "json[")
}

// Names are columns as they are written.
func Names(all []Column) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = c.text
	}
	return out
}

func argument(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, Text: fmt.Sprintf(format, args...)}
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// cut shortens what somebody wrote for use in a sentence.
func cut(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
