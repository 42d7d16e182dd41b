package page

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/layout"
	"mayfly/views/view"
)

// Standby replaces every page while this server owns no namespace. With or without scripts it
// reloads every few seconds, until the requested page can be shown; Shell.Live is left empty.
type Standby struct {
	Shell    layout.Shell // with Refresh
	Owned    bool         // another server, Owner, owns the namespace
	Owner    Owner
	Why      string        // why this server cannot take over if no other server does; empty if it is ready to take over
	Within   time.Duration // the most time until it takes over
	Since    time.Time     // since when it has been waiting
	Now      time.Time
	StoredIn string // where the namespace is stored, for display; empty if not shown
}

// An Owner is a server that owns a namespace.
type Owner struct {
	URL   string // of its dashboard; empty if unknown
	Host  string // its machine's name; empty if unknown
	Epoch uint64
}

// link reports whether URL is safe to link to: it comes from a database that others can write
// to.
func (o Owner) link() bool {
	return strings.HasPrefix(o.URL, "http://") || strings.HasPrefix(o.URL, "https://")
}

// Full returns the whole page.
func (m Standby) Full() templ.Component { return standby(m) }

// Watches returns nil, because the page is not live.
func (m Standby) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Standby) Parts() []view.Part { return m.Shell.Parts() }
