package story

import (
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/page/list"
	"mayfly/views/page/search"
)

func viewStories() []Story {
	drop := list.ConfirmDeleteView{Shell: staticViewShell("Views", "/views/delete"), To: home + "/views/delete?view=late+orders", Cancel: home + "/views", Row: viewRows()[0]}
	refused := viewForm()
	refused.Refused = component.Notice{Tone: component.Critical, Title: "The view 'late orders' already exists. Choose another name."}
	refused.Errors = map[string]component.Text{list.FieldTypedColumn: component.ServerText("There is no column 'colour'."), list.FieldColumn: component.ServerText("Tick at least one column."), list.FieldViewName: component.ServerText("A view needs a name to be saved.")}
	refused.Other = "colour"
	fresh := viewForm()
	fresh.Was, fresh.Name, fresh.Back = "", "", ""
	return []Story{
		{Name: "views", Page: list.Views{Shell: staticViewShell("Views", "/views"), New: home + "/views/edit", Rows: viewRows()}},
		{Name: "views-empty", Page: list.Views{Shell: staticViewShell("Views", "/views"), New: home + "/views/edit"}},
		{Name: "views-edit", Page: viewForm()},
		{Name: "views-new", Page: fresh},
		{Name: "views-refused", Page: refused},
		{Name: "views-drawer", Component: viewForm().Drawer()},
		{Name: "views-delete", Page: drop},
		{Name: "dead-letters", Page: deadGroups()},
		{Name: "dead-letters-none", Page: search.DeadLetterGroups{Shell: staticViewShell("Dead letters", "/dead-letters"), Lede: []component.Text{strongText("0 dead letters"), plainText(" in all queues.")}}},
		{Name: "queue-own-columns", Page: ownColumns()},
		{Name: "queue-view-missing", Page: viewMissing()},
		{Name: "queue-sorted", Page: sortedList()},
		{Name: "queue-sorted-none", Page: sortedNone()},
		{Name: "search-own-columns", Page: searchedOwn()},
	}
}

func staticViewShell(title, path string) layout.Shell {
	s := shell(title, "", path)
	s.Live = layout.Live{}
	return s
}

func viewColumns() []list.MessageColumn {
	return []list.MessageColumn{
		{Name: "state"}, {Name: "ttl"}, {Name: "due"}, {Name: "lock"}, {Name: "seq"}, {Name: "holder"}, {Name: "size"}, {Name: "delivery"},
		{Name: "prop.region", Label: "region"}, {Name: "prop.price", Label: "price", Num: true}, {Name: "json.customer.name", Label: "customer.name"},
		{Name: "enqueued"}, {Name: "entity"},
	}
}

func viewRows() []list.ViewRow {
	return []list.ViewRow{
		{Name: "late orders", Columns: viewColumns(), Lists: []string{"messages", "search"}, Default: true, Edit: home + "/views/edit?view=late+orders", Delete: home + "/views/delete?view=late+orders"},
		{Name: "<b>prices</b>", Columns: viewColumns()[8:10], Edit: home + "/views/edit?view=x", Delete: home + "/views/delete?view=x"},
	}
}

func viewForm() list.ViewForm {
	m := list.ViewForm{
		Shell: staticViewShell("Columns", "/views/edit"), To: home + "/views/edit", Back: home + "/q/orders", Cancel: home + "/q/orders?view=late+orders",
		Name: "late orders", Was: "late orders", Seen: "1752487452000", Default: true,
		Lists: []list.Checkbox{
			{Value: "messages", On: true}, {Value: "scheduled"}, {Value: "deferred"}, {Value: "locked"}, {Value: "dead-letter"}, {Value: "transfer"}, {Value: "search", On: true},
		},
		More: []list.CheckboxGroup{
			{Label: "views.more.props", Ticks: []list.Checkbox{{Value: "prop.<i>", Label: "<i>"}, {Value: "prop.tenant", Label: "tenant"}}},
			{Label: "views.more.members", Ticks: []list.Checkbox{{Value: "json.customer.id", Label: "customer.id"}}},
			{Label: "views.more.fields", Ticks: []list.Checkbox{{Value: "subject"}, {Value: "reply-to-session"}, {Value: "key"}}},
		},
	}
	for i, c := range viewColumns() {
		m.Columns = append(m.Columns, list.Checkbox{Value: c.Name, Label: c.Label, On: i != 2})
	}
	return m
}

func viewMenu() list.MessageColumns {
	return list.MessageColumns{
		Views: []component.Choice{
			{Label: "Standard", Href: home + "/q/orders?view=standard"}, {Label: "late orders", Href: home + "/q/orders?view=late+orders", Current: true},
			{Label: "<b>prices</b>", Href: home + "/q/orders?view=x"},
		},
		Choose: home + "/views/edit?back=%2Fn%2Fshop%2Fq%2Forders&view=late+orders", All: home + "/views",
	}
}

// ownCells returns a message's values in the columns of the view.
func ownCells(region, price, name string, at time.Time) []list.Cell {
	return []list.Cell{
		{}, {}, {}, {}, {}, {}, {}, {}, {Text: region}, {Text: price, Num: price != ""}, {Text: name}, {At: at}, {Text: "orders", Href: home + "/q/orders"},
	}
}

func ownColumns() entity.Entity {
	m := queueMessages()
	m.Columns = viewMenu()
	m.Columns.Name, m.Columns.Own = "late orders", viewColumns()
	names := []string{"Ada", "<script>alert(1)</script>", "⟨U+202E⟩evil", "", "a-name-that-goes-on-and-on-and-on-and-on-and-on-without-a-break"}
	for i := range m.Rows {
		price := ""
		if i%3 > 0 {
			price = "12.50"
		}
		m.Rows[i].Cells = ownCells([]string{"eu", "us"}[i%2], price, names[i%len(names)], m.Rows[i].At)
	}
	return m
}

// sortedList is the page of a queue whose messages are filtered, and sorted by a property.
func sortedList() entity.Entity {
	m := ownColumns()
	m.Columns.Sort = list.Sort{By: "prop.region", Down: true, Href: map[string]string{"seq": m.Href, "ttl": m.Href + "?sort=ttl", "prop.region": m.Href + "?sort=prop.region"}}
	m.ListFilter = list.Filter{
		Query: `prop.region:eu <b>`, Kept: []page.HiddenField{{Name: "dir", Value: "desc"}, {Name: "sort", Value: "prop.region"}}, NotLive: true,
		Incomplete: "Only the first 50,000 of 1,204,000 were looked at.", ReloadURL: m.Href + "?q=x", UnfilteredURL: m.Href,
	}
	m.AllMatching = list.AllMatching{Count: 318, Path: "orders", Query: "prop.region:eu", Shown: true, NotLive: true}
	return m
}

func sortedNone() entity.Entity {
	m := sortedList()
	m.Rows, m.ListFilter.Incomplete, m.ListFilter.Wrong = nil, "", "There is no key \"color\"."
	return m
}

func viewMissing() entity.Entity {
	m := queueMessages()
	m.Columns = viewMenu()
	m.Columns.Views[1].Current, m.Columns.Views[0].Current = false, true
	m.Columns.Missing = component.Text{S: "There is no view called early orders here"}
	return m
}

func searchedOwn() search.Search {
	m := searched()
	m.Columns = viewMenu()
	m.Columns.Own = viewColumns() // the columns are not saved
	m.Columns.Views[1].Current = false
	for i := range m.Hits {
		m.Hits[i].Cells = ownCells("eu", "18", "Ada", m.Hits[i].At)
	}
	return m
}

func deadGroups() search.DeadLetterGroups {
	m := search.DeadLetterGroups{Shell: staticViewShell("Dead letters", "/dead-letters"), N: 1242, Left: 31, Lede: []component.Text{strongText("1,242 dead letters"), plainText(" in all queues and subscriptions.")}}
	for i, text := range []string{"timeout after # ms", "<b>card</b> # declined", ""} {
		r := page.Reason{
			Reason: []string{"PaymentDeclined", "<i>Poison</i>", ""}[i], N: []int{1200, 40, 2}[i], First: at("09:12:00"), Last: at("10:02:00"), Now: now, Href: home + "/search?q=x",
			Sample: home + "/m/17", In: []string{"orders, prices/eu, payments and 4 more", "orders", "orders"}[i],
			Resubmit: home + "/jobs/new?kind=resubmit", Delete: home + "/jobs/new?kind=delete", Export: "/api/v1/export?q=x",
		}
		m.Groups = append(m.Groups, search.DeadLetterGroup{Reason: r, Error: text})
	}
	m.Groups[2].Resubmit, m.Groups[2].Delete, m.Groups[2].Export = "", "", ""
	return m
}
