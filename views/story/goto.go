package story

import (
	"mayfly/views/layout"
	"mayfly/views/page/search"
)

func goToStories() []Story {
	sh := shell("Go to", "", layout.GoToPath)
	sh.Live = layout.Live{}
	return []Story{
		{Name: "go", Page: search.GoTo{Shell: sh, From: home + "/q/orders", Groups: []search.GoGroup{
			{Title: "Pages", Items: []search.GoItem{{Label: "Overview", Icon: "overview", Href: home}, {Label: "Queues", Icon: "queues", Href: home + "/queues"}}},
			{Title: "Do", Items: []search.GoItem{
				{Label: "Create queue", Icon: "plus", Href: home + "/queues/new"}, {Label: "Export definitions", Note: "Config.json", Icon: "export", Href: home + "/definitions", File: true},
				{Label: "Switch between light and dark", Note: "t", Icon: "theme", Action: search.GoTheme},
			}},
		}}},
		{Name: "go-found", Page: search.GoTo{Shell: sh, Query: "ord", Groups: []search.GoGroup{
			{Title: "Queues, topics, subscriptions", Items: []search.GoItem{{Label: "orders", Note: "queue", Icon: "queues", Href: home + "/q/orders"}, {Label: "<b>order</b>", Note: "topic", Icon: "topics", Href: home + "/t/%3Cb%3E"}}},
			{Title: "Messages", Items: []search.GoItem{{Label: "Search messages for “ord”", Icon: "search", Href: home + "/search?q=ord"}}},
		}}},
		{Name: "go-nothing", Page: search.GoTo{Shell: sh, Query: "zzz"}},
	}
}
