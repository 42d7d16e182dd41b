package story

import (
	"strconv"
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/admin"
	"mayfly/views/page/entity"
	"mayfly/views/page/lab"
	"mayfly/views/page/list"
	"mayfly/views/page/overview"
	"mayfly/views/sample"
)

const longName = "europe.retail.backoffice.order-confirmations-to-be-archived-until-the-end-of-the-fiscal-year"

func entityRows() []entity.Row {
	row := func(name string, c entity.Counts, size int64, next component.Clock) entity.Row {
		return entity.Row{
			Key: name, Name: name, Href: queueURL(name), Status: entity.StatusActive, Counts: c, Size: size,
			Capacity: 1 << 30, NextExpiry: next, Line: wave(float64(len(name)), 9, 3),
		}
	}
	rows := []entity.Row{
		row("orders", entity.Counts{Active: 1284, Locked: 16, Scheduled: 42, Deferred: 7, Dead: 38}, 1_400_000, within(7*time.Second, 5*time.Minute)),
		row("payments", entity.Counts{Active: 310, Locked: 9, Deferred: 3, Dead: 4}, 402_000, within(88*time.Second, 15*time.Minute)),
		row("reply-7f3a", entity.Counts{Active: 1}, 640, within(41*time.Second, time.Minute)),
		row("load-test", entity.Counts{Active: 12_400_000, Locked: 5000, Scheduled: 1_250_000, Deferred: 80_000, Dead: 3_400_000}, 970<<20, within(3*time.Hour, 4*time.Hour)),
		row("emails", entity.Counts{}, 0, component.Clock{}),
		row(longName, entity.Counts{Active: 3}, 5_200, within(9*24*time.Hour, 14*24*time.Hour)),
		row("订单-上海", entity.Counts{Active: 12, Dead: 1}, 9_100, within(12*time.Minute, time.Hour)),
	}
	rows[2].Idle = within(30*time.Second, 5*time.Minute)
	rows[3].Status = entity.StatusSendDisabled
	rows[4].Status, rows[4].Line = entity.StatusDisabled, nil
	rows[4].Idle, rows[4].IdleState = component.Clock{Of: 10 * time.Minute, Now: now}, component.IdlePinned
	rows[5].Idle, rows[5].IdleState = component.Clock{Of: 10 * time.Minute, Now: now}, component.IdleHeld
	return rows
}

func queues() entity.Entities {
	return entity.Entities{
		Shell: shell("Queues", layout.Queues, "/queues"), Kind: page.Queue,
		Lede: []component.Text{strongText("Seven queues hold 12,414,010 messages."), plainText(" One of them will delete itself in half a minute.")},
		Rows: entityRows(), Total: 132, Sort: entity.ByActive, Down: true,
		Pages: component.Pages{Note: "7 of 132 shown", Next: home + "/queues?page=2"},
	}
}

func queuesNone() entity.Entities {
	m := entity.Entities{Shell: shell("Queues", layout.Queues, "/queues"), Kind: page.Queue, Total: 132, Query: "<ordres>", Chips: []page.SearchChip{{Term: "<ordres>", Without: home + "/queues?dir=up&sort=name"}}, More: moreOfEntities()}
	m.Lede = []component.Text{strongText("132 queues."), plainText(" None of them is called so.")}
	return m
}

func moreOfEntities() (out []component.Choice) {
	for _, t := range []string{"has:dlq", "expiring:<5m", "temp:<10m", "idle:>1h"} {
		out = append(out, component.Choice{Label: t, Href: home + "/queues?q=" + t})
	}
	return out
}

// queuesWrong is a table with an invalid filter.
func queuesWrong() entity.Entities {
	m := queues()
	m.Query, m.Rows, m.Pages = "has:dlq stat:disabled", m.Rows[:2], component.Pages{Note: "2 of 2 shown"}
	m.Wrong = `The key "stat" does not exist. Choose from name, kind, status and others. To search for the text itself, put it in quotes. See character 9.`
	m.Chips = []page.SearchChip{{Term: "has:dlq", Without: home + "/queues?dir=down&sort=active"}}
	m.More = moreOfEntities()
	return m
}

func topics() entity.Entities {
	m := entity.Entities{
		Shell: shell("Topics", layout.Topics, "/topics"), Kind: page.Topic, Total: 2,
		Lede:  []component.Text{strongText("Two topics feed six subscriptions.")},
		Lab:   home + "/lab",
		Pages: component.Pages{Note: "2 of 2 shown"},
	}
	for i, name := range []string{"prices", "inventory/changes"} {
		m.Rows = append(m.Rows, entity.Row{
			Key: name, Name: name, Href: topicURL(name), Status: entity.StatusActive, Subscriptions: 5 - 4*i,
			Counts: entity.Counts{Active: 88 * (1 - i), Scheduled: 3 * i, Dead: 2 * i}, Size: 44_000,
			NextExpiry: within(70*time.Second, 10*time.Minute),
		})
	}
	m.Rows[1].NextExpiry = component.Clock{}
	return m
}

func topicsEmpty() entity.Entities {
	return entity.Entities{Shell: shell("Topics", layout.Topics, "/topics"), Kind: page.Topic, Lede: []component.Text{strongText("No topics.")}}
}

// queue returns the queue orders with one of its tabs open.
func queue(tab page.Tab) entity.Entity {
	sitter := temporaryEntities()[0]
	sitter.Key, sitter.Name, sitter.Href, sitter.Messages = "orders", "orders", home+"/q/orders", 1387
	sitter.Clock, sitter.Reset, sitter.By = within(7*24*time.Hour-time.Second, 7*24*time.Hour), now.Add(-time.Second), "receive by worker-2"
	sh := shell("orders", layout.Queues, "/q/orders?tab="+string(tab))
	return entity.Entity{
		Shell: sh, Kind: page.Queue, Name: "orders", Href: home + "/q/orders", Path: "orders", Status: entity.StatusActive,
		Counts: entity.Counts{Active: 1284, Locked: 16, Scheduled: 42, Deferred: 7, Dead: 38}, Total: 1387,
		TTL: 5 * time.Minute, Fate: component.ExpiryOutcome{To: "orders/$DLQ"}, Lock: 30 * time.Second, Tries: 10,
		Idle: sitter, Size: 1_900_000, Tab: tab,
		Alerts:      entity.Alerts{Rules: 2, Href: home + "/alerts?entity=orders", New: home + "/alerts/new?entity=orders"},
		AllMatching: list.AllMatching{Count: 1349, Path: "orders", Shown: true},
		Pages:       component.Pages{Note: "12 of 1,349 shown", Next: home + "/q/orders?tab=" + string(tab) + "&from=48272"},
	}
}

func messageRow(number int64, subject, id string, left time.Duration, pills ...list.Pill) list.MessageRow {
	key := strconv.FormatInt(number+3_000_000, 10)
	return list.MessageRow{
		Key: key, Href: home + "/m/" + key, State: page.StateActive, Number: number, Subject: subject, ID: id, Pills: pills,
		Size: 1100 + number%700, Max: 10, At: now.Add(left - 5*time.Minute), SetAsideAt: now.Add(left - 5*time.Minute), Clock: within(left, 5*time.Minute),
	}
}

func queueMessages() entity.Entity {
	m := queue(page.TabMessages)
	p := func(k, v string) list.Pill { return list.Pill{Key: k, Value: v} }
	m.Rows = []list.MessageRow{
		messageRow(48_201, "order.placed", "o-88412", 48*time.Second, p("customer.id", "4417"), p("total", "129.90"), p("region", "eu")),
		messageRow(48_204, "order.placed", "o-88415", 11*time.Second, p("customer.id", "2093"), p("total", "18.00")),
		messageRow(48_206, "order.paid", "o-88420", 29*time.Second, p("method", "card"), p("total", "249.00")),
		messageRow(48_211, "order.cancelled", "o-88399", 47*time.Second, p("reason", "customer"), p("refund", "true")),
		messageRow(48_214, "Bestellbestätigungsbenachrichtigungsversandauftragswiederholung", "o-88427", 58*time.Second, p("sprache", "de")),
		messageRow(48_219, "payment.before.order", "o-88431", 73*time.Second, p("order", "88431")),
		messageRow(48_226, "", "o-88436-with-a-name-that-goes-on-and-on-and-on-and-on-without-a-break", 96*time.Second),
		messageRow(48_240, "订单已创建", "o-88447", 151*time.Second, p("客户", "上海分公司"), p("total", "88.00")),
		messageRow(48_252, "", "", 188*time.Second),
		messageRow(48_263, "order.address.changed", "o-88321", 226*time.Second, p("city", "Ústí nad Labem")),
		messageRow(48_271, "order.placed", "o-88474", 262*time.Second, p("customer.id", "5120")),
		messageRow(9_007_199_254_740_993, "order.archived", "o-1", 262*time.Second),
	}
	lock := func(i int, left time.Duration, client string) {
		m.Rows[i].State, m.Rows[i].Hold, m.Rows[i].Holder = page.StateLocked, lockedFor(left, i), client
		m.Rows[i].HolderURL = home + "/connections/7-" + strconv.Itoa(i+1)
	}
	lock(0, 26*time.Second, "worker-5")
	lock(7, 19*time.Second, "worker-cn-2")
	m.Rows[0].Tries, m.Rows[3].Tries = 2, 8
	m.Rows[5].State = page.StateDeferred
	m.Rows[6].First = "<?xml version=\"1.0\"?><order id=\"88436\"/>"
	m.Rows[8].First = "line with \u202e a turn and \x00 nothing, and a tail that is far too long to be shown whole in one row of a table"
	m.Rows[9].Session = "customer-77"
	m.Rows[11].Clock = component.Clock{Now: now}
	return m
}

func queueEmpty() entity.Entity {
	m := queue(page.TabMessages)
	m.Counts, m.Total, m.Size, m.Idle, m.TTL, m.Fate = entity.Counts{}, 0, 0, overview.TemporaryEntity{}, 0, component.ExpiryOutcome{}
	m.Status, m.Closed = entity.StatusSendDisabled, true
	m.Pages = component.Pages{Note: "0 of 0 shown"}
	m.ConnectionInfo = connectionInfoMessagesOnly(sample.Task{Queue: "orders", Receives: true})
	return m
}

func queueEmptyTab(tab page.Tab, lost bool) entity.Entity {
	m := queue(tab)
	m.Counts, m.Pages = entity.Counts{Active: 3}, component.Pages{Note: "0 of 0 shown"}
	if lost {
		m.Fate = component.ExpiryOutcome{}
	}
	return m
}

func queueScheduled() entity.Entity {
	m := queue(page.TabScheduled)
	for i, due := range []time.Duration{38 * time.Second, 11 * time.Minute, 26 * time.Hour} {
		r := messageRow(int64(48_300+i), "reminder.due", "r-"+strconv.Itoa(i), 0)
		r.State, r.Clock, r.Due, r.At = page.StateScheduled, component.Clock{Now: now}, within(due, 30*time.Hour), now.Add(-time.Hour)
		m.Rows = append(m.Rows, r)
	}
	m.AllMatching = list.AllMatching{Count: 42, Path: "orders", Query: "state:scheduled", Shown: true}
	m.Pages = component.Pages{Note: "3 of 42 shown"}
	return m
}

func queueDeferred() entity.Entity {
	m := queue(page.TabDeferred)
	m.Rows = queueMessages().Rows[5:7]
	for i := range m.Rows {
		m.Rows[i].State, m.Rows[i].By = page.StateDeferred, "worker-1"
	}
	m.Rows[1].Expired = true
	return m
}

func queueLocked() entity.Entity {
	m := queue(page.TabLocked)
	rows := queueMessages().Rows
	m.Rows = []list.MessageRow{rows[0], rows[7]}
	return m
}

func queueDead() entity.Entity {
	m := queue(page.TabDeadLetters)
	m.Lede = []component.Text{strongText("24 of 38 ran out of time"), plainText(", all since 09:58. Messages here do not expire; they wait for you.")}
	href := home + "/q/orders?tab=dead-letter&reason="
	m.Reasons = []page.Reason{
		{Reason: "TTLExpiredException", Description: "The message expired and was dead lettered.", N: 24, First: at("09:58:31"), Last: now.Add(-time.Second), Now: now, Href: href + "TTLExpiredException"},
		{Reason: "MaxDeliveryCountExceeded", Description: "Message could not be consumed after 10 delivery attempts.", N: 9, Last: at("10:03:00"), Now: now, Href: href + "MaxDeliveryCountExceeded"},
		{Reason: "AddressNotDeliverable.AddressNotDeliverable.AddressNotDeliverable.AddressNotDeliverable", Description: "Die Anschrift ist unzustellbar", N: 4, Last: at("09:41:00"), Now: now, Href: href + "AddressNotDeliverable"},
		{N: 1, Last: at("09:40:00"), Now: now, Href: href},
	}
	for i, r := range queueMessages().Rows[:4] {
		r.State, r.Reason, r.Description, r.SetAsideAt = page.StateDeadLetter, m.Reasons[i].Reason, m.Reasons[i].Description, m.Reasons[i].Last
		r.Edit = r.Href + "/edit"
		r.Hold, r.Clock = component.LockInfo{}, component.Clock{Now: now}
		m.Rows = append(m.Rows, r)
	}
	m.Rows[1].Source = "prices/Subscriptions/eu"
	m.Pages = component.Pages{Note: "4 of 38 shown", First: home + "/q/orders?tab=dead-letter", Next: home + "/q/orders?tab=dead-letter&from=48189"}
	return m
}

func queueSettings() entity.Entity {
	m := queue(page.TabSettings)
	m.Settings = []entity.Setting{
		{Name: "DefaultMessageTimeToLive", Value: "5m"},
		{Name: "DeadLetteringOnMessageExpiration", Value: "on"},
		{Name: "LockDuration", Value: "30s"},
		{Name: "MaxDeliveryCount", Value: "10", Default: true},
		{Name: "AutoDeleteOnIdle", Value: "7d"},
		{Name: "RequiresSession", Value: "on", Fixed: true},
		{Name: "ForwardTo", Value: "nowhere", Default: true},
		{Name: "UserMetadata", Value: "owned-by-the-team-that-nobody-remembers-and-that-writes-without-any-spaces-at-all"},
	}
	return m
}

func queueGone() entity.Entity {
	m := queue(page.TabMessages)
	m.Counts, m.Total = entity.Counts{}, 0
	m.Deleted = component.DeletedEntity{Key: "orders", Name: "orders", Created: at("09:12:04"), Deleted: at("10:04:11"), Contents: "1,387 messages went with it", Restore: home + "/tombstones/1-17/restore"}
	return m
}

func topic() entity.Entity {
	m := entity.Entity{
		Shell: shell("prices", layout.Topics, "/t/prices"), Kind: page.Topic, Name: "prices", Href: home + "/t/prices", Path: "prices",
		Status: entity.StatusActive, Counts: entity.Counts{Active: 88, Locked: 2, Scheduled: 3, Dead: 4}, Total: 97, Size: 88_000, Lab: home + "/lab?topic=prices",
	}
	for i, name := range []string{"eu", "us", longName[:50]} {
		m.Subscriptions = append(m.Subscriptions, entity.Row{
			Key: name, Name: name, Href: home + "/t/prices/s/" + name, Status: entity.StatusActive, Rules: 1,
			Counts: entity.Counts{Active: 44 * (1 - i%2), Dead: i * 2}, NextExpiry: within(time.Duration(70+i)*time.Second, 10*time.Minute),
		})
	}
	m.Subscriptions[1].Status = entity.StatusReceiveDisabled
	m.Subscriptions[2].Idle = within(58*time.Second, 10*time.Minute)
	return m
}

// connectionInfoMessagesOnly returns connectionInfo without the administration client's
// part.
func connectionInfoMessagesOnly(t sample.Task) admin.ConnectionInfo {
	d := connectionInfo(t)
	d.Admin = ""
	return d
}

func topicEmpty() entity.Entity {
	m := topic()
	m.Subscriptions, m.Counts, m.Total = nil, entity.Counts{}, 0
	m.ConnectionInfo = connectionInfoMessagesOnly(sample.Task{Topic: "prices", Sends: true})
	return m
}

func subscription(tab page.Tab) entity.Entity {
	m := queue(tab)
	m.Kind, m.Name, m.Topic, m.TopicHref = page.Subscription, "eu", "prices", home+"/t/prices"
	m.Href, m.Path, m.Shell = home+"/t/prices/s/eu", "prices/subscriptions/eu", shell("prices/eu", layout.Topics, "/t/prices/s/eu?tab="+string(tab))
	m.Counts.Scheduled = 0
	m.Rules = []lab.Rule{
		{Name: "$Default", Filter: "1=1", Always: true, Remove: home + "/t/prices/s/eu/rules/remove"},
		{Name: "large", Filter: "amount > 1000 AND region = 'eu'", Action: "SET sys.Label = 'large'"},
	}
	if tab == page.TabMessages {
		m.Counts, m.Total, m.Pages = entity.Counts{}, 0, component.Pages{Note: "0 of 0 shown"}
		m.ConnectionInfo = connectionInfoMessagesOnly(sample.Task{Topic: "prices", Subscriber: "eu", InSession: true, Session: "customer-1", Receives: true})
	}
	return m
}
