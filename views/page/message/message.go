package message

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/sample"
	"mayfly/views/view"
)

// Message is the page of a message.
type Message struct {
	Shell  layout.Shell
	Key    string // in decimal
	Href   string // its page; its actions are below it
	Entity page.EntityRef
	Path   string // of the entity, in lower case: what Watches returns

	State   page.State
	Number  int64
	Subject string
	ID      string
	Type    string // the content type
	Size    int64  // headers and body, as quotas count them
	Tries   int
	Max     int

	Session     string // session id, as shown, if the entity requires sessions
	SessionHref string // its page; empty means no session

	Clock          component.Clock    // its time to live; Now is set even if it never expires
	Expired        bool               // it has expired but still exists
	Hold           component.LockInfo // the lock on it
	Holder         string             // the lock's holder; empty if unknown
	HolderURL      string             // address of that client; empty means none
	Due            component.Clock    // for a scheduled message
	Fate           component.ExpiryOutcome
	TTLExplanation component.TTLExplanation // the explanation of its time to live; not shown without terms
	Reason         page.Reason              // of a dead letter; Reason.N is unused

	Timeline       []component.TimelineStep
	TimelineLimits TimelineLimits

	View        BodyView
	Body        Body
	Sent        []AMQPSection        // the message as sent, by AMQP section; empty if not shown
	Headers     []Header             // every system property
	Application []component.Property // Type is the kind: "int", "string"

	Related     []RelatedMessage // related messages, which share its content
	MoreRelated bool             // there are more than these
	Resend      Resend           // programs that send it again; zero if not shown

	// Token is set if the message was received for inspection and is still locked: then the
	// page offers to settle it.
	Token string

	// Ended is set if the message no longer exists, and says what happened to it. An empty
	// Ended.Title means that it exists. Missing is set if there is no record of it.
	Ended   component.TimelineStep
	Missing bool
	Damaged component.Notice // zero if not damaged
	// HeadersMissing is set if it no longer exists and its headers were not kept.
	HeadersMissing bool
	Lab            string // address to try it in the filter lab, if no subscription took it; empty means none
}

// TimelineLimits is how far back a message's timeline reaches.
type TimelineLimits struct {
	Retention time.Duration // how long events are kept; zero if not shown
	Cut       bool          // there are earlier events
	Failed    bool          // the history could not be read
}

// A BodyView is a way to show a body, as in the query string: ?view=hex.
type BodyView string

// The views. An empty one means the tree if there is one, raw otherwise.
const (
	TreeView    BodyView = "tree"
	RawView     BodyView = "raw"
	HexView     BodyView = "hex"
	HeadersView BodyView = "headers"
	SentView    BodyView = "sent"
)

// An AMQPSection is a section of an AMQP message.
type AMQPSection struct {
	Name   string // AMQP name
	Fields []component.Property
}

// A Relation is how another message is related to the one shown: a text id.
type Relation string

// The relations.
const (
	Original Relation = "kin.original" // the message shown was made from it
	Copy     Relation = "kin.copy"     // it was made from the message shown
	Sibling  Relation = "kin.sibling"  // made from the same message by a topic
)

// A RelatedMessage is a message that shares the content of another.
type RelatedMessage struct {
	How  Relation
	Name string    // its sequence number at that time: "#1,204"
	In   string    // the entity it was in then
	Href string    // its page
	At   time.Time // when one was made from the other
}

// A Resend is how to send a message again. The zero value shows nothing.
type Resend struct {
	Curl            string          // shell command; empty means none
	Samples         []sample.Sample // sample programs; empty means none
	File            string          // file with its body, to be placed beside the program; empty means that the program contains the body
	UnsupportedBody bool            // its body is in an AMQP format that the command and the samples cannot send
}

func (a Resend) empty() bool { return a.Curl == "" && len(a.Samples) == 0 && !a.UnsupportedBody }

// A Body is the body of a message.
type Body struct {
	Content  []byte // the part that was read: at most 1 MB
	Size     int64  // of the whole body
	Form     string // its AMQP format, as shown: "data", "value"
	From     int64  // offset of Window
	Window   []byte // the bytes of the hexadecimal view
	Download string // address of the whole body; empty means none
}

// A Header is a system property.
type Header struct {
	Name  string    // Service Bus name: "MessageId"
	AMQP  string    // AMQP section and name: "properties · message-id"
	Value string    // as shown; unused if At is set
	At    time.Time // for an instant
}

// Full returns the whole page.
func (m Message) Full() templ.Component { return message(m) }

// Drawer returns the message for the side panel of a list.
func (m Message) Drawer() templ.Component { return messageDrawer(m) }

// NotFound reports whether there is no record of the message.
func (m Message) NotFound() bool { return m.Missing }

// Watches returns the entity that the message is in.
func (m Message) Watches() []string { return []string{m.Path} }

// Parts returns the live parts of the page: everything but the body.
func (m Message) Parts() []view.Part {
	parts := append(m.Shell.Parts(),
		page.Slot("state", messageState(m)),
		page.Slot("ended", messageEnded(m)),
		page.Slot("actions", messageActions(m)),
		page.Slot("time", messageTime(m)),
		page.Slot("life", messageLife(m)),
		page.Slot("properties", messageProperties(m)),
	)
	if m.Missing { // its heading shows nothing live
		return parts
	}
	return append(parts, page.Slot("tries", messageTries(m)))
}

// exists reports whether the message exists and can be acted on.
func (m Message) exists() bool { return !m.Missing && m.Ended.Title == "" }

// hasEnded reports whether the message existed and is gone.
func (m Message) hasEnded() bool { return m.Ended.Title != "" }

// missing returns what may have happened to a message without any record.
func (m Message) missing(ctx context.Context) string {
	if m.TimelineLimits.Retention > 0 {
		return locale.T(ctx, "message.missing.kept", locale.Args{"Kept": component.Length(ctx, m.TimelineLimits.Retention)})
	}
	return locale.T(ctx, "message.missing.detail")
}

// what returns the name of the message: its subject, else its id, else a placeholder.
func (m Message) what(ctx context.Context) string {
	if m.HeadersMissing {
		return "#" + locale.Number(ctx, int(m.Number))
	}
	return cmp.Or(m.Subject, m.ID, locale.T(ctx, "message.unnamed"))
}

func (m Message) id() string {
	if m.Subject == "" {
		return ""
	}
	return m.ID
}

// crumbs returns the breadcrumbs to the message.
func (m Message) crumbs(ctx context.Context) []component.Crumb {
	if m.Entity.Name == "" {
		return []component.Crumb{{Label: locale.T(ctx, "rail.overview"), Href: m.Shell.Home}, {Label: locale.T(ctx, "message.crumb")}}
	}
	return append(m.Entity.Crumbs(ctx, m.Shell), component.Crumb{Label: "#" + locale.Number(ctx, int(m.Number))})
}

// actionButton returns a button for an action without confirmation.
func (m Message) actionButton(ctx context.Context, action, icon, label string) component.Action {
	d := component.Action{To: m.Href + "/" + action, Icon: icon, Label: locale.T(ctx, label)}
	if m.Token != "" {
		d.Name, d.Value = page.FieldLockToken, m.Token
	}
	return d
}

// confirmButton returns a button for an action with confirmation.
func (m Message) confirmButton(ctx context.Context, action, icon, label string, look component.ButtonStyle) component.Link {
	l := component.Link{Href: m.Href + "/" + action, Icon: icon, Label: locale.T(ctx, label), Style: look, Destructive: look == component.Danger, Dialog: action != "edit"}
	if m.Token != "" {
		l.Href += "?" + page.FieldLockToken + "=" + url.QueryEscape(m.Token)
	}
	return l
}

func (m Message) extend(ctx context.Context, by, label string) component.Action {
	return component.Action{To: m.Href + "/extend", Name: page.FieldBy, Value: by, Label: locale.T(ctx, label)}
}
