package show

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Bounds of what the way to anywhere lists.
const (
	goText     = 200                    // bytes of what somebody looks for
	goEntities = 8                      // by their names
	goMessages = 5                      // by their numbers or ids
	goRooms    = 300                    // places where a number is looked for
	goFor      = 100 * time.Millisecond // that ids are looked for
)

// goTo lists where somebody may want to go, and what to do there. However much
// there is, it lists little, and takes little of the broker: names are compared
// beside it.
func (p *Pages) goTo(ctx context.Context, at Place) (view.Page, uint64, error) {
	m := page.GoTo{Query: cut(strings.TrimSpace(at.Query.Get(page.SearchText)), goText), From: cut(at.Query.Get(page.GoFrom), longestAddress)}
	m.Shell = p.still(ctx, at, locale.T(ctx, "go.title"))
	var names []engine.Named
	if err := p.b.Read(ctx, func(r broker.Reader) error { names = r.Names(); return nil }); err != nil {
		return nil, 0, err //nolint:wrapcheck // the caller asked for just this
	}
	w := way{p: p, ctx: ctx, words: strings.Fields(strings.ToLower(m.Query)), query: m.Query}
	if len(w.words) > 0 {
		w.entities(names)
	}
	w.hereActions(p.hereOf(m.From, names))
	w.pages()
	w.actions()
	if len(w.words) == 0 {
		w.entities(names)
	}
	if err := w.messages(ctx); err != nil {
		return nil, 0, err
	}
	m.Groups = w.groups
	return m, 0, nil
}

// hereOf is the entity whose page, or whose message's or session's, an address is
// of, if it is there.
func (p *Pages) hereOf(address string, names []engine.Named) (here engine.Named, ok bool) {
	raw, ok := strings.CutPrefix(address, p.o.Base)
	if !ok || raw == "" {
		return here, false
	}
	at, err := p.Parse(raw)
	if err != nil || at.Kind != Entity && at.Kind != Session {
		return here, false
	}
	for _, n := range names {
		if n.Path.Fold() == at.Path.Fold() {
			return n, true
		}
	}
	return here, false
}

// A way is the list while it is made.
type way struct {
	p      *Pages
	ctx    context.Context //nolint:containedctx // it lives as long as the list is made
	query  string
	words  []string // of the query, in lower case
	groups []page.GoGroup
}

func (w *way) t(id string, args ...locale.Args) string { return locale.T(w.ctx, id, args...) }

func (w *way) add(title string, items ...page.GoItem) {
	items = slices.DeleteFunc(items, func(i page.GoItem) bool { return i.Href != "" && !view.MayOpen(w.ctx, i.Href) })
	if len(items) > 0 {
		w.groups = append(w.groups, page.GoGroup{Title: w.t(title), Items: items})
	}
}

// fits tells whether each of words begins a word of one of the texts.
func fits(words []string, texts ...string) bool {
	all := strings.FieldsFunc(strings.ToLower(strings.Join(texts, " ")), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' })
	return !slices.ContainsFunc(words, func(word string) bool {
		return !slices.ContainsFunc(all, func(have string) bool { return strings.HasPrefix(have, word) })
	})
}

// fitting are the items of which the words that somebody typed are true, and that are
// of the namespace for whom there is this one alone.
func (w *way) fitting(all []goItem) (items []page.GoItem) {
	for _, i := range all {
		if fits(w.words, i.Label, i.also) && (!within(w.ctx) || i.Href == "" || strings.HasPrefix(i.Href, w.p.Home())) {
			items = append(items, i.GoItem)
		}
	}
	return items
}

// A goItem is an item that is found by other words too.
type goItem struct {
	page.GoItem
	also string
}

func (w *way) pages() {
	home := w.p.Home()
	var all []goItem
	also := map[layout.Section]string{
		layout.Overview: "go.also.overview", layout.Expirations: "go.also.expirations", layout.Deferred: "go.also.deferred", layout.Temporary: "go.also.temporary",
		layout.Connected: "go.also.connections", layout.Activity: "go.also.activity", layout.Access: "go.also.access", layout.Scenes: "go.also.scenes",
	}
	for _, s := range layout.Sections() {
		i := goItem{GoItem: page.GoItem{Label: w.t(s.Words()), Icon: s.Icon(), Href: home + s.Below()}}
		if s == layout.Scenes {
			if i.Href = w.p.ScenesURL(); w.p.o.Scenes == nil {
				continue
			}
		}
		if id := also[s]; id != "" {
			i.also = w.t(id)
		}
		all = append(all, i)
	}
	for _, more := range []struct{ words, icon, at, also string }{
		{"jobs.title", "activity", "/jobs", "go.also.jobs"}, {"metrics.title", "overview", "/metrics", "go.also.metrics"}, {"lab.title", "filter", "/lab", "go.also.lab"},
		{"views.title", "columns", "/views", "go.also.views"}, {"reference.title", "code", "/api", "go.also.reference"},
	} {
		all = append(all, goItem{page.GoItem{Label: w.t(more.words), Icon: more.icon, Href: home + more.at}, w.t(more.also)})
	}
	all = append(all, goItem{page.GoItem{Label: w.t("tokens.title"), Icon: "key", Href: w.p.TokensURL("")}, w.t("go.also.tokens")})
	all = append(all, goItem{page.GoItem{Label: w.t("settings.title"), Icon: "settings", Href: w.p.SettingsURL()}, w.t("go.also.settings")})
	w.add("go.pages", w.fitting(all)...)
}

func (w *way) actions() {
	home := w.p.Home()
	w.add("go.actions", w.fitting([]goItem{
		{page.GoItem{Label: w.t("entities.create.queue"), Icon: "plus", Href: home + "/queues/new"}, w.t("go.also.new")},
		{page.GoItem{Label: w.t("entities.create.topic"), Icon: "plus", Href: home + "/topics/new"}, w.t("go.also.new")},
		{page.GoItem{Label: w.t("go.job"), Icon: "plus", Href: home + "/jobs/new"}, w.t("go.also.job")},
		{page.GoItem{Label: w.t("import.title"), Note: "JSONL", Icon: "import", Href: home + "/import"}, w.t("go.also.import")},
		{page.GoItem{Label: w.t("go.definitions"), Note: "Config.json", Icon: "export", Href: home + "/definitions", File: true}, w.t("go.also.definitions")},
		{page.GoItem{Label: w.t("go.define"), Note: "Config.json", Icon: "import", Href: home + "/definitions/import"}, w.t("go.also.definitions")},
		{page.GoItem{Label: w.t("go.theme"), Note: "t", Icon: "theme", Act: page.GoTheme}, w.t("go.also.theme")},
		{page.GoItem{Label: w.t("go.pause"), Note: "p", Icon: "pause", Act: page.GoPause}, w.t("go.also.pause")},
		{page.GoItem{Label: w.t("go.present"), Note: "Shift P", Icon: "present", Act: page.GoPresent}, w.t("go.also.present")},
		{page.GoItem{Label: w.t("go.time.rel"), Icon: "clock", Act: page.GoRelative}, ""},
		{page.GoItem{Label: w.t("go.time.local"), Icon: "clock", Act: page.GoLocal}, ""},
		{page.GoItem{Label: w.t("go.time.utc"), Icon: "clock", Act: page.GoUTC}, ""},
		{page.GoItem{Label: w.t("keys.title"), Note: "?", Icon: "info", Act: page.GoKeys}, w.t("go.also.keys")},
	})...)
}

// A verb is what can be done with an entity, on a page or by a form of its own.
type verb struct {
	words string // the id of what it is called, with the entity's name
	also  string // the id of other words for it
	icon  string
	at    string // below the entity's page
	kinds []engine.EntityKind
}

func verbs() []verb {
	const queue, topic, sub = engine.Queue, engine.Topic, engine.Subscription
	return []verb{
		{"go.send", "go.also.send", "send", "/send", []engine.EntityKind{queue, topic}},
		{"go.import", "go.also.import", "import", "/import", []engine.EntityKind{queue, topic}},
		{"go.dead", "go.also.dead", "dead", "?tab=" + string(page.DeadLetters), []engine.EntityKind{queue, sub}},
		{"go.resubmit", "go.also.resubmit", "resubmit", "/resubmit", []engine.EntityKind{queue, sub}},
		{"go.purge", "go.also.purge", "lost", "/purge", []engine.EntityKind{queue, sub}},
		{"go.subscribe", "go.also.subscribe", "plus", "/new", []engine.EntityKind{topic}},
		{"go.edit", "go.also.edit", "edit", "/edit", []engine.EntityKind{queue, topic, sub}},
		{"go.delete", "go.also.delete", "trash", "/delete", []engine.EntityKind{queue, topic, sub}},
	}
}

func (w *way) with(v verb, n engine.Named) page.GoItem {
	return page.GoItem{Label: w.t(v.words, locale.Args{"Name": Shown(n.Path)}), Icon: v.icon, Href: w.p.EntityURL(n.Kind, n.Path) + v.at}
}

// hereActions are what can be done with the entity whose page is open.
func (w *way) hereActions(here engine.Named, ok bool) {
	if !ok {
		return
	}
	var items []page.GoItem
	for _, v := range verbs() {
		if i := w.with(v, here); slices.Contains(v.kinds, here.Kind) && fits(w.words, w.bare(v)) && !w.has(i) {
			items = append(items, i)
		}
	}
	w.add("go.here", items...)
}

// bare is what a verb is called, without an entity.
func (w *way) bare(v verb) string { return w.t(v.words, locale.Args{"Name": ""}) + " " + w.t(v.also) }

func (w *way) has(i page.GoItem) bool {
	return slices.ContainsFunc(w.groups, func(g page.GoGroup) bool { return slices.Contains(g.Items, i) })
}

// entities are those with what was typed in their names, and what can be done with
// them where a verb stands first or there are only a few.
func (w *way) entities(names []engine.Named) {
	found, n := named(names, w.words)
	var items []page.GoItem
	for _, e := range found {
		icon := map[engine.EntityKind]string{engine.Queue: "queues", engine.Topic: "topics", engine.Subscription: "filter"}[e.Kind]
		items = append(items, page.GoItem{Label: Shown(e.Path), Note: KindWord(w.ctx, e.Kind), Icon: icon, Href: w.p.EntityURL(e.Kind, e.Path)})
	}
	if len(w.words) > 0 && n > len(found) {
		at := Place{Namespace: w.p.b.Name(), Kind: Queues}.with(page.SearchText, search.Quoted(w.query))
		items = append(items, page.GoItem{Label: locale.N(w.ctx, "go.more", n-len(found)), Icon: "more", Href: w.p.URL(at)})
	}
	w.add("go.entities", items...)
	if len(w.words) == 0 {
		return
	}
	w.add("go.doing", w.doing(names, found, n)...)
}

// doing is what can be done: with entities where a verb stands first, else with the
// only one that was found, or the first of two.
func (w *way) doing(names, found []engine.Named, n int) (items []page.GoItem) {
	for _, v := range verbs() {
		of := found[:min(len(found), 1)]
		switch {
		case utf8.RuneCountInString(w.words[0]) > 1 && fits(w.words[:1], w.bare(v)):
			rest := w.words[1:]
			if len(rest) > 0 && rest[0] == w.t("go.to") {
				rest = rest[1:]
			}
			of, _ = named(slices.DeleteFunc(slices.Clone(names), func(n engine.Named) bool { return !slices.Contains(v.kinds, n.Kind) }), rest)
		case n > 2:
			of = nil
		}
		for _, e := range of {
			if slices.Contains(v.kinds, e.Kind) && len(items) < 2*goEntities {
				items = append(items, w.with(v, e))
			}
		}
	}
	return items
}

// named are the first entities that have all words in their names, those first
// whose names begin with one, and how many there are.
func named(names []engine.Named, words []string) (found []engine.Named, n int) {
	var others []engine.Named
	for _, e := range names {
		fold := e.Path.Fold()
		if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(fold, word) }) {
			continue
		}
		n++
		if len(words) == 0 || strings.HasPrefix(strings.ToLower(e.Path.Name()), words[0]) || strings.HasPrefix(fold, words[0]) {
			if len(found) < goEntities {
				found = append(found, e)
			}
		} else if len(others) < goEntities {
			others = append(others, e)
		}
	}
	found = append(found, others...)
	return found[:min(len(found), goEntities)], n
}

// messages are those with a number, or an id, that was typed; and the search for
// it.
func (w *way) messages(ctx context.Context) error {
	if w.query == "" {
		return nil
	}
	rows, err := w.numbered(ctx)
	if err != nil {
		return err
	}
	more, err := w.identified(ctx)
	if err != nil {
		return err
	}
	var items []page.GoItem
	for _, r := range append(rows, more...)[:min(len(rows)+len(more), goMessages)] {
		items = append(items, page.GoItem{
			Label: w.t("go.message", locale.Args{"Number": strconv.FormatUint(uint64(r.Message.Seq), 10), "Name": Shown(r.Path)}), Note: calledBriefly(r.Content, r.Message.Seq),
			Icon: "active", Href: w.p.MessageURL(r.Message.Key),
		})
	}
	items = append(items, page.GoItem{Label: w.t("go.search", locale.Args{"Text": w.query}), Icon: "search", Href: w.p.searchURL(w.query)})
	w.add("go.messages", items...)
	return nil
}

// numbered are messages with the sequence number that was typed, at the first
// places there are.
func (w *way) numbered(ctx context.Context) (rows []engine.Row, err error) {
	seq, err := strconv.ParseUint(strings.TrimPrefix(w.query, "#"), 10, 63)
	if err != nil || seq == 0 {
		return nil, nil //nolint:nilerr // it is something else that was typed
	}
	err = w.p.b.Read(ctx, func(r broker.Reader) error {
		rows = nil
		rooms := r.Rooms(engine.ClassAll)
		for _, room := range rooms[:min(len(rooms), goRooms)] {
			found, err := r.Browse(engine.Browse{Path: room.Path, From: engine.Seq(seq), Limit: 1})
			if err != nil {
				return err //nolint:wrapcheck // it is there in this very turn
			}
			if len(found) == 1 && found[0].Message.Seq == engine.Seq(seq) && len(rows) < goMessages {
				rows = append(rows, found...)
			}
		}
		return nil
	})
	return rows, err //nolint:wrapcheck // the caller asked for just this
}

// identified are messages with the id that was typed, if they are found in no
// time. A word of letters alone is none.
func (w *way) identified(ctx context.Context) (rows []engine.Row, err error) {
	if len(w.words) != 1 || len(w.query) < 3 || !strings.ContainsAny(w.query, "0123456789") {
		return nil, nil
	}
	q, err := search.Parse("id:" + search.Quoted(w.query))
	if err != nil {
		return nil, nil
	}
	brief, cancel := context.WithTimeout(ctx, goFor)
	defer cancel()
	err = w.p.b.Search(brief, broker.Search{Query: q, Max: goMessages}, func(g broker.Glance) error {
		rows = append(rows, g.Hits...)
		return nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	slices.SortStableFunc(rows, func(a, b engine.Row) int { return cmp.Compare(b.Message.EnqueuedAt, a.Message.EnqueuedAt) })
	return rows, err //nolint:wrapcheck // it says what it is about
}
