package story

import (
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page/activity"
)

func alertRows() []activity.AlertRuleRow {
	row := func(key string, w activity.AlertDescription) activity.AlertRuleRow {
		return activity.AlertRuleRow{Key: key, Href: home + "/alerts/" + key, Rule: w, Now: now}
	}
	rows := []activity.AlertRuleRow{
		row("1", activity.AlertDescription{Name: "late orders", When: "expiring", In: "orders", Query: "prop.region:eu", Within: "1m", Then: "extend", By: "10m", Times: 3, Webhook: "hooks.example.org", Signed: true}),
		row("2", activity.AlertDescription{Name: "dead letters", When: "dead-letter-count", Over: 100, Then: "notify"}),
		row("3", activity.AlertDescription{Name: hostileID, When: "dead-lettered", In: "pay*", Reason: "TTL*", Then: "notify"}),
		row("4", activity.AlertDescription{Name: "replies", When: "auto-deleting", In: "reply-*", Within: "30s", Then: "notify"}),
		row("5", activity.AlertDescription{Name: "keep them", When: "expiring", Within: "5s", Then: "dead-letter"}),
		row("6", activity.AlertDescription{Name: "lost", When: "expired", Then: "notify"}),
		row("7", activity.AlertDescription{Name: "left", When: "deleted", Then: "notify"}),
	}
	rows[0].Fired, rows[0].Done, rows[0].Last = 318, 311, now.Add(-12*time.Second)
	rows[1].Off = true
	rows[4].Trouble = "The server is busy: the store accepts no writes."
	return rows
}

func raisedAlerts() []activity.RaisedAlert {
	alert := func(key, rule, says, where, goes string, tone component.Tone, icon string) activity.RaisedAlert {
		return activity.RaisedAlert{Key: key, At: now.Add(-20 * time.Second), Now: now, Rule: rule, Href: home + "/alerts/1", Text: says, Where: where, TargetURL: goes, Tone: tone, Icon: icon}
	}
	all := []activity.RaisedAlert{
		alert("5", "late orders", "order.placed is about to expire", "orders", home+"/m/7", component.Critical, "clock"),
		alert("4", "replies", "reply-7 is about to delete itself", "", home+"/q/reply-7", component.Critical, "hourglass"),
		alert("3", "late orders", "1,204 messages were given more time", "orders", home+"/expirations", component.Plenty, "clock"),
		alert("2", "gone", hostileID+" became a dead letter", "orders/$DLQ", "", component.Dead, "dead"),
	}
	all[0].Extend, all[1].Pin, all[3].Href = home+"/m/7/extend", home+"/q/reply-7/pin", ""
	return all
}

func alertsAll() activity.Alerts {
	return activity.Alerts{Shell: shell("Rescue and alerts", "", "/alerts"), New: home + "/alerts/new", Rules: alertRows(), Raised: raisedAlerts()}
}

func alertsNone() activity.Alerts {
	m := alertsAll()
	m.Rules, m.Raised = nil, nil
	return m
}

func alertOne() activity.AlertRule {
	return activity.AlertRule{
		Shell: shell("late orders", "", "/alerts/1"), All: home + "/alerts", Row: alertRows()[0], Missed: 12,
		Edit: home + "/alerts/1/edit", Test: home + "/alerts/1/test", Switch: home + "/alerts/1/off", Remove: home + "/alerts/1/remove",
		Raised: alertsOwn(),
		Deliveries: []activity.AlertDelivery{
			{Key: "c", At: now.Add(-time.Second), Now: now, State: "sending", Count: 12, Attempts: 2, Error: "The webhook answered 503 Service Unavailable."},
			{Key: "b", At: now.Add(-time.Minute), Now: now, State: "delivered", Count: 1204, Attempts: 1},
			{Key: "a", At: now.Add(-time.Hour), Now: now, State: "failed", Attempts: 8, Error: hostileID, Test: true},
		},
	}
}

// alertsOwn returns the alerts of one rule, for its page.
func alertsOwn() (own []activity.RaisedAlert) {
	for _, t := range raisedAlerts() {
		if t.Rule == "late orders" {
			t.Rule, t.Href = "", ""
			own = append(own, t)
		}
	}
	return own
}

func alertInTrouble() activity.AlertRule {
	m := alertOne()
	m.Row, m.Missed, m.Deliveries, m.Raised = alertRows()[4], 0, nil, nil
	return m
}

func alertNew() activity.AlertForm {
	return activity.AlertForm{
		Shell: shell("Rescue and alerts", layout.Section(""), "/alerts/new"), New: true, To: home + "/alerts/new", Try: home + "/alerts/try", Cancel: home + "/alerts",
		Conditions: []string{"expiring", "expired", "dead-lettered", "dead-letter-count", "auto-deleting", "auto-deleted"}, Actions: []string{"notify", "extend", "dead-letter"},
		Entities: []string{"orders", "payments"},
		Values: map[string]string{
			activity.AlertName: "late orders", activity.AlertWhen: "expiring", activity.AlertIn: "orders", activity.AlertWithin: "1m", activity.AlertThen: "extend", activity.AlertExtendBy: "10m", activity.AlertMaxExtensions: "3",
		},
		Preview: activity.AlertPreview{Asked: true, Known: true, Count: 14, Sample: []string{"order.placed #12", hostileID}},
	}
}

func alertRefused() activity.AlertForm {
	m := alertNew()
	m.New, m.Secret, m.Preview = false, true, activity.AlertPreview{}
	m.Errors = map[string]component.Text{activity.AlertWithin: component.ServerText("'within' must be between 1s and 7d."), activity.AlertURL: component.ServerText("'127.0.0.1' is on this machine.")}
	m.Refused = component.Notice{Tone: component.Critical, Title: "There are already 50 alert rules, the maximum. Delete one first."}
	return m
}

func alertRemoved() activity.ConfirmRemoveAlert {
	return activity.ConfirmRemoveAlert{Shell: shell("late orders", "", "/alerts/1/remove"), Rule: alertRows()[0].Rule, To: home + "/alerts/1/remove", Cancel: home + "/alerts/1"}
}

func alertToasts() activity.AlertToasts {
	return activity.AlertToasts{CSRF: "token", All: home + "/alerts", Back: home + "/alerts", Raised: raisedAlerts(), More: 2}
}

func alertsAbout() activity.Alerts {
	m := alertsAll()
	m.About, m.All, m.Rules = hostileID, home+"/alerts", m.Rules[:1]
	return m
}
