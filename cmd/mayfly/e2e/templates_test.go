package e2e

import (
	"strings"
	"testing"

	"mayfly/cmd/mayfly/server"
)

func TestViewsAndTemplatesOnTheCommandLine(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	says := func(in string, code int, want string, args ...string) string {
		t.Helper()
		out, complaint, got := RunCommand(t, in, append(args, "--server", s.Dashboard)...)
		if got != code || !strings.Contains(out+complaint, want) {
			t.Errorf("%q: %d %q %q; want %d %q", args, got, out, complaint, code, want)
		}
		return out
	}
	says("", 0, "The view late orders has 3 columns.", "views", "set", "late orders", "seq", "prop.region", "json.customer.id", "--list", "messages", "--list", "search", "--default")
	says("", 0, "late orders  messages, search  default  seq prop.region json.customer.id", "views")
	says("", 0, "The view late orders has 1 column.", "views", "set", "late orders", "seq")
	says("", 0, "late orders  all             seq", "views")
	says("", 4, "", "views", "set", "late orders", "colour of it")
	says("", 4, "", "views", "set", "late orders", "seq", "--list", "friends")
	says("", 0, "Deleted the view late orders.", "views", "delete", "late orders")
	says("", 3, "The view 'late orders' does not exist", "views", "delete", "late orders")

	says(`{"subject":"order {{n}}","repeat":2}`, 0, "Saved the template late orders.", "templates", "set", "late orders")
	says("", 0, "late orders", "templates")
	kept := says("", 0, `{"subject":"order {{n}}","repeat":2}`, "templates", "show", "late orders")
	says(kept, 0, "Saved the template again.", "templates", "set", "again")
	says(`{"colour":"red"}`, 4, "colour", "templates", "set", "bad")
	says("", 0, "Sent 2 messages to orders", "send", "orders", "--template", "again", "--create")
	says("", 0, "Deleted the template again.", "templates", "delete", "again")
	says("", 3, "", "templates", "show", "again")
	says("", 3, "", "templates", "delete", "again")
}
