package layout

import "slices"

// A Section is an item of the rail.
type Section string

// The sections there are. A page that belongs to none has the empty one.
const (
	Overview    Section = "overview"
	Expirations Section = "expirations"
	Queues      Section = "queues"
	Topics      Section = "topics"
	Deferred    Section = "deferred"
	Temporary   Section = "temporary"
	Connected   Section = "connections"
	Search      Section = "search"
	Activity    Section = "activity"
	Access      Section = "access"
	Scenes      Section = "scenes" // of the server, and of no namespace
)

// inBar is how many sections a phone's screen has room for, beside More.
const inBar = 4

// Sections are all there are, in the rail's order.
func Sections() []Section {
	return []Section{Overview, Expirations, Queues, Topics, Deferred, Search, Temporary, Scenes, Connected, Activity, Access}
}

// sections are those that a page leads to.
func (s Shell) sections() []Section {
	if s.Scenes != "" {
		return Sections()
	}
	return slices.DeleteFunc(Sections(), func(at Section) bool { return at == Scenes })
}

// at is the address of a section.
func (s Shell) at(to Section) string {
	if to == Scenes {
		return s.Scenes
	}
	return s.Home + to.Below()
}

// inMore tells whether the page's section is one of those behind More.
func (s Shell) inMore() bool { return slices.Contains(s.sections()[inBar:], s.Active) }

// Below is what follows the namespace's address.
func (s Section) Below() string {
	if s == Overview {
		return ""
	}
	return "/" + string(s)
}

// Icon is the section's.
func (s Section) Icon() string {
	switch s {
	case Temporary:
		return "hourglass"
	case Connected:
		return "plug"
	case Access:
		return "key"
	}
	return string(s)
}

// Words is the id of what the section is called.
func (s Section) Words() string {
	return map[Section]string{
		Overview: "rail.overview", Expirations: "rail.expirations", Queues: "rail.queues", Topics: "rail.topics", Deferred: "rail.deferred",
		Search: "rail.search", Temporary: "rail.temporary", Connected: "rail.connections", Activity: "rail.activity", Access: "rail.access", Scenes: "rail.scenes",
	}[s]
}
