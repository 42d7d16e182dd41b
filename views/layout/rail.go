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
)

// inBar is how many sections a phone's screen has room for, beside More.
const inBar = 4

// sections are all there are, in the rail's order.
func sections() []Section {
	return []Section{Overview, Expirations, Queues, Topics, Deferred, Search, Temporary, Connected, Activity, Access}
}

// inMore tells whether the page's section is one of those behind More.
func (s Shell) inMore() bool { return slices.Contains(sections()[inBar:], s.Active) }

// below is what follows the namespace's address.
func (s Section) below() string {
	if s == Overview {
		return ""
	}
	return "/" + string(s)
}

func (s Section) icon() string {
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

// words is the id of what the section is called.
func (s Section) words() string {
	return map[Section]string{
		Overview: "rail.overview", Expirations: "rail.expirations", Queues: "rail.queues", Topics: "rail.topics", Deferred: "rail.deferred",
		Search: "rail.search", Temporary: "rail.temporary", Connected: "rail.connections", Activity: "rail.activity", Access: "rail.access",
	}[s]
}
