package admin

import "mayfly/views/sample"

// ConnectionInfo holds what programs need to connect. The zero ConnectionInfo means that they
// cannot connect.
type ConnectionInfo struct {
	String, Admin string // connection strings, for messages and for administration; empty means none
	RequiresKeys  bool   // the server checks tokens: the strings have KEY in place of a key
	KeysURL       string // address of the keys; empty means none
	Task          sample.Task
}

// Programs reports whether there are code samples to show.
func (d ConnectionInfo) Programs() bool { return d.String != "" && (d.Task.Sends || d.Task.Receives) }

// Does returns the text ids of what the programs do, without and with the entity's name.
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
