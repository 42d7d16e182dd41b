package page

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/locale"
)

// A bulk is something that is done to the rows that are chosen.
type bulk struct {
	do, icon, name string         // name is the id of the words, with the number as a place
	by             string         // sent along as AskBy; empty: nothing
	look           component.Look // Danger: it destroys them
	aside          bool           // it stands behind More
	asks           bool           // it may ask first, which the script shows over the page
}

// Every is all that a table shows a part of: what is done to it is done as a job,
// which counts it first.
type Every struct {
	N     int    // how many; zero: not known
	At    string // the path of an entity; empty: anywhere
	Query string // of engine/search; empty: all that is there
	Shown bool   // there is more than the page has, or it shows what matches something
	Still bool   // it stays as it is
}

func (e Every) living() templ.Attributes {
	if e.Still {
		return nil
	}
	return templ.Attributes{"data-slot": "every"}
}

// words are what is chosen: "All 1,204 that match".
func (e Every) words(ctx context.Context) string {
	switch {
	case e.N == 0:
		return locale.T(ctx, "bulk.every.some")
	case e.Query == "":
		return locale.N(ctx, "bulk.every.here", e.N)
	default:
		return locale.N(ctx, "bulk.every", e.N)
	}
}

// bulksOf are bulks by what they do; "time" asks by how much to extend.
func bulksOf(names ...string) (out []bulk) {
	all := map[string]bulk{
		"resubmit":    {do: "resubmit", icon: "resubmit", name: "bulk.resubmit", asks: true},
		"copy":        {do: "copy", icon: "copy", name: "bulk.copy", asks: true},
		"return":      {do: "return", icon: "restore", name: "bulk.return"},
		"extend":      {do: "extend", icon: "plus", name: "bulk.extend", by: "10m"},
		"time":        {do: "extend", icon: "clock", name: "bulk.time", aside: true, asks: true},
		"break-lock":  {do: "break-lock", icon: "locked", name: "bulk.break"},
		"send-now":    {do: "send-now", icon: "send", name: "bulk.sendnow"},
		"reschedule":  {do: "reschedule", icon: "clock", name: "bulk.reschedule", asks: true},
		"dead-letter": {do: "dead-letter", icon: "dead", name: "bulk.dead", asks: true},
		"move":        {do: "move", icon: "forward", name: "bulk.move", asks: true},
		"export":      {do: "export", icon: "export", name: "bulk.export", aside: true},
		"cancel":      {do: "cancel", icon: "close", name: "bulk.cancel", look: component.Danger, asks: true},
		"delete":      {do: "delete", icon: "trash", name: "bulk.delete", look: component.Danger, asks: true},
	}
	for _, name := range names {
		out = append(out, all[name])
	}
	return out
}

// bulks are what is done to the messages of a tab.
func (t Tab) bulks() []bulk {
	switch t {
	case DeadLetters:
		return bulksOf("resubmit", "copy", "move", "export", "delete")
	case Transfers:
		return bulksOf("resubmit", "export", "delete")
	case Waiting:
		return bulksOf("send-now", "reschedule", "export", "cancel")
	case Parked:
		return parkedBulks()
	case Held:
		return bulksOf("extend", "break-lock", "time", "export")
	default:
		return bulksOf("extend", "dead-letter", "move", "time", "export", "delete")
	}
}

// parkedBulks are what is done to deferred messages.
func parkedBulks() []bulk {
	return bulksOf("return", "extend", "dead-letter", "move", "time", "export", "delete")
}

// foundBulks are what is done to messages that were found, whatever their state.
func foundBulks() []bulk {
	return bulksOf("resubmit", "dead-letter", "move", "extend", "time", "export", "delete")
}
