package list

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// A BulkAction is an action on the selected rows.
type BulkAction struct {
	path, icon, name string                // name is a text id; the text contains the number
	by               string                // sent along as FieldBy; empty means none
	look             component.ButtonStyle // Danger: it deletes messages
	inMenu           bool                  // listed under More
	confirms         bool                  // it may ask for confirmation, which the script shows over the page
}

// AllMatching is the selection of all messages that match, of which a table shows only some.
// Actions on it run as a job, which counts the messages first.
type AllMatching struct {
	Count   int    // how many; zero if unknown
	Path    string // the path of an entity; empty means anywhere
	Query   string // of engine/search; empty means all messages
	Shown   bool   // there are more than the page shows, or a filter is set
	NotLive bool   // the list is not live
}

func (e AllMatching) liveAttribute() templ.Attributes {
	if e.NotLive {
		return nil
	}
	return templ.Attributes{"data-slot": "every"}
}

// words returns the label of the selection: "All 1,204 that match".
func (e AllMatching) words(ctx context.Context) string {
	switch {
	case e.Count == 0:
		return locale.T(ctx, "bulk.every.some")
	case e.Query == "":
		return locale.N(ctx, "bulk.every.here", e.Count)
	default:
		return locale.N(ctx, "bulk.every", e.Count)
	}
}

// allBulkActions are the bulk actions by name; "time" asks for the duration of an extension.
var allBulkActions = map[string]BulkAction{
	"resubmit":    {path: "resubmit", icon: "resubmit", name: "bulk.resubmit", confirms: true},
	"copy":        {path: "copy", icon: "copy", name: "bulk.copy", confirms: true},
	"return":      {path: "return", icon: "restore", name: "bulk.return"},
	"extend":      {path: "extend", icon: "plus", name: "bulk.extend", by: "10m"},
	"time":        {path: "extend", icon: "clock", name: "bulk.time", inMenu: true, confirms: true},
	"break-lock":  {path: "break-lock", icon: "locked", name: "bulk.break"},
	"send-now":    {path: "send-now", icon: "send", name: "bulk.sendnow"},
	"reschedule":  {path: "reschedule", icon: "clock", name: "bulk.reschedule", confirms: true},
	"dead-letter": {path: "dead-letter", icon: "dead", name: "bulk.dead", confirms: true},
	"move":        {path: "move", icon: "forward", name: "bulk.move", confirms: true},
	"export":      {path: "export", icon: "export", name: "bulk.export", inMenu: true},
	"cancel":      {path: "cancel", icon: "close", name: "bulk.cancel", look: component.Danger, confirms: true},
	"delete":      {path: "delete", icon: "trash", name: "bulk.delete", look: component.Danger, confirms: true},
}

// bulkActions returns bulk actions by name.
func bulkActions(names ...string) (out []BulkAction) {
	for _, name := range names {
		out = append(out, allBulkActions[name])
	}
	return out
}

// TabBulkActions returns the actions on the messages of a tab.
func TabBulkActions(t page.Tab) []BulkAction {
	switch t {
	case page.TabDeadLetters:
		return bulkActions("resubmit", "copy", "move", "export", "delete")
	case page.TabTransfers:
		return bulkActions("resubmit", "export", "delete")
	case page.TabScheduled:
		return bulkActions("send-now", "reschedule", "export", "cancel")
	case page.TabDeferred:
		return deferredBulkActions()
	case page.TabLocked:
		return bulkActions("extend", "break-lock", "time", "export")
	default:
		return bulkActions("extend", "dead-letter", "move", "time", "export", "delete")
	}
}

// deferredBulkActions returns the actions on deferred messages.
func deferredBulkActions() []BulkAction {
	return bulkActions("return", "extend", "dead-letter", "move", "time", "export", "delete")
}

// SearchBulkActions returns the actions on search results, whatever their state.
func SearchBulkActions() []BulkAction {
	return bulkActions("resubmit", "dead-letter", "move", "extend", "time", "export", "delete")
}

// countPlaceholder marks a number in a text that only the browser knows.
const countPlaceholder = "\uFFFC"

// SelectedCount returns the text with the given id. The stylesheet replaces its number with the
// count of selected rows, so that no script is needed.
func SelectedCount(id string) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		text := templ.EscapeString(locale.T(ctx, id, locale.Args{"N": countPlaceholder}))
		_, err := io.WriteString(w, strings.ReplaceAll(text, countPlaceholder, `<span class="picked" data-all="`+templ.EscapeString(locale.T(ctx, "bulk.all"))+`"></span>`))
		return err
	})
}
