package story

import (
	"mayfly/views/layout"
	"mayfly/views/page"
)

func goToStories() []Story {
	sh := shell("Go to", "", layout.GoToPath)
	sh.Live = layout.Live{}
	return []Story{
		{Name: "go", Page: page.GoTo{Shell: sh, From: home + "/q/orders", Groups: []page.GoGroup{
			{Title: "Pages", Items: []page.GoItem{{Label: "Overview", Icon: "overview", Href: home}, {Label: "Queues", Icon: "queues", Href: home + "/queues"}}},
			{Title: "Do", Items: []page.GoItem{
				{Label: "Create queue", Icon: "plus", Href: home + "/queues/new"}, {Label: "Export definitions", Note: "Config.json", Icon: "export", Href: home + "/definitions", File: true},
				{Label: "Switch between light and dark", Note: "t", Icon: "theme", Action: page.GoTheme},
			}},
		}}},
		{Name: "go-found", Page: page.GoTo{Shell: sh, Query: "ord", Groups: []page.GoGroup{
			{Title: "Queues, topics, subscriptions", Items: []page.GoItem{{Label: "orders", Note: "queue", Icon: "queues", Href: home + "/q/orders"}, {Label: "<b>order</b>", Note: "topic", Icon: "topics", Href: home + "/t/%3Cb%3E"}}},
			{Title: "Messages", Items: []page.GoItem{{Label: "Search messages for “ord”", Icon: "search", Href: home + "/search?q=ord"}}},
		}}},
		{Name: "go-nothing", Page: page.GoTo{Shell: sh, Query: "zzz"}},
	}
}
