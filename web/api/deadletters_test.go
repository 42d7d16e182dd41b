package api

import (
	"fmt"
	"testing"

	"mayfly/engine/broker"
)

// TestDeadLettersByGroup: a group's query matches the messages that the group counts, and a
// job with it changes only these.
func TestDeadLettersByGroup(t *testing.T) {
	w := start(t, broker.Options{})
	die := func(entity, reason, text string, times int) {
		t.Helper()
		for range times {
			w.want(201, "POST", "/send/"+entity, `{"body":"x"}`, nil)
			var got Messages
			w.want(200, "POST", "/receive/"+entity, `{}`, &got)
			w.want(204, "POST", "/settle", fmt.Sprintf(`{"lockToken":%q,"outcome":"dead-letter","reason":%q,"description":%q}`, got.Messages[0].LockToken, reason, text), nil)
		}
	}
	for _, q := range []string{"orders", "bills"} {
		w.want(201, "POST", "/entities", `{"kind":"queue","path":"`+q+`"}`, nil)
	}
	die("orders", "Boom", "timeout after 100 ms", 2)
	die("orders", "boom", "Timeout after 7.5 ms", 1) // case does not matter
	die("orders", "Boom", `no "such" order *`, 2)
	die("orders", "Boom", "", 1)
	die("orders", "", "", 1)
	die("bills", "Boom", "timeout after 1 ms", 1)

	var all DeadLetterGroups
	w.want(200, "GET", "/dead-letters?entity=ORDERS", "", &all)
	var body string
	for _, g := range all.Groups {
		body += fmt.Sprintf("%d %s|%s\n", g.Count, g.Reason, g.Error)
		var f JobPreview
		w.want(200, "POST", "/jobs", fmt.Sprintf(`{"kind":"resubmit","paths":["orders/$DeadLetterQueue"],"query":%q,"dryRun":true}`, g.Query), &f)
		if f.Matching != g.Count {
			t.Errorf("%s matches %d dead letters, want %d", g.Query, f.Matching, g.Count)
		}
		if g.FirstAt == nil || g.LastAt == nil || g.LastAt.Before(*g.FirstAt) || g.Path != "orders/$DeadLetterQueue" || len(g.Paths) != 1 || g.Sources[0].Path != "orders" || g.Sources[0].Count != g.Count {
			t.Errorf("%+v", g)
		}
	}
	if want := "3 Boom|timeout after # ms\n2 Boom|no \"such\" order *\n1 |\n1 Boom|\n"; body != want || all.Examined != 7 || all.Total != 7 {
		t.Errorf("%d of %d groups:\n%s, want\n%s", all.Examined, all.Total, body, want)
	}
	w.want(200, "GET", "/dead-letters", "", &all)
	if g := all.Groups[0]; g.Count != 4 || len(g.Paths) != 2 || g.Paths[0].Path != "orders/$DeadLetterQueue" || g.Paths[0].Count != 3 || all.Total != 8 {
		t.Errorf("of all entities: %+v", all)
	}
	w.want(404, "GET", "/dead-letters?entity=nowhere", "", nil)

	// A job with a group's query takes only its messages.
	var is Job
	w.want(200, "POST", "/jobs", fmt.Sprintf(`{"kind":"resubmit","paths":["orders/$DeadLetterQueue"],"query":%q,"expectedCount":3}`, all.Groups[0].Query), &is)
	w.want(200, "GET", fmt.Sprint("/jobs/", is.ID, "?wait=30s"), "", &is)
	all = DeadLetterGroups{}
	if w.want(200, "GET", "/dead-letters?entity=orders", "", &all); is.Counts.Done != 3 || all.Total != 4 || all.Groups[0].Error != `no "such" order *` {
		t.Errorf("%d were resubmitted, but got %+v", is.Counts.Done, all)
	}
}
