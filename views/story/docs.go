package story

import (
	"mayfly/views/layout"
	"mayfly/views/page/admin"
)

func docsStories() []Story {
	sh := shell("Documentation", layout.Docs, "/docs")
	sh.Live = layout.Live{}
	first := admin.DocLink{Title: "The first minute", Href: "/docs/first-minute"}
	list := admin.Docs{Shell: sh, At: "/docs", API: "/docs/api", Groups: []admin.DocGroup{
		{Words: "docs.group.start", Pages: []admin.DocLink{first, {Title: "Connect from Go", Href: "/docs/connect-go"}}},
		{Words: "docs.group.reference", Pages: []admin.DocLink{{Title: "The command line", Href: "/docs/command-line"}}},
	}}
	found, none := list, list
	found.Query, found.Groups = "minute", nil
	found.Found = []admin.DocFound{{DocLink: first, Parts: []admin.DocPart{
		{Href: "/docs/first-minute", Text: []admin.DocPiece{{Text: "Within a "}, {Text: "minute", Hit: true}, {Text: " it expires. …"}}},
		{Title: "Send", Href: "/docs/first-minute#send", Text: []admin.DocPiece{{Text: "… <b>a "}, {Text: "minute", Hit: true}}},
	}}}
	none.Query, none.Groups = "<zzz>", nil
	return []Story{{Name: "docs", Page: list}, {Name: "docs-found", Page: found}, {Name: "docs-nothing", Page: none}, {Name: "docs-page", Page: docPage(sh, first)}}
}

func docPage(sh layout.Shell, first admin.DocLink) admin.Doc {
	return admin.Doc{
		Shell: sh.WithTitle("Connect from Go"), At: "/docs", Title: "Connect from Go", File: "web/amqp/connect-go.md", Previous: first, Next: admin.DocLink{Title: "Connect from Python", Href: "/docs/connect-python"},
		Contents: []admin.DocHeadline{{Title: "Notes", Href: "#notes"}, {Title: "Flags & more", Href: "#flags--more", Deep: true}},
		Blocks: []admin.DocBlock{
			{HTML: "<p>This program sends a message to the queue <code>orders</code>.</p>\n"},
			{Kind: admin.DocCode, Text: "package main\n\nfunc main() { println(\"<b>\") }", Language: "go"},
			{Kind: admin.DocHeading, Level: 2, ID: "notes", Text: "Notes", HTML: "Notes"},
			{Kind: admin.DocHeading, Level: 3, ID: "flags--more", Text: "Flags & more", HTML: "Flags &amp; more"},
			{Kind: admin.DocTable, HTML: "<table>\n<thead>\n<tr>\n<th>Flag</th>\n<th>Meaning</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><code>--http</code></td>\n<td>dashboard</td>\n</tr>\n</tbody>\n</table>\n"},
		},
	}
}
