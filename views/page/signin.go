package page

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/layout"
	"mayfly/views/view"
)

// The fields for signing in and for ending sessions.
const (
	FieldUser          = "user"
	FieldPassword      = "password"
	FieldSignInSession = "session"
	FieldAllOfUser     = "all"
)

// SignIn is the sign-in page. It shows nothing of the server, because the visitor is not known
// yet.
type SignIn struct {
	Shell     layout.Shell
	Action    string // address it posts to
	To        string // where to go after signing in
	Name      string // as typed
	Passwords bool   // users can sign in with passwords
	Others    []SignInProvider
	Wrong     bool          // wrong name or password
	Wait      time.Duration // how long to wait, if there were too many attempts
	Refused   string        // why signing in failed; empty if there is no reason to show
}

// A SignInProvider is another way to sign in, at another site.
type SignInProvider struct {
	Label string // the site's name
	Href  string
}

// Full returns the whole page.
func (m SignIn) Full() templ.Component { return signIn(m) }

// Watches returns nil, because the page is not live.
func (m SignIn) Watches() []string { return nil }

// Parts returns nil, because nothing in the page is live.
func (m SignIn) Parts() []view.Part { return nil }

// SignedOut is the page after signing out here, with a link to sign out at the identity
// provider too. It is shown without the rest of the dashboard.
type SignedOut struct {
	Shell     layout.Shell
	Elsewhere string // address that signs out at the provider
	Host      string // its host
	In        string // address of the sign-in page
}

// Full returns the whole page.
func (m SignedOut) Full() templ.Component { return signedOut(m) }

// Watches returns nil, because the page is not live.
func (m SignedOut) Watches() []string { return nil }

// Parts returns nil, because nothing in the page is live.
func (m SignedOut) Parts() []view.Part { return nil }

// MaxSignInSessions is how many sessions SignInSessions lists at most.
const MaxSignInSessions = 200

// SignInSessions is the page of all sign-in sessions. It is not live.
type SignInSessions struct {
	Shell layout.Shell
	End   string // the address that ends sessions
	Rows  []SignInSessionRow
	More  int // sessions that are not listed
	Now   time.Time
}

// A SignInSessionRow is a sign-in session.
type SignInSessionRow struct {
	ID        string
	Name      string
	Role      string // viewer, operator or admin
	Method    string // password or openid
	From      string // address it was started from
	Agent     string // the browser's User-Agent, cut if it is long; empty means none
	Started   time.Time
	Seen      time.Time
	Here      bool // the viewer's own session
	OthersToo bool // the user has other sessions
}

// Full returns the whole page.
func (m SignInSessions) Full() templ.Component { return signInSessions(m.counted()) }

// counted sets OthersToo of every row.
func (m SignInSessions) counted() SignInSessions {
	n := map[string]int{}
	for _, r := range m.Rows {
		n[r.Name]++
	}
	rows := make([]SignInSessionRow, len(m.Rows))
	for i, r := range m.Rows {
		r.OthersToo = n[r.Name] > 1
		rows[i] = r
	}
	m.Rows = rows
	return m
}

// Watches returns nil, because the page is not live.
func (m SignInSessions) Watches() []string { return nil }

// Parts returns nil, because nothing in the page is live.
func (m SignInSessions) Parts() []view.Part { return nil }
