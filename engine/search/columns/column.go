package columns

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/search"
	"mayfly/engine/shorten"
)

const (
	MaxColumns   = 30       // columns of a list
	maxTextBytes = 200      // bytes of a column's text
	MaxBody      = 64 << 10 // bytes of a body that json. looks into
)

// A Column is what a list shows of each message. The zero Column is none; Parse makes them,
// and two with the same text are equal.
type Column struct{ text string }

// These are the columns beside properties and JSON. The names are those of engine/search where
// it has one.
const (
	Message        = "message" // its title, and the beginning of its body
	State          = "state"
	TTL            = "ttl" // time left until it expires
	Expires        = "expires"
	Due            = "due" // time left until its schedule
	Scheduled      = "scheduled"
	Lock           = "lock" // time left of it
	Holder         = "holder"
	LockedSince    = "locked-since"
	Renewals       = "renewals" // of the lock
	Renewed        = "renewed"  // time of the last renewal
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
	Destination    = "for" // of a failed transfer: its destination
	DeadLetteredAt = "dead-lettered"
	Deferred       = "deferred"
	Actor          = "by" // actor who deferred or dead-lettered it
	Entity         = "entity"
	Key            = "key"
)

// Fields returns all these, in the order pages offer them in.
func Fields() []string {
	return []string{
		State, TTL, Expires, Due, Scheduled, Lock, Holder, LockedSince, Renewals, Renewed, Seq, Message, Subject, ID, Body, Type, Session, Correlation, To, ReplyTo,
		ReplyToSession, Partition, Size, Delivery, Enqueued, EnqueuedSeq, Reason, Error, Source, Destination, DeadLetteredAt, Deferred, Actor, Entity, Key,
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
	case len(text) > maxTextBytes:
		return Column{}, engine.Refuse(engine.ErrArgument, "The name of a column must not be longer than %d bytes.", maxTextBytes)
	case !printable(text):
		return Column{}, engine.Refuse(engine.ErrArgument, "The name of a column must have printable characters only.")
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
		return Column{}, engine.Refuse(engine.ErrArgument, "The column '%s' does not exist. Choose from %s, prop.NAME and json.PATH.", shorten.Quote(text), strings.Join(Fields(), ", "))
	}
}

// ParseAll reads the columns of a list: each once, at most MaxColumns.
func ParseAll(texts []string) (all []Column, err error) {
	if len(texts) > MaxColumns {
		return nil, engine.Refuse(engine.ErrArgument, "%d columns are selected; the maximum is %d.", len(texts), MaxColumns)
	}
	for _, text := range texts {
		c, err := Parse(text)
		if err != nil {
			return nil, err
		}
		if slices.Contains(all, c) {
			return nil, engine.Refuse(engine.ErrArgument, "The column '%s' is selected twice.", shorten.Quote(text))
		}
		all = append(all, c)
	}
	return all, nil
}

// Prop returns the column of an application property.
func Prop(name string) Column { return Column{propPrefix + name} }

// JSON returns the column of the value at a path.
func JSON(path search.Path) Column {
	if text := path.String(); strings.HasPrefix(text, "[") {
		return Column{"json" + text}
	}
	return Column{jsonPrefix + path.String()}
}

// String writes c so that Parse reads it again.
func (c Column) String() string { return c.text }

// Prop returns the name of the application property that c shows.
func (c Column) Prop() (name string, ok bool) { return strings.CutPrefix(c.text, propPrefix) }

// Path returns the path in a body that c shows.
func (c Column) Path() (path search.Path, ok bool) {
	rest, ok := strings.CutPrefix(c.text, "json")
	if !ok || rest == "" || rest[0] != '.' && rest[0] != '[' {
		return path, false
	}
	path, err := search.ParsePath(strings.TrimPrefix(rest, "."))
	return path, err == nil
}

// NeedsBody reports whether Value needs the body.
func (c Column) NeedsBody() bool {
	return strings.HasPrefix(c.text, jsonPrefix) || strings.HasPrefix(c.text, "json[")
}

// Names returns columns as texts.
func Names(all []Column) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = c.text
	}
	return out
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
