package search

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
	"mayfly/engine/shorten"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	searchpage "mayfly/views/page/search"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// Limits of the go-to palette.
const (
	goText      = 200                    // bytes of the query
	goEntities  = 8                      // entities found by name
	goDocs      = 5                      // pages of the documentation found by title
	goMessages  = 5                      // messages found by sequence number or id
	goSubqueues = 300                    // subqueues searched for a sequence number
	goTimeout   = 100 * time.Millisecond // time limit of the search for ids
)

// GoTo returns the pages and actions that match a query. It limits its result and what it reads,
// and compares names outside the broker's turn, so that it costs the broker little however large
// the namespace is.
func GoTo(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	m := searchpage.GoTo{Query: shorten.To(strings.TrimSpace(at.Query.Get(page.SearchText)), goText), From: shorten.To(at.Query.Get(searchpage.GoFrom), pages.MaxAddressBytes)}
	m.Shell = p.StaticShell(ctx, at, locale.T(ctx, "go.title"))
	var names []engine.EntityName
	if err := p.Broker.Read(ctx, func(r broker.Reader) error { names = r.EntityNames(); return nil }); err != nil {
		return nil, 0, err
	}
	w := goBuilder{p: p, ctx: ctx, words: strings.Fields(strings.ToLower(m.Query)), query: m.Query}
	if len(w.words) > 0 {
		w.entities(names)
	}
	w.currentActions(currentEntity(p, m.From, names))
	w.pages()
	w.actions()
	if len(w.words) == 0 {
		w.entities(names)
	}
	if err := w.messages(ctx); err != nil {
		return nil, 0, err
	}
	w.docs()
	m.Groups = w.groups
	return m, 0, nil
}

// currentEntity returns the entity whose page, or whose session's page, is at address. ok is
// false if there is none.
func currentEntity(p *pages.Pages, address string, names []engine.EntityName) (here engine.EntityName, ok bool) {
	raw, ok := strings.CutPrefix(address, p.Options.Base)
	if !ok || raw == "" {
		return here, false
	}
	at, err := p.Parse(raw)
	if err != nil || at.Kind != pages.Entity && at.Kind != pages.Session {
		return here, false
	}
	for _, n := range names {
		if n.Path.Fold() == at.Path.Fold() {
			return n, true
		}
	}
	return here, false
}

// A goBuilder builds the groups of GoTo.
type goBuilder struct {
	p      *pages.Pages
	ctx    context.Context //nolint:containedctx // it lives only while the list is made
	query  string
	words  []string // words of the query, in lower case
	groups []searchpage.GoGroup
}

func (w *goBuilder) t(id string, args ...locale.Args) string { return locale.T(w.ctx, id, args...) }

func (w *goBuilder) add(title string, items ...searchpage.GoItem) {
	items = slices.DeleteFunc(items, func(i searchpage.GoItem) bool { return i.Href != "" && !view.CanOpen(w.ctx, i.Href) })
	if len(items) > 0 {
		w.groups = append(w.groups, searchpage.GoGroup{Title: w.t(title), Items: items})
	}
}

// matchesWords reports whether each of `words`, which are in lower case, is the beginning of a
// word in `texts`.
func matchesWords(words []string, texts ...string) bool {
	all := strings.FieldsFunc(strings.ToLower(strings.Join(texts, " ")), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' })
	return !slices.ContainsFunc(words, func(word string) bool {
		return !slices.ContainsFunc(all, func(have string) bool { return strings.HasPrefix(have, word) })
	})
}

// filter returns the items that match the query. A visitor confined to one namespace gets
// only items of that namespace.
func (w *goBuilder) filter(all []goItem) (items []searchpage.GoItem) {
	for _, i := range all {
		if matchesWords(w.words, i.Label, i.searchTerms) && (!pages.IsConfined(w.ctx) || i.Href == "" || strings.HasPrefix(i.Href, w.p.Home())) {
			items = append(items, i.GoItem)
		}
	}
	return items
}

// A goItem is an item with further search terms.
type goItem struct {
	searchpage.GoItem
	searchTerms string
}

func (w *goBuilder) pages() {
	home := w.p.Home()
	var all []goItem
	also := map[layout.Section]string{
		layout.Overview: "go.also.overview", layout.Expirations: "go.also.expirations", layout.Deferred: "go.also.deferred", layout.Temporary: "go.also.temporary",
		layout.Connections: "go.also.connections", layout.Activity: "go.also.activity", layout.Access: "go.also.access", layout.Scenes: "go.also.scenes", layout.Docs: "go.also.docs",
	}
	for _, s := range layout.Sections() {
		i := goItem{GoItem: searchpage.GoItem{Label: w.t(s.TextID()), Icon: s.Icon(), Href: home + s.Path()}}
		if s == layout.Scenes {
			if i.Href = w.p.ScenesURL(); w.p.Options.Scenes == nil {
				continue
			}
		}
		if s == layout.Docs {
			i.Href = w.p.DocsURL()
		}
		if id := also[s]; id != "" {
			i.searchTerms = w.t(id)
		}
		all = append(all, i)
	}
	for _, more := range []struct{ words, icon, at, also string }{
		{"jobs.title", "activity", "/jobs", "go.also.jobs"}, {"metrics.title", "overview", "/metrics", "go.also.metrics"}, {"lab.title", "filter", "/lab", "go.also.lab"},
		{"views.title", "columns", "/views", "go.also.views"}, {"reference.title", "code", "/api", "go.also.reference"},
	} {
		all = append(all, goItem{searchpage.GoItem{Label: w.t(more.words), Icon: more.icon, Href: home + more.at}, w.t(more.also)})
	}
	all = append(all, goItem{searchpage.GoItem{Label: w.t("tokens.title"), Icon: "key", Href: w.p.TokensURL("")}, w.t("go.also.tokens")})
	all = append(all, goItem{searchpage.GoItem{Label: w.t("settings.title"), Icon: "settings", Href: w.p.SettingsURL()}, w.t("go.also.settings")})
	w.add("go.pages", w.filter(all)...)
}

func (w *goBuilder) actions() {
	home := w.p.Home()
	w.add("go.actions", w.filter([]goItem{
		{searchpage.GoItem{Label: w.t("entities.create.queue"), Icon: "plus", Href: home + "/queues/new"}, w.t("go.also.new")},
		{searchpage.GoItem{Label: w.t("entities.create.topic"), Icon: "plus", Href: home + "/topics/new"}, w.t("go.also.new")},
		{searchpage.GoItem{Label: w.t("go.job"), Icon: "plus", Href: home + "/jobs/new"}, w.t("go.also.job")},
		{searchpage.GoItem{Label: w.t("import.title"), Note: "JSONL", Icon: "import", Href: home + "/import"}, w.t("go.also.import")},
		{searchpage.GoItem{Label: w.t("go.definitions"), Note: "Config.json", Icon: "export", Href: home + "/definitions", File: true}, w.t("go.also.definitions")},
		{searchpage.GoItem{Label: w.t("go.define"), Note: "Config.json", Icon: "import", Href: home + "/definitions/import"}, w.t("go.also.definitions")},
		{searchpage.GoItem{Label: w.t("go.theme"), Note: "t", Icon: "theme", Action: searchpage.GoTheme}, w.t("go.also.theme")},
		{searchpage.GoItem{Label: w.t("go.pause"), Note: "p", Icon: "pause", Action: searchpage.GoPause}, w.t("go.also.pause")},
		{searchpage.GoItem{Label: w.t("go.present"), Note: "Shift P", Icon: "present", Action: searchpage.GoPresent}, w.t("go.also.present")},
		{searchpage.GoItem{Label: w.t("go.time.rel"), Icon: "clock", Action: searchpage.GoRelative}, ""},
		{searchpage.GoItem{Label: w.t("go.time.local"), Icon: "clock", Action: searchpage.GoLocal}, ""},
		{searchpage.GoItem{Label: w.t("go.time.utc"), Icon: "clock", Action: searchpage.GoUTC}, ""},
		{searchpage.GoItem{Label: w.t("keys.title"), Note: "?", Icon: "info", Action: searchpage.GoKeys}, w.t("go.also.keys")},
	})...)
}

// docs adds the pages of the documentation whose titles match the query.
func (w *goBuilder) docs() {
	var items []searchpage.GoItem
	for _, g := range w.p.Options.Docs.Groups() {
		for _, d := range g.Pages {
			if len(w.words) > 0 && len(items) < goDocs && matchesWords(w.words, d.Title) {
				items = append(items, searchpage.GoItem{Label: d.Title, Icon: "docs", Href: d.Href})
			}
		}
	}
	w.add("docs.title", items...)
}

// An entityAction is an action on an entity, on a page or in a form of its own.
type entityAction struct {
	textID  string // text id of its name, which includes the entity's name
	termsID string // text id of further search terms
	icon    string
	path    string // address relative to the entity's page
	kinds   []engine.EntityKind
}

func entityActionList() []entityAction {
	const queue, topic, sub = engine.Queue, engine.Topic, engine.Subscription
	return []entityAction{
		{"go.send", "go.also.send", "send", "/send", []engine.EntityKind{queue, topic}},
		{"go.import", "go.also.import", "import", "/import", []engine.EntityKind{queue, topic}},
		{"go.dead", "go.also.dead", "dead", "?tab=" + string(page.TabDeadLetters), []engine.EntityKind{queue, sub}},
		{"go.resubmit", "go.also.resubmit", "resubmit", "/resubmit", []engine.EntityKind{queue, sub}},
		{"go.purge", "go.also.purge", "lost", "/purge", []engine.EntityKind{queue, sub}},
		{"go.subscribe", "go.also.subscribe", "plus", "/new", []engine.EntityKind{topic}},
		{"go.edit", "go.also.edit", "edit", "/edit", []engine.EntityKind{queue, topic, sub}},
		{"go.delete", "go.also.delete", "trash", "/delete", []engine.EntityKind{queue, topic, sub}},
	}
}

func (w *goBuilder) item(v entityAction, n engine.EntityName) searchpage.GoItem {
	return searchpage.GoItem{Label: w.t(v.textID, locale.Args{"Name": pages.DisplayPath(n.Path)}), Icon: v.icon, Href: w.p.EntityURL(n.Kind, n.Path) + v.path}
}

// currentActions adds the actions on the entity whose page is open.
func (w *goBuilder) currentActions(here engine.EntityName, ok bool) {
	if !ok {
		return
	}
	var items []searchpage.GoItem
	for _, v := range entityActionList() {
		if i := w.item(v, here); slices.Contains(v.kinds, here.Kind) && matchesWords(w.words, w.searchTerms(v)) && !w.contains(i) {
			items = append(items, i)
		}
	}
	w.add("go.here", items...)
}

// searchTerms returns the name of an action without an entity, and its search terms.
func (w *goBuilder) searchTerms(v entityAction) string {
	return w.t(v.textID, locale.Args{"Name": ""}) + " " + w.t(v.termsID)
}

func (w *goBuilder) contains(i searchpage.GoItem) bool {
	return slices.ContainsFunc(w.groups, func(g searchpage.GoGroup) bool { return slices.Contains(g.Items, i) })
}

// entities adds the entities whose names contain the query, and actions on them if the query
// begins with the name of an action or finds only a few.
func (w *goBuilder) entities(names []engine.EntityName) {
	found, n := findNames(names, w.words)
	var items []searchpage.GoItem
	for _, e := range found {
		icon := map[engine.EntityKind]string{engine.Queue: "queues", engine.Topic: "topics", engine.Subscription: "filter"}[e.Kind]
		items = append(items, searchpage.GoItem{Label: pages.DisplayPath(e.Path), Note: pages.KindName(w.ctx, e.Kind), Icon: icon, Href: w.p.EntityURL(e.Kind, e.Path)})
	}
	if len(w.words) > 0 && n > len(found) {
		at := pages.Address{Namespace: w.p.Broker.Name(), Kind: pages.Queues}.WithQuery(page.SearchText, search.Quote(w.query))
		items = append(items, searchpage.GoItem{Label: locale.N(w.ctx, "go.more", n-len(found)), Icon: "more", Href: w.p.URL(at)})
	}
	w.add("go.entities", items...)
	if len(w.words) == 0 {
		return
	}
	w.add("go.doing", w.actionsOn(names, found, n)...)
}

// actionsOn returns actions on entities. If the query begins with the name of an action, it
// returns this action on the entities that match the rest of the query. Otherwise it returns all
// actions on the first entity found, or none if more than two were found.
func (w *goBuilder) actionsOn(names, found []engine.EntityName, n int) (items []searchpage.GoItem) {
	for _, v := range entityActionList() {
		of := found[:min(len(found), 1)]
		switch {
		case utf8.RuneCountInString(w.words[0]) > 1 && matchesWords(w.words[:1], w.searchTerms(v)):
			rest := w.words[1:]
			if len(rest) > 0 && rest[0] == w.t("go.to") {
				rest = rest[1:]
			}
			of, _ = findNames(slices.DeleteFunc(slices.Clone(names), func(n engine.EntityName) bool { return !slices.Contains(v.kinds, n.Kind) }), rest)
		case n > 2:
			of = nil
		}
		for _, e := range of {
			if slices.Contains(v.kinds, e.Kind) && len(items) < 2*goEntities {
				items = append(items, w.item(v, e))
			}
		}
	}
	return items
}

// findNames returns the first entities whose names contain all words, those whose names begin with
// the first word before the others, and the number of all matches.
func findNames(names []engine.EntityName, words []string) (found []engine.EntityName, n int) {
	var others []engine.EntityName
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

// messages adds the messages with the typed sequence number or id, and a link to the search
// for it.
func (w *goBuilder) messages(ctx context.Context) error {
	if w.query == "" {
		return nil
	}
	rows, err := w.bySequenceNumber(ctx)
	if err != nil {
		return err
	}
	more, err := w.byMessageID(ctx)
	if err != nil {
		return err
	}
	var items []searchpage.GoItem
	for _, r := range append(rows, more...)[:min(len(rows)+len(more), goMessages)] {
		items = append(items, searchpage.GoItem{
			Label: w.t("go.message", locale.Args{"Number": strconv.FormatUint(uint64(r.Message.Seq), 10), "Name": pages.DisplayPath(r.Path)}), Note: recent.ShortName(r.Content, r.Message.Seq),
			Icon: "active", Href: w.p.MessageURL(r.Message.Key),
		})
	}
	items = append(items, searchpage.GoItem{Label: w.t("go.search", locale.Args{"Text": w.query}), Icon: "search", Href: w.p.SearchURL(w.query)})
	w.add("go.messages", items...)
	return nil
}

// bySequenceNumber returns the messages with the typed sequence number in the first subqueues.
func (w *goBuilder) bySequenceNumber(ctx context.Context) (rows []engine.Row, err error) {
	seq, err := strconv.ParseUint(strings.TrimPrefix(w.query, "#"), 10, 63)
	if err != nil || seq == 0 {
		return nil, nil //nolint:nilerr // the query is not a number
	}
	err = w.p.Broker.Read(ctx, func(r broker.Reader) error {
		rows = nil
		rooms := r.SubqueuesWith(engine.ClassAll)
		for _, room := range rooms[:min(len(rooms), goSubqueues)] {
			found, err := r.Browse(engine.Browse{Path: room.Path, From: engine.Seq(seq), Limit: 1})
			if err != nil {
				return err
			}
			if len(found) == 1 && found[0].Message.Seq == engine.Seq(seq) && len(rows) < goMessages {
				rows = append(rows, found...)
			}
		}
		return nil
	})
	return rows, err
}

// byMessageID returns the messages with the typed id, if they are found quickly. A word without
// digits is not taken for an id.
func (w *goBuilder) byMessageID(ctx context.Context) (rows []engine.Row, err error) {
	if len(w.words) != 1 || len(w.query) < 3 || !strings.ContainsAny(w.query, "0123456789") {
		return nil, nil
	}
	q, err := search.Parse("id:" + search.Quote(w.query))
	if err != nil {
		return nil, nil
	}
	brief, cancel := context.WithTimeout(ctx, goTimeout)
	defer cancel()
	err = w.p.Broker.Search(brief, broker.SearchRequest{Query: q, Max: goMessages}, func(g broker.SearchProgress) error {
		rows = append(rows, g.Hits...)
		return nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	slices.SortStableFunc(rows, func(a, b engine.Row) int { return cmp.Compare(b.Message.EnqueuedAt, a.Message.EnqueuedAt) })
	return rows, err
}
