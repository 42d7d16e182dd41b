package search

import (
	"context"
	"strings"

	"mayfly/engine/search/deadletters"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/search"
	"mayfly/views/view"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/pages"
)

// maxGroups is how many groups a page lists.
const maxGroups = 100

// maxGroupEntities is how many subqueues of a group a page names.
const maxGroupEntities = 3

// DeadLetterGroups returns the page of dead letters of all entities, grouped by reason.
func DeadLetterGroups(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	places, err := deadletters.Subqueues(ctx, p.Broker)
	if err != nil {
		return nil, 0, err
	}
	r, err := deadletters.Analyze(ctx, p.Broker, places)
	if err != nil {
		return nil, 0, err
	}
	m := search.DeadLetterGroups{Shell: p.StaticShell(ctx, at, locale.T(ctx, "dead.groups")), N: int(r.Examined)}
	m.Lede = []component.Text{pages.StrongText(locale.N(ctx, "reason.note", int(r.Total))), pages.PlainText(" " + locale.T(ctx, "dead.groups.lede"))}
	if r.Examined < r.Total {
		m.Lede = append(m.Lede, pages.PlainText(" "+locale.N(ctx, "dead.lede.scanned", int(r.Examined))))
	}
	left := r.Ungrouped
	for _, g := range r.Groups[min(len(r.Groups), maxGroups):] {
		left += g.Count
	}
	m.Left = int(left)
	for _, g := range r.Groups[:min(len(r.Groups), maxGroups)] {
		o := page.Reason{
			Reason: g.Reason, N: int(g.Count), First: g.First.Time(), Last: g.Last.Time(), Now: p.Broker.ClockTime().Time(),
			Sample: pages.KeyText(g.Latest.Message.Key), In: groupEntities(ctx, g),
		}
		all := pages.Export{Query: "state:dead " + g.Query()}
		if len(g.Entities) == 1 {
			all = pages.Export{Path: string(g.Entities[0].Path), Query: g.Query()}
		}
		entity.AddReasonActions(p, &o, all)
		o.Href = p.SearchURL("state:dead " + g.Query())
		m.Groups = append(m.Groups, search.DeadLetterGroup{Reason: o, Error: g.Error})
	}
	return m, 0, nil
}

// groupEntities names the first few subqueues of a group.
func groupEntities(ctx context.Context, g deadletters.Group) string {
	var names []string
	for _, p := range g.Entities[:min(len(g.Entities), maxGroupEntities)] {
		names = append(names, pages.DisplayPath(p.Path.Entity()))
	}
	text := strings.Join(names, ", ")
	switch more := len(g.Entities) - len(names); {
	case g.OtherCount > 0: // the number of further subqueues is unknown
		text += " " + locale.T(ctx, "dead.groups.others")
	case more > 0:
		text += " " + locale.N(ctx, "dead.groups.more", more)
	}
	return text
}
