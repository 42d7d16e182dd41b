package page

import (
	"time"

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
	To       string                    // the address it posts to
	Once     string                    // see the field of that name
	Values   map[string]string         // what was typed, by the names of fields below
	Errors   map[string]component.Text // what was wrong with it, by the same names
	Refused  component.Notice          // what was wrong with all of it; zero: nothing
	Limit    SendLimit                 // what becomes of a time to live here; unused where a message is edited
	Most     int                       // the most messages of one send
	AtOnce   int                       // above so many, they are sent in the background
	Sessions bool                      // it takes only messages with a session

	// Properties are the rows of application properties; the page adds empty
	// ones. Kinds are the types to choose from. The fields are name, type and
	// value of row i: "property-0-name", "property-0-type", "property-0-value".
	Properties []SendProperty
	Kinds      []string

	Templates []string    // the names of those that it can be filled with
	Template  string      // the one that it was filled with; empty: none
	Manage    string      // address of all templates
	Sights    []SendSight // what would be sent; empty: nobody has asked
	Edit      SendEdit    // the message that it is written from; zero: a new one
}

// SendLimit is what an entity makes of the time to live of what is sent to it.
type SendLimit struct {
	Most    string // the longest, and of what has none of its own (TTL-4, TTL-5): "5m"; empty: none
	Shorter string // the name of the subscription that allows least, if that is less (TTL-7); empty: none does
	Least   string // what that allows
	Onward  string // where all of it is forwarded, and its time begins anew (TTL-17); empty: it stays
	Dead    bool   // what runs out is dead-lettered; of a topic the subscriptions decide, and this is unused
}

// SendEdit is a stored message that is written anew.
type SendEdit struct {
	Name string // "#17"; empty: none is
	Href string
	Back string // the list that it was opened from; empty: it was opened from Href

	Cancel string // where Cancel leads
	Kept   string // why its body is not shown, and stays as it is; empty: it is shown
	Odd    int    // properties that a line cannot hold, and stay as they are
	Copy   bool   // it can only stay, and a copy goes
}

// A SendSight is one message as it would be sent.
type SendSight struct {
	N     int
	Facts []SendFact
	Due   time.Time // zero: at once
	Body  string    // its beginning, where that is text
	More  int       // bytes that are left out; not above zero: none
}

// A SendFact is one of what a message says beside its body.
type SendFact struct{ Label, Value string }

// A SendProperty is a row of application properties.
type SendProperty struct {
	Name, Kind, Value string
	Error             component.Text
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
	SendEvery          = "every"         // a duration
	SendPlaceholders   = "placeholders"  // "on": a single message is filled in, too
	SendSeed           = "seed"          // of the preview that was seen
	SendPreview        = "preview"       // a submit: the form again, with what it would send
	SendSave           = "save"          // a submit: keep it as a template
	SendTemplate       = "template"      // the name of one
	SendTemplateName   = "template-name" // the name that it is to have
	SendTarget         = "target"        // of an edit: the path of an entity
	SendKeepBody       = "keep-body"     // of an edit, "on": the body stays as it is
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
