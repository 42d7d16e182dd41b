package page

import (
	"slices"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// The names of the fields of Share.
const (
	ShareName = "name" // of who presents
	ShareAt   = "at"   // the address that others use
	ShareFor  = "for"  // how long the link is good
)

// Share is the page on which somebody begins to show pages to others, with a link
// that lets them look and nothing else, and sees how they follow. It stands still:
// Shell.Live is left empty.
type Share struct {
	Shell            layout.Shell
	To, Stop, Cancel string // addresses
	Name, At, For    string // as typed
	Addresses        []string
	Spans            []ShareSpan
	Local            bool // only this machine reaches the address
	Refused          component.Notice

	On        bool         // there is a link
	URL       string       // of the link; empty: it is not known any more
	QR        component.QR // unless Local
	Until     time.Time    // when it ends; zero: nobody knows
	Followers int
	Key       string // of the talk, for the tab that leads it from now on
	TalkName  string
	Over      bool // it was ended just now
}

// A ShareSpan is how long a link can be good.
type ShareSpan struct {
	Value string
	Hours int
}

// Full is the page.
func (m Share) Full() templ.Component { return share(m) }

// Asks is what the script shows over a page.
func (m Share) Asks() templ.Component { return shareAsks(m) }

// Watches is nil; the page stands still.
func (m Share) Watches() []string { return nil }

// Parts are those of the shell.
func (m Share) Parts() []view.Part { return m.Shell.Parts() }

// chosen tells whether a span is the one that stands in the form.
func (m Share) chosen(i int, s ShareSpan) bool {
	return s.Value == m.For || m.For == "" && i == 1
}

// apart tells whether there is what only another server knows to be presented: talks
// are a server's own.
func (m Share) apart() bool {
	return slices.ContainsFunc(m.Shell.Spaces, func(s layout.Space) bool { return s.Away })
}

func (m Share) at(i int, address string) bool {
	return address == m.At || m.At == "" && i == 0
}
