package story

import (
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/list"
	"mayfly/views/page/overview"
)

func expirations() overview.Expirations {
	gone := func(key, subject, entity string, ago time.Duration, dead bool) overview.ExpiredRow {
		e := overview.ExpiredRow{Key: key, Subject: subject, Entity: entity, Href: home + "/m/" + key, At: now.Add(-ago), Now: now}
		if dead {
			e.Fate.To, e.DeadHref = entity+"/$DLQ", e.Href
		}
		return e
	}
	left := within(7*time.Second, 5*time.Minute)
	left.As = component.Plenty
	return overview.Expirations{
		Shell: shell("Expirations", layout.Expirations, "/expirations"),
		Lede: []component.Text{
			strongText("Next to go: "), {Clock: &left, Strong: true},
			plainText(" · 9 in ten seconds, 112 in a minute, 798 in five."),
		},
		Horizon:      horizon(),
		Board:        expiringMessages(14, "yes"),
		All:          5227,
		More:         home + "/expirations?top=100",
		Recent:       5 * time.Minute,
		ExpiredCount: 331,
		Expired: []overview.ExpiredRow{
			gone("47001", "order.placed", "orders", 12*time.Second, true),
			gone("47002", "price.changed", "prices/us", 19*time.Second, false),
			gone("47003", "order.placed", "orders", 33*time.Second, true),
			gone("47004", "price.changed", "prices/eu", 41*time.Second, false),
			gone("47005", "payment.captured", "payments", 62*time.Second, true),
			gone("47006", "order.cancelled", "orders", 68*time.Second, true),
			gone("47007", "quote.reply", "reply-7f3a", 90*time.Second, false),
		},
	}
}

func expirationsEmpty() overview.Expirations {
	h := firstStart().Horizon
	return overview.Expirations{
		Shell:   shell("Expirations", layout.Expirations, "/expirations"),
		Lede:    []component.Text{strongText("Nothing runs out."), plainText(" No message has an end.")},
		Horizon: h, Fate: "lost", Within: "1m",
		Recent: 5 * time.Minute,
	}
}

// uses returns an activity for each mark: one that reset the idle clock for x, and one that did not
// for any other.
func uses(marks string) []component.Use {
	var out []component.Use
	for i, m := range marks {
		a := component.Use{At: now.Add(-time.Duration(len(marks)-i) * 14 * time.Second), What: "dashboard view"}
		if m == 'x' {
			a.ResetsClock, a.What = true, []string{"send · quotes-3", "receive, empty · web-1", "settle · web-1"}[i%3]
		}
		out = append(out, a)
	}
	return out
}

func temporaryEntities() []overview.TemporaryEntity {
	sitter := func(name, kind string, messages int, left, of time.Duration, by, marks string) overview.TemporaryEntity {
		return overview.TemporaryEntity{
			Key: name, Name: name, Href: queueURL(name), Kind: kind, Messages: messages,
			Clock: within(left, of), Reset: now.Add(left - of), By: by, Uses: uses(marks),
		}
	}
	remembered := func(name, kind string, messages int, left, of time.Duration, by, marks string) overview.TemporaryEntity {
		s := sitter(name, kind, messages, left, of, by, marks)
		s.UsesCompleteFrom = at("10:01:00")
		return s
	}
	still := func(name, kind string, messages int, state component.IdleState, of time.Duration, why, marks string) overview.TemporaryEntity {
		return overview.TemporaryEntity{
			Key: name, Name: name, Href: queueURL(name), Kind: kind, Messages: messages, State: state,
			Clock: component.Clock{Of: of, Now: now}, Why: []component.Text{plainText(why)}, Uses: uses(marks),
		}
	}
	return []overview.TemporaryEntity{
		sitter("reply-7f3a", "queue", 1, 30*time.Second, 5*time.Minute, "receive by web-1", "xxoxxxooxxxxoxxxxxoo"),
		sitter("prices/preview-lisbon", "subscription", 18, 58*time.Second, 10*time.Minute, "peek by an admin", "xooooxoooooxoooooooo"),
		remembered("reply-c40d", "queue", 0, 171*time.Second, 5*time.Minute, "send by quotes-3", "ooxxoooxoooxxxoooxxx"),
		sitter("load-test-0714", "queue", 204, 744*time.Second, 15*time.Minute, "receive by k-runner", "xxxooxxoxxoxoxoxooxo"),
		still("debug-checkout", "queue", 1, component.IdleHeld, 10*time.Minute, "1 scheduled message is waiting. The 10m start when it becomes active or is cancelled.", "ooooooxxoooxxxxoxxxo"),
		still("emails-archive-in", "queue", 0, component.IdleHeld, 5*time.Minute, "It forwards to emails, which counts as a receiver that never leaves.", "ooxxxoxoxooxooxoooox"),
		still("acceptance-nightly", "queue", 3, component.IdlePinned, 30*time.Minute, "Pinned at 09:12. It was 30m before.", "xxoxxxxxxxxxxoxxox"),
		sitter("europe.retail.backoffice.order-confirmations-to-be-archived", "queue", 0, 4*time.Hour, 7*24*time.Hour, "", ""),
	}
}

func temporary() overview.Temporary {
	grave := func(id, name, born, died, contents string) component.DeletedEntity {
		return component.DeletedEntity{Key: name, Name: name, Created: at(born), Deleted: at(died), Contents: contents, Restore: home + "/tombstones/" + id + "/restore"}
	}
	return overview.Temporary{
		Shell: shell("Temporary entities", layout.Temporary, "/temporary"),
		Lede: []component.Text{
			plainText("Seven entities delete themselves when nobody uses them. "), strongText("reply-7f3a is next, in half a minute."),
			plainText(" What lies in them goes with them; nothing is dead-lettered."),
		},
		MinIdle:  5 * time.Minute,
		Entities: temporaryEntities(),
		Deleted: []component.DeletedEntity{
			grave("1-17", "reply-91c2", "09:58:40", "10:03:51", "nothing in it"),
			grave("1-18", "reply-0b9e", "09:41:07", "10:02:19", "2 messages"),
			func() component.DeletedEntity {
				g := grave("1-19", "load-test-0713", "08:00:00", "09:44:31", "1,118 messages")
				g.Created, g.Deleted, g.Dated = g.Created.AddDate(0, 0, -1), g.Deleted.AddDate(0, 0, -1), true
				return g
			}(),
			grave("1-20", "Unzustellbarkeitsprüfwarteschlange", "09:02:00", "09:27:03", "nothing in it"),
		},
	}
}

func temporaryEmpty() overview.Temporary {
	return overview.Temporary{
		Shell:   shell("Temporary entities", layout.Temporary, "/temporary"),
		Lede:    []component.Text{strongText("Nothing deletes itself here.")},
		MinIdle: 5 * time.Minute,
		Kept:    7 * 24 * time.Hour,
	}
}

func deferred() list.Deferred {
	bay := func(number int64, subject, entity, by, when string, c component.Clock) component.DeferredMessage {
		return component.DeferredMessage{
			Key: entity + subject + when, Href: home + "/m/51", Number: number, Subject: subject, Entity: entity, EntityURL: queueURL(entity),
			By: by, When: at(when), Now: now, Clock: c, OnExpiry: entity + "/$DLQ",
		}
	}
	m := list.Deferred{
		Shell: shell("Deferred", layout.Deferred, "/deferred"),
		Lede: []component.Text{
			strongText("Seven messages are parked."), plainText(" Their time keeps running: four run out within five minutes, one already has."),
		},
		Cards: []component.DeferredMessage{
			bay(48_209, "payment.captured", "payments", "worker-1", "10:04:02", within(672*time.Second, 15*time.Minute)),
			bay(48_219, "payment.before.order", "orders", "worker-1", "10:02:44", within(73*time.Second, 5*time.Minute)),
			bay(48_102, "refund.requested", "payments", "worker-3", "09:51:20", within(178*time.Second, 15*time.Minute)),
			bay(47_980, "order.split", "orders", "", "09:59:31", within(14*time.Second, 5*time.Minute)),
			bay(47_911, "payment.captured", "payments", "worker-2", "09:46:02", component.Clock{}),
			bay(47_877, "inventory.reserve", "orders", "workflow-7", "09:59:12", component.Clock{Now: now}),
			bay(47_802, "订单合并", "orders", "worker-cn-2", "09:58:55", within(41*time.Second, 5*time.Minute)),
		},
	}
	m.Cards[4].Expired = true
	m.Cards[2].Hold = lockedFor(18*time.Second, 0)
	return m
}

func deferredColumns() list.Deferred {
	m := deferred()
	m.Cards, m.Rows, m.Columns = nil, ownColumns().Rows, ownColumns().Columns
	for i := range m.Rows {
		m.Rows[i].State = page.StateDeferred
	}
	m.Pages = component.Pages{Note: "200 of 318 shown", Next: home + "/deferred?entity=orders&from=201"}
	m.AllMatching = list.AllMatching{Count: 318, Query: "state:deferred", Shown: true}
	return m
}

func deferredColumnsEmpty() list.Deferred {
	m := deferredEmpty()
	m.Columns = ownColumns().Columns
	return m
}

func deferredEmpty() list.Deferred {
	return list.Deferred{
		Shell: shell("Deferred", layout.Deferred, "/deferred"),
		Lede:  []component.Text{strongText("Nothing is parked.")},
	}
}
