package page

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/sample"
	"mayfly/views/view"
)

// Message is everything about one message: its passport.
type Message struct {
	Shell layout.Shell
	Key   string // in decimal
	Href  string // its page; its actions lie below it
	In    Place
	Path  string // of the entity, in lower case: what Watches names

	State   State
	Number  int64
	Subject string
	ID      string
	Type    string // the content type
	Size    int64  // header and body, as quotas count them
	Tries   int
	Max     int

	Session     string // as it is written, of an entity that requires sessions
	SessionHref string // its page; empty: it is in none

	Clock    component.Clock // its time to live; Now is set even if it has no end
	Expired  bool            // its time ran out and it is still there
	Hold     component.Hold  // the lock on it
	Holder   string          // who holds the lock; empty: not known
	HolderAt string          // where that client is shown; empty: nowhere
	Due      component.Clock // of a scheduled one
	Fate     component.Fate
	Why      component.Why // how it came by its time to live; no terms: not shown
	Reason   Reason        // of a dead letter; Reason.N is unused

	Life  []component.Entry
	Known Known

	View        BodyView
	Body        Body
	Sent        []Sent               // what its sender said, section by section; empty: not shown
	Headers     []Header             // every system property
	Application []component.Property // Type is the kind: "int", "string"

	Kin     []Kin // messages that share what their sender wrote with it
	KinMore bool  // there are more than these
	Again   Again // how to send it once more; the zero value: not shown

	// Token is set when the message was received for inspection, and its lock
	// still stands: then the page offers to settle it.
	Token string

	// Ended is set when the message is no longer there; it says what became of
	// it. An empty Ended.Title: it is there. Missing is set when nothing is
	// known of it but its key.
	Ended   component.Entry
	Missing bool
	// Bare is set when it ended and its headers were not kept.
	Bare bool
	Lab  string // where it is tried on rules: of a message that no subscription took; empty: nowhere
}

// Known is how far a message's story reaches.
type Known struct {
	Kept   time.Duration // how long it is remembered; zero: not told
	Cut    bool          // there is more before what is shown
	Broken bool          // what was remembered could not be read just now
}

// A Place is the entity a message is in.
type Place struct {
	Kind Kind
	Name string // as shown: "orders", "prices/eu"
	Href string
	Dead bool // in its dead-letter queue
	All  bool // it is no place but the whole namespace; Name is that's
}

// A BodyView is a way to look at a body, as the address says it: ?view=hex.
type BodyView string

// The views there are. An empty one is the tree if there is one, raw otherwise.
const (
	TreeView    BodyView = "tree"
	RawView     BodyView = "raw"
	HexView     BodyView = "hex"
	HeadersView BodyView = "headers"
	SentView    BodyView = "sent"
)

// A Sent is a section of a message as AMQP has it.
type Sent struct {
	Name   string // AMQP's
	Fields []component.Property
}

// A Kinship is what another message is to the one that is shown: ids of words.
type Kinship string

// The kinships there are.
const (
	Original Kinship = "kin.original" // what it was made from
	Copy     Kinship = "kin.copy"     // made from it
	Sibling  Kinship = "kin.sibling"  // made from the same message by a topic
)

// A Kin is a message that shares with another what their sender wrote.
type Kin struct {
	How  Kinship
	Name string    // its number at that time: "#1,204"
	In   string    // where it was then
	Href string    // its page
	At   time.Time // when the two parted
}

// An Again is how a message is sent once more. The zero Again is nothing.
type Again struct {
	Curl    string          // a line for the shell; empty: none
	Samples []sample.Sample // programs; empty: none
	File    string          // the file that has its body, which lies beside them; empty: they have it themselves
	Odd     bool            // its body is in a form of AMQP's that these cannot send
}

func (a Again) empty() bool { return a.Curl == "" && len(a.Samples) == 0 && !a.Odd }

// A Body is what a message carries.
type Body struct {
	Content  []byte // as much as is looked at: 1 MB at most
	Size     int64  // all of it
	Form     string // how it was sent, as shown: "data", "value"
	From     int64  // where Window begins
	Window   []byte // the bytes that the hexadecimal view shows
	Download string // address of all of it; empty: none
}

// A Header is a system property.
type Header struct {
	Name  string    // Service Bus' name: "MessageId"
	AMQP  string    // section and name: "properties · message-id"
	Value string    // as shown; unused if At is set
	At    time.Time // of an instant
}

// Full is the page.
func (m Message) Full() templ.Component { return message(m) }

// Drawer is the message beside the list it was opened from.
func (m Message) Drawer() templ.Component { return messageDrawer(m) }

// Watches is the entity the message is in.
func (m Message) Watches() []string { return []string{m.Path} }

// Parts is what is live in the page: everything but the body.
func (m Message) Parts() []view.Part {
	parts := append(m.Shell.Parts(),
		slot("state", messageState(m)),
		slot("ended", messageEnded(m)),
		slot("actions", messageActions(m)),
		slot("time", messageTime(m)),
		slot("life", messageLife(m)),
		slot("properties", messageProperties(m)),
	)
	if m.Missing { // nothing is said of it in the head
		return parts
	}
	return append(parts, slot("tries", messageTries(m)))
}

// there says whether the message can still be acted on.
func (m Message) there() bool { return !m.Missing && m.Ended.Title == "" }

// over says whether the message is known to have been there, and is not.
func (m Message) over() bool { return m.Ended.Title != "" }

// missing says what may have become of a message that nothing is known of.
func (m Message) missing(ctx context.Context) string {
	if m.Known.Kept > 0 {
		return locale.T(ctx, "message.missing.kept", locale.Args{"Kept": component.Length(ctx, m.Known.Kept)})
	}
	return locale.T(ctx, "message.missing.detail")
}

// what is what the message is called: its subject, or its id, or neither.
func (m Message) what(ctx context.Context) string {
	if m.Bare {
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

// crumbs is the way to the message.
func (m Message) crumbs(ctx context.Context) []component.Crumb {
	if m.In.Name == "" {
		return []component.Crumb{{Label: locale.T(ctx, "rail.overview"), Href: m.Shell.Home}, {Label: locale.T(ctx, "message.crumb")}}
	}
	return append(m.In.crumbs(ctx, m.Shell), component.Crumb{Label: "#" + locale.Number(ctx, int(m.Number))})
}

// crumbs is the way to the place, all of it links.
func (p Place) crumbs(ctx context.Context, s layout.Shell) []component.Crumb {
	if p.All {
		return []component.Crumb{{Label: p.Name, Href: s.Home}}
	}
	crumbs := placeCrumbs(ctx, s, p.Kind, p.Name, p.Href, "", "")
	if p.Dead {
		crumbs = append(crumbs, component.Crumb{Label: locale.T(ctx, "entity.tab.dead"), Href: p.Href + "?tab=" + string(DeadLetters)})
	}
	return crumbs
}

// do is a button for something that is done at once.
func (m Message) do(ctx context.Context, action, icon, label string) component.Deed {
	d := component.Deed{To: m.Href + "/" + action, Icon: icon, Label: locale.T(ctx, label)}
	if m.Token != "" {
		d.Name, d.Value = AskToken, m.Token
	}
	return d
}

// ask is a button for something that asks first.
func (m Message) ask(ctx context.Context, action, icon, label string, look component.Look) component.Link {
	l := component.Link{Href: m.Href + "/" + action, Icon: icon, Label: locale.T(ctx, label), Look: look, Ruins: look == component.Danger, Asks: action != "edit"}
	if m.Token != "" {
		l.Href += "?" + AskToken + "=" + url.QueryEscape(m.Token)
	}
	return l
}

func (m Message) extend(ctx context.Context, by, label string) component.Deed {
	return component.Deed{To: m.Href + "/extend", Name: AskBy, Value: by, Label: locale.T(ctx, label)}
}
