package admin

import "mayfly/views/sample"

// ConnectionInfo is how programs connect. The zero ConnectionInfo means that they cannot.
type ConnectionInfo struct {
	String, Admin string // connection strings, for messages and for administration; empty means none
	RequiresKeys  bool   // the server checks tokens: the strings have KEY in place of a key
	KeysURL       string // address of the keys; empty means none
	Task          sample.Task
}

// Programs reports whether there are code samples to show.
func (d ConnectionInfo) Programs() bool { return d.String != "" && (d.Task.Sends || d.Task.Receives) }

// Does returns text ids of what the programs do, and of the same with the entity's name.
func (d ConnectionInfo) Does() (what, with string) {
	switch {
	case !d.Task.Receives:
		return "connect.sends", "connect.sends.title"
	case !d.Task.Sends:
		return "connect.receives", "connect.receives.title"
	default:
		return "connect.both", "connect.both.title"
	}
}
