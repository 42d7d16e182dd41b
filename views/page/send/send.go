package send

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Send is the form that sends a message. It is not live: Shell.Live is left empty.
type Send struct {
	Shell     layout.Shell
	In        page.EntityRef
	To        string                    // the address it posts to
	FormToken string                    // value of page.FieldFormToken
	Values    map[string]string         // typed values, by the names of fields below
	Errors    map[string]component.Text // errors, by the same names
	Refused   component.Notice          // the error of the form as a whole; zero means none
	Limit     TTLLimit                  // limits of the time to live here; unused when editing a message
	Most      int                       // most messages of one send
	AtOnce    int                       // more messages than this are sent in the background
	Sessions  bool                      // messages must have a session

	// Properties are the rows of application properties; the page adds empty ones. Kinds are
	// the types to choose from. The fields of row i are "property-0-name", "property-0-type"
	// and "property-0-value" for i = 0.
	Properties []Property
	Kinds      []string

	Templates []string         // names of templates to fill the form with
	Template  string           // the template that it was filled with; empty means none
	Manage    string           // address of all templates
	Preview   []PreviewMessage // preview; empty if not requested
	Edit      EditedMessage    // the stored message that is edited; zero means a new one
}

// TTLLimit is how an entity limits the time to live of messages sent to it.
type TTLLimit struct {
	Most      string // the longest, also the default (TTL-4, TTL-5): "5m"; empty means none
	Shorter   string // name of the subscription with the smallest limit, if it is smaller (TTL-7); empty means none
	Least     string // that limit
	ForwardTo string // where all messages are forwarded, which restarts their time (TTL-17); empty means that they stay
	Dead      bool   // expired messages are dead-lettered; unused for a topic, whose subscriptions decide
}

// EditedMessage is a stored message that is edited.
type EditedMessage struct {
	Name string // "#17"; empty means none
	Href string
	Back string // the list that it was opened from; empty if it was opened from Href

	Cancel                string // target of Cancel
	Kept                  string // why its body cannot be edited and stays unchanged; empty if it can be
	UnsupportedProperties int    // properties that do not fit on a line, and stay unchanged
	Copy                  bool   // the message has to stay, so only a copy can be sent
}

// A PreviewMessage is a message of the preview.
type PreviewMessage struct {
	N     int
	Facts []PreviewProperty
	Due   time.Time // zero means at once
	Body  string    // its beginning, if it is text
	More  int       // bytes that are left out; zero or less means none
}

// A PreviewProperty is a property of a message in the preview.
type PreviewProperty struct{ Label, Value string }

// A Property is a row of application properties.
type Property struct {
	Name, Kind, Value string
	Error             component.Text
}

// The fields of Send.
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
	SendPlaceholders   = "placeholders"  // "on": placeholders are filled in even for a single message
	SendSeed           = "seed"          // of the preview
	SendPreview        = "preview"       // a submit button: returns the form with a preview
	SendSave           = "save"          // a submit button: saves a template
	SendTemplate       = "template"      // the name of a template
	SendTemplateName   = "template-name" // the new name
	SendTarget         = "target"        // when editing: the path of an entity
	SendKeepBody       = "keep-body"     // when editing, "on": the body stays unchanged
	SendAddProperty    = "add-property"  // a submit button: returns the form with more rows
	SendPropertyRows   = "property-rows" // number of rows of the form
	SendPropertyPrefix = "property-"     // followed by the row's number and one of the following suffixes
	SendPropertyName   = "-name"
	SendPropertyKind   = "-type"
	SendPropertyValue  = "-value"
)

// Full returns the whole page.
func (m Send) Full() templ.Component { return send(m) }

// Watches returns nil, because the page is not live.
func (m Send) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Send) Parts() []view.Part { return m.Shell.Parts() }
