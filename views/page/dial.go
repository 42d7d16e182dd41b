package page

import "mayfly/views/sample"

// Dial is how programs connect. The zero Dial is that they cannot.
type Dial struct {
	String, Admin string // what SDKs are given: for messages, and for entities; empty: not to be had
	Keyed         bool   // tokens are asked for: the strings have KEY where a key is to stand
	Keys          string // where keys are shown; empty: nowhere
	Task          sample.Task
}

// programs tells whether there is something to write a program for.
func (d Dial) programs() bool { return d.String != "" && (d.Task.Sends || d.Task.Receives) }

// does is what the programs do, and what they do with an entity: ids of words.
func (d Dial) does() (what, with string) {
	switch {
	case !d.Task.Receives:
		return "connect.sends", "connect.sends.title"
	case !d.Task.Sends:
		return "connect.receives", "connect.receives.title"
	default:
		return "connect.both", "connect.both.title"
	}
}

// starts tells whether the open tab says how a program begins with the entity.
func (m Entity) starts() bool {
	return m.Dial.programs() && (m.tab() == Messages || m.tab() == Subscribers)
}
