package story

import (
	"strconv"
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page/activity"
)

func activityStories() []Story {
	return []Story{
		{Name: "activity", Page: activityPage()},
		{Name: "activity-everything", Page: activityEverything()},
		{Name: "activity-older", Page: activityOlder()},
		{Name: "activity-searching", Page: activitySearching()},
		{Name: "activity-nothing", Page: activityNothing()},
		{Name: "activity-empty", Page: activityEmpty()},
		{Name: "activity-none", Page: activity.Activity{Shell: shell("Activity", layout.Activity, "/activity"), NoHistory: true}},
	}
}

func activityFilter(scope string) activity.Filter {
	all := home + "/activity"
	if scope != "" {
		all += "?scope=" + scope
	}
	return activity.Filter{
		Scope: scope, Paths: []string{"orders", "payments", "prices", "prices/eu"}, All: all, MaxExported: 100_000,
		CSV: home + "/activity/export?format=csv", JSON: home + "/activity/export?format=jsonl",
		Groups: []component.Option{{Label: "any"}, {Value: "entities", Label: "entities and rules"}, {Value: "ends", Label: "messages that are no more"}},
	}
}

func scopes(current string) (out []component.Choice) {
	for _, c := range []struct{ scope, label string }{{"", "Audited and system"}, {"audit", "Audited"}, {"system", "System"}, {"all", "Everything"}} {
		href := home + "/activity"
		if c.scope != "" {
			href += "?scope=" + c.scope
		}
		out = append(out, component.Choice{Label: c.label, Href: href, Current: c.scope == current})
	}
	return out
}

func activityRow(n int, when time.Time, icon string, tone component.Tone, entity string, says ...component.Text) activity.Row {
	d := activity.Row{
		Key: "7-" + strconv.Itoa(n), At: when, Today: when.Day() == now.Day(), Entity: entity, Icon: icon, Tone: tone, Text: says,
	}
	if entity != "" {
		d.Href = queueURL(entity)
	}
	return d
}

func by(d activity.Row, protocol, actor string) activity.Row {
	d.Protocol, d.Actor, d.Audited = protocol, actor, true
	return d
}

func toMessage(key, name string) component.Text {
	return component.Text{S: name, Href: home + "/m/" + key}
}

func activityRows() []activity.Row {
	yesterday := at("17:20:41").AddDate(0, 0, -1)
	return []activity.Row{
		by(activityRow(48_240, at("10:03:58"), "trash", component.Lost, "payments/$DLQ", plainText("1,118 messages purged")), "", "the dashboard"),
		activityRow(48_219, at("10:03:51"), "tomb", component.Lost, "reply-91c2", plainText("deleted itself, empty")),
		by(activityRow(48_201, at("10:02:44"), "resubmit", component.Plenty, "payments/$DLQ", toMessage("48201", "refund.requested"), plainText(" resubmitted to payments")), "dashboard", "10.0.0.17"),
		by(activityRow(48_190, at("10:01:12"), "pin", component.Plenty, "acceptance-nightly", plainText("pinned: never deletes itself")), "", "the dashboard"),
		by(activityRow(48_011, at("09:58:03"), "plus", component.Plenty, "europe/retail/backoffice/order-confirmations-to-be-archived", plainText("created")), "API", "10.0.0.4"),
		activityRow(47_990, at("09:57:31"), "check", component.Plenty, "", plainText("the store accepts writes again")),
		activityRow(47_989, at("09:55:02"), "locked", component.Lost, "", plainText("the store accepts no writes · the disk is full")),
		activityRow(47_120, at("09:31:40"), "warn", component.Low, "", plainText("1,204 events were not remembered")),
		by(activityRow(301, at("08:00:07"), "trash", component.Lost, "load-test-0713", plainText("deleted with 204 messages")), "REST", "10.0.0.9"),
		activityRow(1, at("08:00:01"), "check", component.Plenty, "", plainText("the server started"), plainText(" · epoch 7")),
		activityRow(90_233, yesterday, "lost", component.Low, "", plainText("the server was stopped")),
	}
}

func activityPage() activity.Activity {
	return activity.Activity{
		Shell: picking("/activity"), Scopes: scopes(""), Filter: activityFilter(""), Rows: activityRows(), Note: "11 lines",
		Lede:  []component.Text{strongText("What operators did, and what happened to the server."), plainText(" Remembered for 7d at most.")},
		Older: home + "/activity?cursor=1784000000000-7-12",
	}
}

// picking returns the shell of a live page whose rows can be selected.
func picking(path string) layout.Shell {
	sh := shell("Activity", layout.Activity, path)
	sh.Live.Selectable = true
	return sh
}

func activityEverything() activity.Activity {
	m := activityPage()
	m.Shell = picking("/activity?scope=all&group=ends&path=orders")
	m.Scopes, m.Filter, m.Audited = scopes("all"), activityFilter("all"), true
	m.Filter.Text, m.Filter.Path, m.Filter.Group, m.Filter.From, m.Filter.Until = "10.0.0", "order", "ends", "2026-07-14T09:00", "2026-07-14T12:00"
	m.Filter.Errors = map[string]string{activity.FieldPath: "'/order' is not the path of an entity."}
	m.Rows = append([]activity.Row{
		activityRow(48_260, at("10:04:10"), "check", component.Plenty, "orders", toMessage("48260", "order.placed"), plainText(" completed")),
		activityRow(48_259, at("10:04:09"), "lost", component.Lost, "prices/us", toMessage("48259", "a-subject-that-goes-on-and-on-without-any-break-whatsoever-until-it-has-to-be-cut…"), plainText(" ran out of time and is lost")),
	}, m.Rows...)
	m.Rows[0].Actor = "worker-1"
	return m
}

func activityOlder() activity.Activity {
	m := activityPage()
	m.Shell.Live = layout.Live{}
	m.Rows, m.Note, m.Older, m.Newest = m.Rows[8:], "3 lines", "", home+"/activity"
	return m
}

func activitySearching() activity.Activity {
	m := activityPage()
	m.Filter.Actor, m.Rows, m.Note, m.Since = "worker-12", nil, "", at("09:12:44")
	return m
}

func activityNothing() activity.Activity {
	m := activityPage()
	m.Filter.Text, m.Rows, m.Note, m.Older = "nobody", nil, "", ""
	return m
}

func activityEmpty() activity.Activity {
	m := activityPage()
	m.Rows, m.Note, m.Older = nil, "", ""
	return m
}
