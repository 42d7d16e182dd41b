package page

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// Send is the form that sends a message. It stands still: Shell.Live is left
// empty.
type Send struct {
	Shell    layout.Shell
	In       Place
	To       string            // the address it posts to
	Values   map[string]string // what was typed, by the names of fields below
	Errors   map[string]string // what was wrong with it, by the same names
	Refused  component.Notice  // what was wrong with all of it; zero: nothing
	Ceiling  string            // the longest time to live, as shown: "5m"; empty: none
	Most     int               // the most messages of one send
	Sessions bool              // it takes only messages with a session

	// Properties are the rows of application properties; the page adds empty
	// ones. Kinds are the types to choose from. The fields are name, type and
	// value of row i: "property-0-name", "property-0-type", "property-0-value".
	Properties []SendProperty
	Kinds      []string
}

// A SendProperty is a row of application properties.
type SendProperty struct {
	Name, Kind, Value string
	Error             string
}

// The names of the fields of Send.
const (
	SendBody           = "body"
	SendContentType    = "content-type"
	SendMessageID      = "message-id"
	SendSubject        = "subject"
	SendCorrelationID  = "correlation-id"
	SendSessionID      = "session-id"
	SendTo             = "to"
	SendReplyTo        = "reply-to"
	SendReplyToSession = "reply-to-session-id"
	SendPartitionKey   = "partition-key"
	SendTTL            = "ttl"
	SendSchedule       = "schedule" // "now", "in" or "at"
	SendIn             = "in"       // a duration, for "in"
	SendAt             = "at"       // an instant in UTC, for "at": 2026-07-14T10:05
	SendRepeat         = "repeat"
	SendAddProperty    = "add-property"  // a submit: the form again with more rows
	SendPropertyRows   = "property-rows" // how many rows the form had
	SendPropertyPrefix = "property-"     // and the row's number and one of these:
	SendPropertyName   = "-name"
	SendPropertyKind   = "-type"
	SendPropertyValue  = "-value"
)

// Full is the page.
func (m Send) Full() templ.Component { return send(m) }

// Watches is nil; the page stands still.
func (m Send) Watches() []string { return nil }

// Parts is what is live in the page: the shell.
func (m Send) Parts() []view.Part { return m.Shell.Parts() }
