package story

import (
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
)

func damaged() page.Damaged {
	row := func(key string, number int64, what page.DamagedPart, at page.LinkTarget) page.DamagedRow {
		return page.DamagedRow{Key: key, Number: number, What: what, Entity: at, Move: home + "/damaged/move-aside?key=" + key}
	}
	m := page.Damaged{
		Shell: shell("Damaged messages", "", "/damaged"), MoveAll: home + "/damaged/move-aside",
		Pages: component.Pages{Note: "4 of 1,284 shown"},
		Rows: []page.DamagedRow{
			row("1099511627776", 0, page.DamagedState, page.LinkTarget{}),
			row("1099511627777", 48_211, page.DamagedProperties, receives("orders")),
			row("1099511627790", 48_230, page.DamagedBody, page.LinkTarget{Name: "orders/$DLQ", Href: home + "/q/orders?tab=dead"}),
			row("1099511627791", 7, page.DamagedBody, receives(hostileID)),
		},
	}
	m.Shell.Banner = component.Notice{Tone: component.Critical, Title: "Damaged messages: 1,284", Detail: "They are not in the store as they were written, and are not delivered."}
	return m
}

func noDamaged() page.Damaged {
	m := damaged()
	m.Rows, m.Pages, m.Shell.Banner = nil, component.Pages{}, component.Notice{}
	return m
}

func moveOneAside() page.ConfirmMoveAside {
	one := damaged().Rows[1]
	m := page.ConfirmMoveAside{Shell: shell("Damaged messages", "", "/damaged/move-aside"), To: one.Move, Cancel: home + "/damaged", One: one, N: 1}
	m.Shell.Live = layout.Live{}
	return m
}

func moveAllAside() page.ConfirmMoveAside {
	m := moveOneAside()
	m.To, m.One, m.N, m.Type = home+"/damaged/move-aside", page.DamagedRow{}, 1284, "default"
	m.Typed, m.Error = "shop", component.Text{S: "Type default to confirm."}
	return m
}
