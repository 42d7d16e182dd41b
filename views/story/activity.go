package story

import (
	"strconv"
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
)

func activityStories() []Story {
	return []Story{
		{Name: "activity", Page: activity()},
		{Name: "activity-everything", Page: activityEverything()},
		{Name: "activity-older", Page: activityOlder()},
		{Name: "activity-searching", Page: activitySearching()},
		{Name: "activity-nothing", Page: activityNothing()},
		{Name: "activity-empty", Page: activityEmpty()},
		{Name: "activity-none", Page: page.Activity{Shell: shell("Activity", layout.Activity, "/activity"), None: true}},
	}
}

func sieve(scope string) page.Sieve {
	all := home + "/activity"
	if scope != "" {
		all += "?scope=" + scope
	}
	return page.Sieve{
		Scope: scope, Paths: []string{"orders", "payments", "prices", "prices/eu"}, All: all, MostExported: 100_000,
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

func deed(n int, when time.Time, icon string, tone component.Tone, entity string, says ...component.Text) page.Deed {
	d := page.Deed{
		Key: "7-" + strconv.Itoa(n), At: when, Today: when.Day() == now.Day(), Entity: entity, Icon: icon, Tone: tone, Says: says,
	}
	if entity != "" {
		d.Href = home + "/q/" + entity
	}
	return d
}

func by(d page.Deed, door, who string) page.Deed {
	d.Door, d.By, d.Audited = door, who, true
	return d
}

func toMessage(key, name string) component.Text {
	return component.Text{S: name, Href: home + "/m/" + key}
}

func deeds() []page.Deed {
	yesterday := at("17:20:41").AddDate(0, 0, -1)
	return []page.Deed{
		by(deed(48_240, at("10:03:58"), "trash", component.Lost, "payments/$DLQ", s("1,118 messages purged")), "", "the dashboard"),
		deed(48_219, at("10:03:51"), "tomb", component.Lost, "reply-91c2", s("deleted itself, empty")),
		by(deed(48_201, at("10:02:44"), "resubmit", component.Plenty, "payments/$DLQ", toMessage("48201", "refund.requested"), s(" resubmitted to payments")), "dashboard", "10.0.0.17"),
		by(deed(48_190, at("10:01:12"), "pin", component.Plenty, "acceptance-nightly", s("pinned: never deletes itself")), "", "the dashboard"),
		by(deed(48_011, at("09:58:03"), "plus", component.Plenty, "europe/retail/backoffice/order-confirmations-to-be-archived", s("created")), "API", "10.0.0.4"),
		deed(47_990, at("09:57:31"), "check", component.Plenty, "", s("the store takes writes again")),
		deed(47_989, at("09:55:02"), "locked", component.Lost, "", s("the store takes no writes · the disk is full")),
		deed(47_120, at("09:31:40"), "warn", component.Low, "", s("1,204 events were not remembered")),
		by(deed(301, at("08:00:07"), "trash", component.Lost, "load-test-0713", s("deleted with 204 messages")), "REST", "10.0.0.9"),
		deed(1, at("08:00:01"), "check", component.Plenty, "", s("the server started"), s(" · epoch 7")),
		deed(90_233, yesterday, "lost", component.Low, "", s("the server was stopped")),
	}
}

func activity() page.Activity {
	return page.Activity{
		Shell: picking("/activity"), Scopes: scopes(""), Sieve: sieve(""), Deeds: deeds(), Note: "11 lines",
		Lede:  []component.Text{strong("What operators did, and what happened to the server."), s(" Remembered for 7d at most.")},
		Older: home + "/activity?before=1784000000000-7-12",
	}
}

// picking is the shell of a page whose form would be forgotten.
func picking(path string) layout.Shell {
	sh := shell("Activity", layout.Activity, path)
	sh.Live.Picking = true
	return sh
}

func activityEverything() page.Activity {
	m := activity()
	m.Shell = picking("/activity?scope=all&group=ends&path=orders")
	m.Scopes, m.Sieve, m.Audited = scopes("all"), sieve("all"), true
	m.Sieve.Text, m.Sieve.Path, m.Sieve.Group, m.Sieve.From, m.Sieve.Until = "10.0.0", "order", "ends", "2026-07-14T09:00", "2026-07-14T12:00"
	m.Sieve.Wrong = map[string]string{page.SievePath: "'/order' is not the path of an entity."}
	m.Deeds = append([]page.Deed{
		deed(48_260, at("10:04:10"), "check", component.Plenty, "orders", toMessage("48260", "order.placed"), s(" completed")),
		deed(48_259, at("10:04:09"), "lost", component.Lost, "prices/us", toMessage("48259", "a-subject-that-goes-on-and-on-without-any-break-whatsoever-until-it-has-to-be-cut…"), s(" ran out of time and is lost")),
	}, m.Deeds...)
	m.Deeds[0].By = "worker-1"
	return m
}

func activityOlder() page.Activity {
	m := activity()
	m.Shell.Live = layout.Live{}
	m.Deeds, m.Note, m.Older, m.Newest = m.Deeds[8:], "3 lines", "", home+"/activity"
	return m
}

func activitySearching() page.Activity {
	m := activity()
	m.Sieve.Actor, m.Deeds, m.Note, m.Since = "worker-12", nil, "", at("09:12:44")
	return m
}

func activityNothing() page.Activity {
	m := activity()
	m.Sieve.Text, m.Deeds, m.Note, m.Older = "nobody", nil, "", ""
	return m
}

func activityEmpty() page.Activity {
	m := activity()
	m.Deeds, m.Note, m.Older = nil, "", ""
	return m
}
