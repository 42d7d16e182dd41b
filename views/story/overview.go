package story

import (
	"math"
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page/admin"
	"mayfly/views/page/overview"
	"mayfly/views/sample"
)

func overviewPage() overview.Overview {
	return overview.Overview{
		Shell: shell("Overview", layout.Overview, ""),
		Lede: []component.Text{
			strongText("112 messages run out within a minute."),
			plainText(" 74 will be dead-lettered and 38 are lost for good. Most of them sit in "),
			{S: "orders", Href: home + "/q/orders"}, plainText("."),
		},
		Connect:       connect(),
		Horizon:       horizon(),
		ExpiringCount: 5227,
		Messages:      5310,

		In:          overview.Figure{N: 48.2, Line: wave(1, 9, 3), Note: []component.Text{strongText("+6 %"), plainText(" against the last hour")}},
		Out:         overview.Figure{N: 43.9, Line: wave(2, 8, -5)},
		Expired:     overview.Figure{N: 112, Line: wave(3, 2, 16), Note: []component.Text{{S: "8 ×", Tone: component.Critical}, plainText(" the usual")}},
		DeadLetters: overview.Figure{N: 43, Line: wave(4, 2, 14), Note: []component.Text{{S: "+31", Tone: component.Dead}, plainText(" in 10 minutes")}},
		Locked:      overview.Figure{N: 26, Line: wave(5, 9, 0), Note: []component.Text{plainText("9 clients hold them")}},
		Scheduled:   overview.Figure{N: 1245, Line: wave(6, 5, -8), Note: []component.Text{plainText("next in "), {Clock: clock(38*time.Second, time.Hour)}}},

		Next:           expiringMessages(7, ""),
		Temporary:      temporaryEntities()[:6],
		TemporaryCount: 7,
		Events:         events(),
		More:           24,
	}
}

func clock(left, of time.Duration) *component.Clock {
	c := within(left, of)
	c.As = component.Plenty
	return &c
}

func connect() overview.Connect {
	return overview.Connect{
		REST:           "http://127.0.0.1:5300",
		Curl:           "curl http://127.0.0.1:5300/orders/messages \\\n  -H 'BrokerProperties: {\"TimeToLive\":60}' \\\n  -d 'hello'",
		Data:           "Messages are kept in ~/.local/share/mayfly/shop.db.",
		ConnectionInfo: connectionInfo(sample.Task{Queue: "orders", Sends: true, Receives: true}),
	}
}

// connectionInfo returns the samples for a task on the stories' server.
func connectionInfo(t sample.Task) admin.ConnectionInfo {
	const key = ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
	d := admin.ConnectionInfo{String: "Endpoint=sb://localhost" + key, Admin: "Endpoint=sb://localhost:5300" + key, Task: t}
	d.Task.Connection = d.String
	return d
}

func firstStart() overview.Overview {
	m := overview.Overview{
		Shell:   shell("Overview", layout.Overview, ""),
		Lede:    []component.Text{strongText("No messages yet."), plainText(" What you send appears here at once, and its time starts running.")},
		Welcome: true,
		Connect: connect(),
		Horizon: horizon(),
	}
	m.Connect.Data = "Messages are kept in memory and go when Mayfly stops."
	m.Connect.Tier = "Limits and defaults are those of Service Bus' Standard tier."
	m.Connect.NoClients = true
	m.Shell.Scenes = "/scenes"
	for i := range m.Horizon.Buckets {
		b := &m.Horizon.Buckets[i]
		b.Dead, b.Lost, b.Slices = 0, 0, nil
	}
	return m
}

// secondVisit is the overview of a user who has created a queue but not connected a client.
func secondVisit() overview.Overview {
	m := firstStart()
	m.Welcome, m.GettingStarted = false, true
	return m
}

func readOnly() overview.Overview {
	m := overviewPage()
	m.Connect.ConnectionInfo.RequiresKeys, m.Connect.ConnectionInfo.KeysURL = true, home+"/access"
	m.Shell.Banner = component.Notice{
		Tone:   component.Critical,
		Title:  "Read-only: the disk is full",
		Detail: "Nothing is accepted until there is room again; what is stored stays readable, and time goes on running. Mayfly tries again by itself.",
	}
	m.Shell.Notice = component.Notice{Tone: component.Plenty, Title: "Pinned reply-7f3a", Detail: "It no longer deletes itself.", Undo: home + "/undo/K5JQ2A"}
	return m
}

// horizon has the shape of a backlog: much within minutes, more within hours.
func horizon() component.ExpiryHorizon {
	bucket := func(name string, upto time.Duration, dead, lost []int) component.Bucket {
		b := component.Bucket{Key: name, Name: name, Tone: component.Urgency(upto, 0), Href: home + "/expirations?within=" + name}
		for i := range 6 {
			var sl component.Slice
			if dead != nil {
				sl.Dead = dead[i]
			}
			if lost != nil {
				sl.Lost = lost[i]
			}
			b.Dead, b.Lost = b.Dead+sl.Dead, b.Lost+sl.Lost
			b.Slices = append(b.Slices, sl)
		}
		return b
	}
	h := component.ExpiryHorizon{Buckets: []component.Bucket{
		bucket("10s", 10*time.Second, []int{1, 1, 0, 2, 1, 1}, []int{0, 1, 0, 0, 1, 1}),
		bucket("1m", time.Minute, []int{8, 10, 11, 12, 13, 14}, []int{6, 4, 7, 5, 6, 7}),
		bucket("5m", 5*time.Minute, []int{92, 95, 91, 84, 78, 74}, []int{26, 28, 29, 30, 29, 30}),
		bucket("15m", 15*time.Minute, []int{96, 84, 71, 58, 48, 31}, []int{18, 18, 15, 15, 15, 15}),
		bucket("1h", time.Hour, []int{38, 29, 25, 21, 17, 11}, []int{196, 310, 412, 540, 689, 723}),
		bucket("6h", 6*time.Hour, nil, []int{142, 104, 66, 49, 34, 23}),
		bucket("1d", 24*time.Hour, []int{10, 24, 14, 17, 17, 4}, nil),
		bucket("later", math.MaxInt64, []int{6, 3, 5, 1, 6, 2}, []int{1, 2, 1, 1, 2, 0}),
	}}
	h.Buckets[7].Last = true
	return h
}

// wave returns 28 points of a line with the given slope and waves of height `weather`. It is the
// same for the same arguments.
func wave(seed, weather, slope float64) []float64 {
	line := make([]float64, 28)
	for i := range line {
		x := float64(i)
		line[i] = 30 + slope*x/28*3 + weather*(math.Sin(x*1.1+seed)+.6*math.Sin(x*2.7+3*seed))
	}
	return line
}

type expiringMessage struct {
	left, of   time.Duration
	subject    string
	id, entity string
	dead       bool
	tries, max int
}

func expiringMessages(n int, actions string) []component.ExpiringMessage {
	rows := []expiringMessage{
		{7 * time.Second, 5 * time.Minute, "order.placed", "o-88412", "orders", true, 2, 10},
		{9 * time.Second, 30 * time.Second, "price.changed", "sku-5521", "prices/us", false, 0, 10},
		{14 * time.Second, 30 * time.Second, "price.changed", "sku-1180", "prices/eu", false, 0, 10},
		{31 * time.Second, 5 * time.Minute, "order.placed", "o-88415", "orders", true, 0, 10},
		{38 * time.Second, time.Minute, "quote.reply", "q-2207", "reply-7f3a", false, 1, 10},
		{44 * time.Second, 15 * time.Minute, "payment.captured", "p-70331", "payments", true, 4, 5},
		{52 * time.Second, 5 * time.Minute, "order.paid", "o-88420", "orders", true, 1, 10},
		{57 * time.Second, 5 * time.Minute, "Bestellbestätigungsbenachrichtigungsversand", "o-88399", "orders", true, 0, 10},
		{73 * time.Second, 5 * time.Minute, "order.placed", "o-88431", "orders", true, 0, 10},
		{96 * time.Second, 15 * time.Minute, "refund.requested", "p-70298", "payments", true, 2, 5},
		{118 * time.Second, time.Hour, "newsletter.july", "e-120993", "emails", false, 0, 10},
		{151 * time.Second, 5 * time.Minute, "order.placed", "o-88447", "europe/retail/backoffice/order-confirmations-to-be-archived", true, 0, 10},
		{204 * time.Second, 15 * time.Minute, "订单已创建", "p-70352", "payments", true, 0, 5},
		{26 * time.Hour, 48 * time.Hour, "invoice.due", "i-3312", "invoices", true, 0, 10},
	}
	var out []component.ExpiringMessage
	for _, r := range rows[:n] {
		key := "48" + r.id[len(r.id)-3:]
		d := component.ExpiringMessage{
			Key: key, Href: home + "/m/" + key, Clock: within(r.left, r.of),
			Subject: r.subject, ID: r.id, Entity: r.entity, EntityURL: queueURL(r.entity),
			Tries: r.tries, Max: r.max,
		}
		if r.dead {
			d.Fate.To = r.entity + "/$DLQ"
		}
		if actions != "" {
			d.Actions = d.Href
		}
		out = append(out, d)
	}
	return out
}

func events() []component.Event {
	event := func(key, clock, icon string, tone component.Tone, entity, says string) component.Event {
		return component.Event{Key: key, At: at(clock), Icon: icon, Tone: tone, Entity: entity, Href: queueURL(entity), Says: []component.Text{plainText(says)}}
	}
	return []component.Event{
		event("48271", "10:04:11", "expired", component.Critical, "orders", "3 messages expired → orders/$DLQ"),
		event("48270", "10:04:10", "lost", component.Lost, "prices/us", "price.changed sku-5518 lost at its TTL of 30s"),
		event("48266", "10:04:08", "locked", component.Lock, "payments", "lock of p-70331 ran out · delivery 4 of 5"),
		event("48260", "10:04:05", "scheduled", component.Plenty, "emails", "12 scheduled messages became active"),
		event("48259", "10:04:02", "deferred", component.Plenty, "payments", "#48,209 deferred"),
		event("48255", "10:03:58", "dead", component.Dead, "orders", "o-88377 dead-lettered · MaxDeliveryCountExceeded"),
		{Key: "48251", At: at("10:03:51"), Icon: "tomb", Tone: component.Lost, Entity: "reply-91c2", Says: []component.Text{plainText("deleted itself after 5m idle")}},
		event("48249", "10:03:47", "send", component.Plenty, "prices", "40 price changes copied to eu, us and audit"),
		event("48247", "10:03:44", "resubmit", component.Plenty, "payments", "2 dead letters resubmitted"),
	}
}
