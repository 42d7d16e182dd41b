package show

import (
	"context"
	"strings"

	"mayfly/engine/postmortem"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// groupsShown is how many groups a page has.
const groupsShown = 100

// groupPlaces is how many places of a group a page names.
const groupPlaces = 3

// deadGroups are the dead letters of all entities, by what they died of.
func (p *Pages) deadGroups(ctx context.Context, at Place) (view.Page, uint64, error) {
	places, err := postmortem.Everywhere(ctx, p.b)
	if err != nil {
		return nil, 0, err //nolint:wrapcheck // it says what it is about
	}
	r, err := postmortem.Examine(ctx, p.b, places)
	if err != nil {
		return nil, 0, err //nolint:wrapcheck // it says what it is about
	}
	m := page.DeadGroups{Shell: p.still(ctx, at, locale.T(ctx, "dead.groups")), N: int(r.Seen)}
	m.Lede = []component.Text{strong(locale.N(ctx, "reason.note", int(r.Total))), say(" " + locale.T(ctx, "dead.groups.lede"))}
	if r.Seen < r.Total {
		m.Lede = append(m.Lede, say(" "+locale.N(ctx, "dead.lede.scanned", int(r.Seen))))
	}
	left := r.Loose
	for _, g := range r.Groups[min(len(r.Groups), groupsShown):] {
		left += g.N
	}
	m.Left = int(left)
	for _, g := range r.Groups[:min(len(r.Groups), groupsShown)] {
		o := page.Reason{
			Reason: g.Reason, N: int(g.N), First: g.First.Time(), Last: g.Last.Time(), Now: p.b.Clock().Time(),
			Sample: keyText(g.Latest.Message.Key), In: placesInWords(ctx, g),
		}
		all := Export{Query: "state:dead " + g.Query()}
		if len(g.Places) == 1 {
			all = Export{Path: string(g.Places[0].Path), Query: g.Query()}
		}
		p.offer(&o, all)
		o.Href = p.searchURL("state:dead " + g.Query())
		m.Groups = append(m.Groups, page.Group{Reason: o, Error: g.Error})
	}
	return m, 0, nil
}

// placesInWords names places, the first few.
func placesInWords(ctx context.Context, g postmortem.Group) string {
	var names []string
	for _, p := range g.Places[:min(len(g.Places), groupPlaces)] {
		names = append(names, Shown(p.Path.Entity()))
	}
	text := strings.Join(names, ", ")
	switch more := len(g.Places) - len(names); {
	case g.Elsewhere > 0: // in how many places nobody has counted
		text += " " + locale.T(ctx, "dead.groups.others")
	case more > 0:
		text += " " + locale.N(ctx, "dead.groups.more", more)
	}
	return text
}
