package story

import (
	"net/url"
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page/admin"
)

func ruleRow(name string, changed time.Duration, rights ...string) admin.AccessRow {
	at := home + "/access/"
	q := "?rule=" + url.QueryEscape(name)
	return admin.AccessRow{Key: name, Name: name, Rights: rights, Show: at + "keys" + q, Remove: at + "remove" + q, Changed: now.Add(-changed), Now: now}
}

func accessRules() admin.Access {
	m := admin.Access{
		Shell: shell("Access", layout.Access, "/access"), In: admin.AccessOwnerRef{All: home + "/access", Here: home + "/access"}, Enforced: true, Max: 12,
		Rules: []admin.AccessRow{
			ruleRow("ci", 4*time.Minute, "Listen", "Send"), ruleRow("orders-worker", 26*time.Hour, "Listen"),
			ruleRow("RootManageSharedAccessKey", 90*24*time.Hour, "Listen", "Send", "Manage"), ruleRow(hostileID, time.Hour, "Send"),
		},
		Owners: []admin.AccessOwner{{Name: "orders", Href: home + "/access?entity=orders", Rules: ownRules()}},
		Left:   3, New: admin.AccessForm{To: home + "/access/new"},
	}
	m.Rules[2].Remove = ""
	m.Shell.Live.Selectable = true
	return m
}

func ownRules() []admin.AccessRow {
	rows := []admin.AccessRow{ruleRow("web-shop", time.Hour, "Send"), ruleRow("audit", 0, "Listen")}
	rows[1].Changed = time.Time{}
	return rows
}

func accessOfEntity() admin.Access {
	m := accessRules()
	m.Shell = shell("Access to orders", layout.Access, "/access?entity=orders")
	m.In.Name, m.In.Href, m.In.Here = "orders", home+"/q/orders", home+"/access?entity=orders"
	m.Enforced, m.Rules, m.Owners, m.Left, m.New.To = false, nil, nil, 0, home+"/access/new?entity=orders"
	return m
}

func accessRefused() admin.Access {
	m := accessRules()
	m.Shell.Live = layout.Live{}
	m.New.Name, m.New.NameError = "CI", component.ServerText("The access rule 'ci' already exists.")
	m.New.Rights, m.New.RightsError = map[string]bool{}, component.ServerText("A rule gives at least one right.")
	return m
}

func accessKeys() admin.AccessKeys {
	m := admin.AccessKeys{Shell: shell("RootManageSharedAccessKey", layout.Access, "/access"), In: accessRules().In, Enforced: true, Rule: accessRules().Rules[2]}
	m.Shell.Live = layout.Live{}
	for i, key := range []string{"Zmlyc3Qgb2YgdHdvIGtleXMsIDI1NiBiaXRzIGxvbmc=", "c2Vjb25kIG9mIHR3byBrZXlzLCBhcyBsb25nIGFzIDE="} {
		with := "SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=" + key + ";UseDevelopmentEmulator=true;"
		m.Keys = append(m.Keys, admin.AccessKey{
			Second: i == 1, Value: key, Connection: "Endpoint=sb://localhost;" + with, Admin: "Endpoint=sb://localhost:5300;" + with,
			Renew: home + "/access/renew?rule=RootManageSharedAccessKey",
		})
	}
	return m
}

func accessKeysAccepted() admin.AccessKeys {
	m := accessKeys()
	m.Enforced, m.Rule, m.In = false, ownRules()[0], accessOfEntity().In
	m.Shell.Title = m.Rule.Name
	m.Keys[0].Admin, m.Keys[1] = "", admin.AccessKey{Second: true, Renew: m.Keys[1].Renew}
	return m
}

func accessRenew() admin.ConfirmAccessChange {
	m := admin.ConfirmAccessChange{Shell: shell("ci", layout.Access, "/access"), In: accessRules().In, Enforced: true, Rule: accessRules().Rules[0], Renew: true, To: home + "/access/renew?rule=ci&key=primary", Cancel: home + "/access"}
	m.Shell.Live = layout.Live{}
	return m
}

func accessRemove() admin.ConfirmAccessChange {
	m := accessRenew()
	m.Renew, m.Enforced, m.To = false, false, home+"/access/remove?rule=ci"
	return m
}
