package page

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
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
	Size    int64  // header and body
	Tries   int
	Max     int

	Clock   component.Clock // its time to live
	Expired bool            // its time ran out and it is still there
	Hold    component.Hold  // the lock on it
	Holder  string          // who holds the lock; empty: not known
	Due     component.Clock // of a scheduled one
	Fate    component.Fate
	Why     component.Why // how it came by its time to live; no terms: not shown
	Reason  Reason        // of a dead letter; Reason.N is unused

	Life []component.Entry

	View        BodyView
	Body        Body
	Headers     []Header             // every system property
	Application []component.Property // Type is the kind: "int", "string"

	// Token is set when the message was received for inspection, and its lock
	// still stands: then the page offers to settle it.
	Token string

	// Ended is set when the message is no longer there; it says what became of
	// it. An empty Ended.Title: it is there. Missing is set when nothing is
	// known of it but its key.
	Ended   component.Entry
	Missing bool
}

// A Place is the entity a message is in.
type Place struct {
	Kind Kind
	Name string // as shown: "orders", "prices/eu"
	Href string
	Dead bool // in its dead-letter queue
}

// A BodyView is a way to look at a body, as the address says it: ?view=hex.
type BodyView string

// The views there are. An empty one is the tree if there is one, raw otherwise.
const (
	TreeView    BodyView = "tree"
	RawView     BodyView = "raw"
	HexView     BodyView = "hex"
	HeadersView BodyView = "headers"
)

// A Body is what a message carries.
type Body struct {
	Content  []byte // as much as is looked at: 1 MB at most
	Size     int64  // all of it
	Form     string // how it was sent, as shown: "data", "value"
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

// Parts is what is live in the page.
func (m Message) Parts() []view.Part {
	return m.Shell.Parts()
}
