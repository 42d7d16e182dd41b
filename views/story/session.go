package story

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/page/message"
	"mayfly/views/page/operate"
	"mayfly/views/page/send"
)

const hostileID = "<b>\u202eregnad\u202c</b> \"quoted\" \\ 'and' \x07"

func sessionHref(id string) string {
	return home + "/q/orders/session?" + url.Values{entity.SessionID: {id}}.Encode()
}

func sessionRows() []entity.SessionRow {
	row := func(id string, active, locked, deferred int, oldest time.Duration) entity.SessionRow {
		return entity.SessionRow{Key: id, ID: id, Href: sessionHref(id), Active: active, Locked: locked, Deferred: deferred, Oldest: now.Add(-oldest), Now: now}
	}
	rows := []entity.SessionRow{
		row("customer-77", 12, 0, 1, 4*time.Minute),
		row("customer-12", 3, 0, 0, 184*time.Second),
		row(longName+"."+strings.Repeat("x", 30), 1, 0, 0, 61*time.Second),
		row("客户-上海-4417", 2, 0, 0, 12*time.Second),
		row("customer-4", 40, 3, 0, 19*time.Minute),
		row("customer-5", 0, 1, 0, 33*time.Second),
		row("customer-9", 0, 0, 2, 3*time.Hour),
		row("basket-1180", 0, 0, 0, 0),
		row(hostileID, 1_204_388, 0, 0, 2*time.Second),
	}
	for i := range 4 {
		rows[i].Turn = i + 1
	}
	rows[4].Hold, rows[4].Holder = lockedFor(26*time.Second, 4), "worker-5"
	rows[5].Hold = component.LockInfo{Until: now.Add(4 * time.Second), Of: 30 * time.Second} // since before a restart
	rows[7].Oldest = time.Time{}
	rows[0].HasState, rows[0].State = true, 2148
	rows[4].HasState, rows[4].State = true, 64
	rows[7].HasState = true
	return rows
}

func queueSessions() entity.Entity {
	m := queue(page.TabSessions)
	m.RequiresSession, m.SessionCount, m.Sessions = true, 12_408, sessionRows()
	m.Lede = []component.Text{strongText("12,408 sessions; two are held."), plainText(" The next receiver gets "), {S: "customer-77", Href: sessionHref("customer-77")}, plainText(".")}
	m.Pages = component.Pages{Note: "9 of 12,408 shown", Next: home + "/q/orders?tab=sessions&from=9"}
	m.StatusTo = home + "/q/orders/status"
	return m
}

func queueSessionsEmpty() entity.Entity {
	m := queueSessions()
	m.Sessions, m.SessionCount, m.Lede, m.Counts, m.Total = nil, 0, nil, entity.Counts{}, 0
	m.Pages = component.Pages{Note: "0 of 0 shown"}
	m.Example = "curl http://127.0.0.1:5300/orders/messages \\\n  -H 'BrokerProperties: {\"SessionId\":\"customer-77\"}' \\\n  -d 'hello'"
	return m
}

func oneSession() entity.Session {
	state := `{"step": 3, "paid": true, "lines": [{"sku": "1180", "n": 2}], "note": "<script>alert(1)</script>"}`
	m := entity.Session{
		Shell: shell("customer-4", layout.Queues, "/q/orders/session?id=customer-4"), In: ordersRef(), Path: "orders", Name: "orders", ID: "customer-4",
		Active: 40, Locked: 3, Oldest: now.Add(-19 * time.Minute), Now: now,
		Hold: lockedFor(26*time.Second, 4), Holder: "worker-5",
		Pages:    component.Pages{Note: "6 of 43 shown", Next: sessionHref("customer-4") + "&from=7"},
		HasState: true, StateAt: now.Add(-72 * time.Second), State: message.Body{Content: []byte(state), Size: int64(len(state))}, Seen: "9f2c", Most: 256 << 10,
	}
	for i, r := range queueMessages().Rows[:6] {
		r.Session, r.Hold, r.Holder, r.State = m.ID, component.LockInfo{}, "", page.StateActive
		if i < 3 {
			r.State, r.Hold, r.Holder = page.StateLocked, m.Hold, m.Holder
		}
		m.Rows = append(m.Rows, r)
	}
	return m
}

func sessionFree() entity.Session {
	m := oneSession()
	m.ID, m.Turn, m.Hold, m.Holder, m.Locked, m.Active, m.Deferred = hostileID, 2, component.LockInfo{}, "", 0, 2, 1
	m.Rows, m.Pages, m.View = m.Rows[3:], component.Pages{Note: "3 of 3 shown"}, message.HexView
	m.State.Content = []byte{0, 1, 2, 0xff, 'a', 'b', 0x80}
	m.State.Size = 7
	m.CanReceive = true
	m.In, m.Name, m.Topic = page.EntityRef{Kind: page.Subscription, Name: "prices/eu", Href: home + "/t/prices/s/eu"}, "eu", "prices"
	return m
}

// sessionOurs is the page of a session that the dashboard has locked.
func sessionOurs() entity.Session {
	m := oneSession()
	m.CanReceive, m.HeldHere, m.Holder = true, true, "the dashboard"
	return m
}

func sessionRefused() entity.Session {
	m := oneSession()
	m.Rows, m.Active, m.Locked, m.Oldest, m.View = nil, 0, 0, time.Time{}, message.RawView
	m.Holder, m.Pages = "", component.Pages{}
	m.Typed = entity.StateForm{Text: "0a 1z", As: entity.StateHex, Error: component.ServerText("1z is not a pair of hexadecimal digits.")}
	return m
}

func sessionNothing() entity.Session {
	m := oneSession()
	m.ID, m.Rows, m.Active, m.Locked, m.Oldest = "nobody", nil, 0, 0, time.Time{}
	m.Hold, m.Holder, m.HasState, m.State, m.Pages = component.LockInfo{}, "", false, message.Body{}, component.Pages{}
	return m
}

// queueFlow is the page of a queue that forwards messages, is forwarded to, and has blocked sources.
func queueFlow() entity.Entity {
	m := queueMessages()
	m.Rows = m.Rows[:3]
	at := queueURL
	m.Forwarding = entity.Forwarding{
		In: []entity.ForwardingArrow{
			{Name: "checkout", Href: at("checkout")},
			{Name: "prices/eu", Href: home + "/t/prices/s/eu", Dead: true},
			{Name: longName, Href: at(longName), Blocked: entity.BlockTargetFull, Waiting: 38},
			{Name: "retries/$DLQ", Href: at("retries"), Dead: true, Blocked: entity.BlockTargetFull, Waiting: 4},
		},
		More: 17, Hops: 4,
		Out: []entity.ForwardingArrow{
			{Name: "archive", Href: at("archive"), Waiting: 12},
			{Name: "dead-orders", Href: at("dead-orders"), Dead: true, Blocked: entity.BlockTargetDisabled, Waiting: 38},
		},
	}
	m.Duplicates = entity.Duplicates{Window: 10 * time.Minute, Dropped: 1204, Remembered: 48_201}
	m.Transfer = entity.Transfer{Waiting: 3, Failed: 2}
	m.StatusTo = home + "/q/orders/status"
	return m
}

func queueStuck() entity.Entity {
	m := queueFlow()
	m.Rows, m.Counts.Active, m.Total = nil, 0, 103
	m.Forwarding.In, m.Forwarding.More = m.Forwarding.In[:1], 0
	m.Forwarding.Out[0].Blocked, m.Forwarding.Out[0].Waiting, m.Forwarding.Out[0].Href = entity.BlockTargetMissing, 0, ""
	m.Forwarding.Out[1].Blocked = entity.BlockHopLimit
	m.Forwarding.In[0].Blocked = entity.BlockSourceDisabled
	m.Duplicates.Remembered, m.Duplicates.Most = 890_000, 1_000_000
	m.Transfer = entity.Transfer{}
	return m
}

func queueTransfer() entity.Entity {
	m := queueDead()
	m.Tab, m.Reasons, m.Lede, m.Transfer = page.TabTransfers, nil, nil, entity.Transfer{Failed: 4}
	for i := range m.Rows {
		m.Rows[i].Reason, m.Rows[i].Description = "ForwardingFailed", "Destination 'archive-"+strconv.Itoa(i)+"' is disabled."
		m.Rows[i].TransferTarget = "archive-" + strconv.Itoa(i)
	}
	m.Pages = component.Pages{Note: "4 of 4 shown"}
	return m
}

// statusOf returns the settings tab of an entity that can be disabled and enabled.
func statusOf(m entity.Entity, s entity.Status) entity.Entity {
	m.Tab, m.Status, m.StatusTo = page.TabSettings, s, m.Href+"/status"
	m.Settings = queueSettings().Settings[:3]
	return m
}

func sendInSession() send.Send {
	m := sendMessage()
	m.Sessions, m.Values = true, nil
	return m
}

// sessionStories returns the pages about sessions, forwarding and disabling an entity.
func sessionStories() []Story {
	status := operate.Confirm{
		Shell: confirmShell(), Verb: operate.SetStatus, To: home + "/q/orders/status", Cancel: home + "/q/orders?tab=settings", Entity: ordersRef(),
		Status: entity.StatusReceiveDisabled, Contents: []string{"16 messages are locked and can no longer be settled", "2 receivers are attached and are cut off"},
	}
	seen := operate.Confirm{
		Shell: confirmShell(), Verb: operate.Resubmit, To: home + "/m/9/resubmit", Cancel: home + "/m/9", Entity: ordersRef(), Count: 1, Subject: "paid",
		DuplicateAt: "orders has seen its id within the last 10m and would drop it as a duplicate. Without your leave it stays here.",
	}
	return []Story{
		{Name: "queue-sessions", Page: queueSessions()},
		{Name: "queue-sessions-empty", Page: queueSessionsEmpty()},
		{Name: "session", Page: oneSession()},
		{Name: "session-free", Page: sessionFree()},
		{Name: "session-ours", Page: sessionOurs()},
		{Name: "session-refused", Page: sessionRefused()},
		{Name: "session-nothing", Page: sessionNothing()},
		{Name: "session-drawer", Component: beside(queueSessions(), oneSession().Drawer())},
		{Name: "queue-flow", Page: queueFlow()},
		{Name: "queue-stuck", Page: queueStuck()},
		{Name: "queue-transfer", Page: queueTransfer()},
		{Name: "queue-status", Page: statusOf(queue(page.TabSettings), entity.StatusSendDisabled)},
		{Name: "topic-status", Page: statusOf(topic(), entity.StatusActive)},
		{Name: "subscription-status", Page: statusOf(subscription(page.TabSettings), entity.StatusDisabled)},
		{Name: "confirm-status", Page: status},
		{Name: "confirm-seen", Page: seen},
		{Name: "send-session", Page: sendInSession()},
	}
}
