package layout

import "slices"

// A Section is an item of the navigation rail.
type Section string

// The sections. A page outside of all sections has an empty one.
const (
	Overview    Section = "overview"
	Expirations Section = "expirations"
	Queues      Section = "queues"
	Topics      Section = "topics"
	Deferred    Section = "deferred"
	Temporary   Section = "temporary"
	Connections Section = "connections"
	Search      Section = "search"
	Activity    Section = "activity"
	Access      Section = "access"
	Scenes      Section = "scenes" // of the server, not of a namespace
	Docs        Section = "docs"   // of the server, like Scenes
)

// sectionsInBar is how many sections fit on a phone's screen, beside More.
const sectionsInBar = 4

// Sections returns all sections, in the rail's order.
func Sections() []Section {
	return []Section{Overview, Expirations, Queues, Topics, Deferred, Search, Temporary, Scenes, Connections, Activity, Access, Docs}
}

// sections returns the sections that a page links to.
func (s Shell) sections() []Section {
	return slices.DeleteFunc(Sections(), func(at Section) bool { return at == Scenes && s.Scenes == "" || at == Docs && s.Docs == "" })
}

// at returns the address of a section.
func (s Shell) at(to Section) string {
	switch to {
	case Scenes:
		return s.Scenes
	case Docs:
		return s.Docs
	}
	return s.Home + to.Path()
}

// inMore reports whether the page's section is in the menu More on a phone's screen.
func (s Shell) inMore() bool { return slices.Contains(s.sections()[sectionsInBar:], s.Active) }

// Path returns the section's path below the namespace's address.
func (s Section) Path() string {
	if s == Overview {
		return ""
	}
	return "/" + string(s)
}

// Icon returns the name of the section's icon.
func (s Section) Icon() string {
	switch s {
	case Temporary:
		return "hourglass"
	case Connections:
		return "plug"
	case Access:
		return "key"
	}
	return string(s)
}

// TextID returns the id of the section's name.
func (s Section) TextID() string {
	return map[Section]string{
		Overview: "rail.overview", Expirations: "rail.expirations", Queues: "rail.queues", Topics: "rail.topics", Deferred: "rail.deferred",
		Search: "rail.search", Temporary: "rail.temporary", Connections: "rail.connections", Activity: "rail.activity", Access: "rail.access", Scenes: "rail.scenes", Docs: "rail.docs",
	}[s]
}
