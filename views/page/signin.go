package page

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/layout"
	"mayfly/views/view"
)

// Names of what is asked for to sign in, and to end sessions.
const (
	AskUser     = "user"
	AskPassword = "password"
	AskSignedIn = "session"
	AskAllOf    = "all"
)

// SignIn is the page where people say who they are. It stands alone: who is not known
// is shown nothing of the server.
type SignIn struct {
	Shell     layout.Shell
	Action    string // the address that the form is sent to
	To        string // where to go then
	Name      string // as it was typed
	Passwords bool   // there are users with passwords
	Others    []OtherWay
	Wrong     bool          // the name or the password was
	Wait      time.Duration // there were too many tries: for so long
	Refused   string        // what there is to say of that; empty: nothing
}

// An OtherWay is one to sign in somewhere else.
type OtherWay struct {
	Label string // what people know the other place by
	Href  string
}

// Full is the page.
func (m SignIn) Full() templ.Component { return signIn(m) }

// Watches is nil; the page stands still.
func (m SignIn) Watches() []string { return nil }

// Parts is nil: nothing in it is live.
func (m SignIn) Parts() []view.Part { return nil }

// SignedOut is the page of somebody who has signed out here, and is led to where that
// can be done as well. It stands alone.
type SignedOut struct {
	Shell     layout.Shell
	Elsewhere string // an address
	Host      string // of that
	In        string // the address to sign in again
}

// Full is the page.
func (m SignedOut) Full() templ.Component { return signedOut(m) }

// Watches is nil; the page stands still.
func (m SignedOut) Watches() []string { return nil }

// Parts is nil: nothing in it is live.
func (m SignedOut) Parts() []view.Part { return nil }

// MostSignedIn is how many sessions SignedIn has at most.
const MostSignedIn = 200

// SignedIn is the page of who has signed in. It stands still.
type SignedIn struct {
	Shell layout.Shell
	End   string // the address that ends sessions
	Rows  []SignedInRow
	More  int // sessions that are not among them
	Now   time.Time
}

// A SignedInRow is one session.
type SignedInRow struct {
	ID        string
	Name      string
	Role      string // viewer, operator or admin
	Way       string // password or openid
	From      string // the address that it was begun from
	Agent     string // what the browser says that it is; empty: it does not
	Begun     time.Time
	Seen      time.Time
	Here      bool // it is that of who looks
	OthersToo bool // the user has others
}

// Full is the page.
func (m SignedIn) Full() templ.Component { return signedIn(m.counted()) }

// counted knows of each row whether its user has others.
func (m SignedIn) counted() SignedIn {
	n := map[string]int{}
	for _, r := range m.Rows {
		n[r.Name]++
	}
	rows := make([]SignedInRow, len(m.Rows))
	for i, r := range m.Rows {
		r.OthersToo = n[r.Name] > 1
		rows[i] = r
	}
	m.Rows = rows
	return m
}

// Watches is nil; the page stands still.
func (m SignedIn) Watches() []string { return nil }

// Parts is nil: nothing in it is live.
func (m SignedIn) Parts() []view.Part { return nil }
