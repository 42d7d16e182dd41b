package story

import (
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/operate"
)

func damaged() operate.Damaged {
	row := func(key string, number int64, what operate.DamagedPart, at page.LinkTarget) operate.DamagedRow {
		return operate.DamagedRow{Key: key, Number: number, What: what, Entity: at, Move: home + "/damaged/move-aside?key=" + key}
	}
	m := operate.Damaged{
		Shell: shell("Damaged messages", "", "/damaged"), MoveAll: home + "/damaged/move-aside",
		Pages: component.Pages{Note: "4 of 1,284 shown"},
		Rows: []operate.DamagedRow{
			row("1099511627776", 0, operate.DamagedState, page.LinkTarget{}),
			row("1099511627777", 48_211, operate.DamagedProperties, receives("orders")),
			row("1099511627790", 48_230, operate.DamagedBody, page.LinkTarget{Name: "orders/$DLQ", Href: home + "/q/orders?tab=dead"}),
			row("1099511627791", 7, operate.DamagedBody, receives(hostileID)),
		},
	}
	m.Shell.Banner = component.Notice{Tone: component.Critical, Title: "Damaged messages: 1,284", Detail: "They are not in the store as they were written, and are not delivered."}
	return m
}

func noDamaged() operate.Damaged {
	m := damaged()
	m.Rows, m.Pages, m.Shell.Banner = nil, component.Pages{}, component.Notice{}
	return m
}

func moveOneAside() operate.ConfirmMoveAside {
	one := damaged().Rows[1]
	m := operate.ConfirmMoveAside{Shell: shell("Damaged messages", "", "/damaged/move-aside"), To: one.Move, Cancel: home + "/damaged", One: one, N: 1}
	m.Shell.Live = layout.Live{}
	return m
}

func moveAllAside() operate.ConfirmMoveAside {
	m := moveOneAside()
	m.To, m.One, m.N, m.Type = home+"/damaged/move-aside", operate.DamagedRow{}, 1284, "default"
	m.Typed, m.Error = "shop", component.Text{S: "Type default to confirm."}
	return m
}
