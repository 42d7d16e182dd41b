package admin

import (
	"slices"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// The fields of Share.
const (
	ShareName = "name" // of the presenter
	ShareAt   = "at"   // the address that followers use
	ShareFor  = "for"  // lifetime of the link
)

// Share is the page that starts sharing pages with others, through a read-only link, and
// shows how many follow. It is not live: Shell.Live is left empty.
type Share struct {
	Shell            layout.Shell
	To, Stop, Cancel string // addresses
	Name, At, For    string // as typed
	Addresses        []string
	Spans            []LinkLifetime
	Local            bool // only this machine can reach the address
	Refused          component.Notice

	Active    bool         // a link exists
	URL       string       // of the link; empty if unknown
	QR        component.QR // unless Local
	Until     time.Time    // when it expires; zero if unknown
	Followers int
	Key       string // of the presentation, for the presenter's tab
	TalkName  string
	Ended     bool // it has just been ended
}

// A LinkLifetime is a lifetime of a link.
type LinkLifetime struct {
	Value string
	Hours int
}

// Full returns the whole page.
func (m Share) Full() templ.Component { return share(m) }

// Dialog returns the form of the page, which the script shows over another page.
func (m Share) Dialog() templ.Component { return shareAsks(m) }

// Watches returns nil, because the page is not live.
func (m Share) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Share) Parts() []view.Part { return m.Shell.Parts() }

// chosen reports whether s, the lifetime with index i, is selected in the form. The one with index
// 1 is selected by default.
func (m Share) chosen(i int, s LinkLifetime) bool {
	return s.Value == m.For || m.For == "" && i == 1
}

// hasRemoteNamespaces reports whether other servers serve some of the namespaces. Those
// cannot be presented, because a presentation belongs to one server.
func (m Share) hasRemoteNamespaces() bool {
	return slices.ContainsFunc(m.Shell.Namespaces, func(s layout.NamespaceLink) bool { return s.Elsewhere })
}

func (m Share) at(i int, address string) bool {
	return address == m.At || m.At == "" && i == 0
}
