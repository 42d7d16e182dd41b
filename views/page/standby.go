package page

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/layout"
	"mayfly/views/view"
)

// Standby stands in the place of every page while this server owns no
// namespace. It loads itself again every few seconds, so that with or without
// scripts the page that was asked for comes up when there is one; Shell.Live is
// left empty.
type Standby struct {
	Shell  layout.Shell // with Refresh
	Owned  bool         // another server owns the namespace, as Owner says
	Owner  Owner
	Why    string        // what keeps this server from owning it if nobody else does; empty: it is about to
	Within time.Duration // of the owner's death this server takes over
	Since  time.Time     // since when it waits
	Now    time.Time
	Kept   string // where the namespace is kept, for people; empty: not said
}

// An Owner is a server that owns a namespace.
type Owner struct {
	URL   string // of its dashboard; empty: not known
	Host  string // name of its machine; empty: not known
	Epoch uint64
}

// link says whether URL is something to follow: it comes from a database that
// others write, too.
func (o Owner) link() bool {
	return strings.HasPrefix(o.URL, "http://") || strings.HasPrefix(o.URL, "https://")
}

// Full is the page.
func (m Standby) Full() templ.Component { return standby(m) }

// Watches is nil; the page stands still.
func (m Standby) Watches() []string { return nil }

// Parts is what is live in the page: the shell.
func (m Standby) Parts() []view.Part { return m.Shell.Parts() }
