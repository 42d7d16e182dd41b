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
	MaxBody      = 64 << 10 // bytes of the longest body that columns json. read
)

// A Column is a column of a list of messages. Parse returns Columns; those with the same text are
// equal. The zero Column means none.
type Column struct{ text string }

// The columns other than properties and JSON. If engine/search has a key for the same value, the
// column has the key's name.
const (
	Message        = "message" // the message's subject, or its id if it has no subject
	State          = "state"
	TTL            = "ttl" // time until the message expires
	Expires        = "expires"
	Due            = "due" // time until the message is due
	Scheduled      = "scheduled"
	Lock           = "lock" // time until the lock ends
	Holder         = "holder"
	LockedSince    = "locked-since"
	Renewals       = "renewals" // how often the lock was renewed
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
	Body           = "body" // the beginning of the message's body
	Size           = "size"
	Delivery       = "delivery"
	Enqueued       = "enqueued"
	Reason         = "reason"
	Error          = "error"
	Source         = "source"
	Destination    = "for" // destination of a message that could not be transferred
	DeadLetteredAt = "dead-lettered"
	Deferred       = "deferred"
	Actor          = "by" // actor who deferred or dead-lettered it
	Entity         = "entity"
	Key            = "key"
)

// Fields returns all columns other than properties and JSON, in the order in which pages offer them.
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

// Parse parses a column: one of Fields, prop.NAME or json.PATH. The error is
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

// ParseAll parses the columns of a list. A column must occur only once, and there may be at most
// MaxColumns.
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

// String returns c in the form that Parse parses.
func (c Column) String() string { return c.text }

// Prop returns the name of the application property that c shows; ok is false if it shows none.
func (c Column) Prop() (name string, ok bool) { return strings.CutPrefix(c.text, propPrefix) }

// Path returns the path of the JSON value that c shows; ok is false if it shows none.
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
