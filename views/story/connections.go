package story

import (
	"strconv"
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/admin"
)

func receives(name string) page.LinkTarget {
	return page.LinkTarget{Name: name, Href: queueURL(name)}
}

func sends(name string) page.LinkTarget {
	return page.LinkTarget{Name: name, Href: queueURL(name), Sends: true}
}

func clientRows() []admin.ConnectionRow {
	row := func(key, name, sdk, remote string, since time.Duration, at ...page.LinkTarget) admin.ConnectionRow {
		return admin.ConnectionRow{
			Key: key, Href: home + "/connections/" + key, End: home + "/connections/" + key + "/disconnect", Name: name, SDK: sdk, Remote: remote,
			Targets: at, Links: len(at), Since: now.Add(-since), Now: now, In: admin.Rate{Known: true}, Out: admin.Rate{Known: true},
		}
	}
	rows := []admin.ConnectionRow{
		row("7-9", "orders-worker", "Python SDK 7.14.3", "10.0.0.7:51234", 4*time.Minute, receives("orders"), sends("invoices")),
		row("7-8", "web-shop", "Go SDK 1.11.0", "10.0.0.9:40018", 2*time.Hour, sends("orders"), sends("prices"), receives("replies-4417")),
		row("7-7", "MF_2f9a41_1752487200123", "Java SDK 7.17.20", "10.0.0.12:38122", 26*time.Hour, receives("orders/$DLQ")),
		row("7-5", hostileID, "qpid-proton", "[2001:db8::7]:5", 12*time.Second),
	}
	rows[0].Credit, rows[0].Unsettled, rows[0].Locks, rows[0].Out = 47, 3, 6, admin.Rate{N: 12.5, Known: true}
	rows[1].Secure, rows[1].In, rows[1].More = true, admin.Rate{N: 340, Known: true}, 2
	rows[3].In, rows[3].Out = admin.Rate{}, admin.Rate{}
	return rows
}

func clients() admin.Connections {
	return admin.Connections{
		Shell: shell("Connections", layout.Connections, "/connections"), Here: home + "/connections", All: 4, Rows: clientRows(),
		Lede:  []component.Text{strongText("4 clients are connected"), plainText(". "), plainText("They hold 6 locks.")},
		Start: home + "#h-connect",
	}
}

func noClients() admin.Connections {
	m := clients()
	m.Rows, m.Lede, m.All = nil, nil, 0
	return m
}

func oneClient() admin.Connection {
	row := clientRows()[0]
	link := func(key string, kind admin.LinkKind, at page.LinkTarget) admin.LinkRow {
		return admin.LinkRow{Key: key, Kind: kind, Target: at, Name: "link-" + key, Since: now.Add(-3 * time.Minute), Now: now, Rate: admin.Rate{Known: true}}
	}
	m := admin.Connection{
		Shell: shell("orders-worker", layout.Connections, "/connections/7-9"), All: home + "/connections", Row: row, Platform: "Python 3.12.1 · Linux-6.8",
		WebSocket: true, LastFrame: now.Add(-2 * time.Second), Sessions: 2, FramesIn: 48_211, FramesOut: 96_008, BytesIn: 7_340_032, BytesOut: 104_857_600, Left: 2,
	}
	m.Links = []admin.LinkRow{
		link("1", admin.LinkReceives, receives("orders")), link("2", admin.LinkReceives, receives("baskets")), link("3", admin.LinkReceives, receives("baskets")),
		link("4", admin.LinkSends, sends("invoices")), link("5", admin.LinkManages, receives("orders")), link("6", admin.LinkDeletes, receives("telemetry")),
	}
	first := &m.Links[0]
	first.Credit, first.Prefetched, first.Unsettled, first.Locks, first.Messages, first.Rate.N = 47, 3, 3, 6, 48_211, 12.5
	m.Links[1].HasSession, m.Links[1].Session, m.Links[1].SessionHref = true, "customer-4", sessionHref("customer-4")
	m.Links[2].WaitsForSession = true
	m.Links[5].WaitsForMemory, m.WaitingForMemory, m.Memory = true, 1, 134_217_728
	m.Links[1].Hold = lockedFor(26*time.Second, 1)
	m.MoreLocked = true
	for i, what := range []string{"order.placed", "", hostileID} {
		m.Locked = append(m.Locked, admin.LockedRow{
			Key: strconv.Itoa(i), Href: home + "/m/1", Number: int64(48_201 + i), What: what, Entity: receives("orders"), Hold: lockedFor(time.Duration(9*i+8)*time.Second, 2-i), Now: now,
		})
	}
	m.Links[0].Identifier, m.Links[3].Identifier = "picker-2", "invoices-5d7e1f0a-93cb-4b11-8d0c-2f6a7c9e4b10"
	return m
}

// lockedFor returns a lock of 30 s with the given number of renewals and time left since
// the last one.
func lockedFor(left time.Duration, renewals int) component.LockInfo {
	begun := now.Add(left - 30*time.Second)
	h := component.LockInfo{Until: now.Add(left), Of: 30 * time.Second, Since: begun, Renewals: renewals}
	if renewals > 0 {
		h.Since, h.RenewedAt = begun.Add(time.Duration(-renewals)*25*time.Second), begun
	}
	return h
}

func goneClient() admin.Connection {
	return admin.Connection{Shell: shell("A connection", layout.Connections, "/connections/7-2"), All: home + "/connections", Gone: true}
}

func endClient() admin.ConfirmDisconnect {
	m := admin.ConfirmDisconnect{Name: "orders-worker", SDK: "Python SDK 7.14.3", To: home + "/connections/7-9/disconnect", Cancel: home + "/connections/7-9", Links: 3, Locks: 6}
	m.Shell = shell("orders-worker", layout.Connections, "/connections/7-9/disconnect")
	m.Shell.Live = layout.Live{}
	return m
}
