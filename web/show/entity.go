package show

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/listing"
	"mayfly/engine/postmortem"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

const messagesOnPage = 50

// An entitySight is what an entity's page sees of the broker.
type entitySight struct {
	member
	topic  engine.EntityState // of a subscription
	rows   []engine.Row       // one more than are shown
	deaths *deaths            // of the tab of dead letters
	minute engine.Span        // what runs out within a minute
	flow   flowing
	shows  showing // of columns, on the tabs of messages

	sessions []engine.SessionRow // of the tab of sessions, those in line first
	turns    map[string]int      // the place in line of those that are in line
	after    string              // the first session of the next page; empty: this is the last
}

func (p *Pages) entity(ctx context.Context, at Place) (view.Page, uint64, error) {
	var e entitySight
	tab := page.Tab(at.Query.Get("tab"))
	from, _ := number(at.Query.Get("from")) // anything else is the beginning
	sum := &deaths{}
	if tab == page.DeadLetters {
		d, err := p.deaths(ctx, at.Path)
		if err != nil {
			return nil, 0, err
		}
		if d != nil {
			sum = d
		}
	}
	sources, err := p.sourcesOf(ctx, at.Path)
	if err != nil {
		return nil, 0, err
	}
	s, err := p.look(ctx, func(r broker.Reader) (err error) {
		e, err = seeEntity(r, at.Path)
		if err != nil {
			return err
		}
		e.deaths = sum
		tab = tabOf(e.EntityState, tab)
		if err := e.seeFlow(r, sources); err != nil {
			return err
		}
		if tab == page.Sessions {
			return e.seeSessions(r, at.Query.Get("from"))
		}
		if l := listing.List(tab); slices.Contains(listing.Lists(), l) {
			e.shows = choose(ctx, r, at, l)
		}
		return e.seeRows(r, tab, engine.Seq(from), at.Query.Get("reason"), at.Query.Get("error"))
	})
	if errors.Is(err, engine.ErrNotFound) {
		return p.gravePage(ctx, at, err)
	}
	if err != nil {
		return nil, 0, err
	}
	m := p.entityModel(ctx, at, e, s)
	m.Tab = tab
	if err := p.fillTab(ctx, at, &m, e, s.now); err != nil {
		return nil, 0, err
	}
	if p.o.Peers != nil || tab == page.Parked || tab == page.Held || tab == page.Messages || len(m.Flow.In)+len(m.Flow.Out) > 0 { // what runs out there is not gone at once, and where something is forwarded to may open
		return Refreshing{m, time.Second}, s.n, nil
	}
	if tab == page.DeadLetters && sum.count != e.Counts.DeadLetter { // what they died of is to be summed up again
		return Refreshing{m, deathsFresh}, s.n, nil
	}
	return m, s.n, nil
}

func seeEntity(r broker.Reader, path engine.Path) (e entitySight, err error) {
	if e.EntityState, err = r.State(path); err != nil {
		return e, err //nolint:wrapcheck // the caller asked for just this
	}
	e.subs = r.Subscriptions(path)
	if topic, _, ok := e.Path.Subscription(); ok {
		if e.topic, err = r.State(engine.Path(topic)); err != nil {
			return e, err //nolint:wrapcheck // it was there in this very turn
		}
	}
	return e, nil
}

// seeRows takes the messages that a tab shows.
func (e *entitySight) seeRows(r broker.Reader, tab page.Tab, from engine.Seq, reason, text string) (err error) {
	b := engine.Browse{Path: e.Path, From: max(1, from), Limit: messagesOnPage + 1}
	switch tab {
	case page.Messages:
		if spans := r.Horizon(e.Path, []engine.Instant{r.Now.Add(time.Minute)}); len(spans) > 0 {
			e.minute = spans[0]
		}
	case page.Waiting:
		b.Class = engine.ClassScheduled
	case page.Parked:
		b.Class = engine.ClassDeferred
	case page.Held:
		b.Class = engine.ClassLocked
	case page.DeadLetters:
		b.Path = e.Path.DeadLetter()
		if reason != "" {
			e.rows, err = e.deaths.of(r, b, reason, text)
			return err
		}
	case page.Transfers:
		b.Path = e.Path.Transfer()
	default:
		return nil
	}
	e.rows, err = r.Browse(b)
	return err //nolint:wrapcheck // the caller asked for just this
}

// tabOf is the tab that an entity shows when asked for one.
func tabOf(e engine.EntityState, asked page.Tab) page.Tab {
	tabs := []page.Tab{page.Messages, page.Waiting, page.Parked, page.Held, page.DeadLetters, page.Measured, page.Settled, page.Transfers}
	switch e.Kind {
	case engine.Topic:
		tabs = []page.Tab{page.Subscribers, page.Waiting, page.Measured, page.Settled, page.Transfers}
	case engine.Subscription:
		tabs = []page.Tab{page.Messages, page.Parked, page.Held, page.DeadLetters, page.Ruling, page.Measured, page.Settled, page.Transfers}
	}
	if e.Config.RequiresSession && e.Kind != engine.Topic {
		tabs = append(tabs, page.Sessions)
	}
	if slices.Contains(tabs, asked) {
		return asked
	}
	return tabs[0]
}

// ttl is the entity's default time to live, its topic's ceiling included
// (TTL-7).
func (e entitySight) ttl() time.Duration {
	own, above := e.Config.InForce().DefaultMessageTimeToLive, e.topic.Config.InForce().DefaultMessageTimeToLive
	if own == 0 || above != 0 && above < own {
		return above
	}
	return own
}

// entityModel is what every tab shows.
func (p *Pages) entityModel(ctx context.Context, at Place, e entitySight, s sight) page.Entity {
	at.Entity, at.Path = e.Kind, e.Path // as it was created, whatever case it was asked for in
	c := e.counts()
	m := page.Entity{
		Shell: p.shell(ctx, at, s, Shown(e.Path)), Kind: pageKind(e.Kind), Name: e.Path.Name(),
		Href: p.EntityURL(e.Kind, e.Path), Path: e.Path.Fold(),
		Status: page.Status(e.Config.Status.String()), Closed: e.closed(),
		Counts: c, Total: c.Active + c.Locked + c.Scheduled + c.Deferred + c.Dead,
		TTL: e.ttl(), Size: e.Bytes,
		Flow: p.flow(e, s.now), Duplicates: p.duplicates(e.EntityState),
		Transfer: page.Transfer{Waiting: int(e.Counts.Transfer), Failed: int(e.Counts.TransferDeadLetter)},
	}
	m.Watch = p.watch(e.Path)
	m.Receivers, m.Senders, m.GuestsAt = p.attached(e.Path)
	if m.Total == m.Counts.Dead {
		m.Dial = p.dial(ctx, task(e.EntityState, e.subs...))
	}
	m.StatusTo = m.Href + "/status"
	if e.Config.RequiresSession && e.Kind != engine.Topic {
		m.RequiresSession, m.SessionCount, m.Example = true, e.Sessions.Known, p.sessionExample(e.EntityState)
	}
	if e.Kind != engine.Topic {
		m.Fate = fate(e.Path, e.Config.DeadLetteringOnMessageExpiration)
		m.Lock, m.Tries = e.Config.LockFor(), int(e.Config.Deliveries())
	} else {
		m.Size = e.SizeInBytes
	}
	if topic, _, ok := e.Path.Subscription(); ok {
		m.Topic, m.TopicHref = topic, p.EntityURL(engine.Topic, engine.Path(topic))
		m.Closed = m.Closed || member{EntityState: e.topic}.closed()
	}
	if e.Config.InForce().AutoDeleteOnIdle != 0 || e.Unpinned != 0 {
		m.Idle = p.sitter(ctx, e.EntityState, s.now)
	}
	for _, sub := range e.subs {
		m.Subscriptions = append(m.Subscriptions, p.entityRow(member{EntityState: sub}, s.now))
	}
	switch e.Kind {
	case engine.Topic:
		m.Lab = p.labURL(e.Path)
	case engine.Subscription:
		m.Lab, m.NewRule, m.RuleCount = p.labURL(e.topic.Path), p.ruleURL(e.Path, "rules/new", ""), len(e.Rules)
	}
	return m
}

// fillTab adds what only the open tab shows.
func (p *Pages) fillTab(ctx context.Context, at Place, m *page.Entity, e entitySight, now engine.Instant) error {
	switch m.Tab {
	case page.Settled:
		m.Settings = settings(ctx, e.Kind, e.Config, p.b.Limits())
		m.Access, m.AccessAt = p.ownAccess(e.EntityState, now)
		return nil
	case page.Ruling:
		p.rulesTab(ctx, at, m, e, now)
		return nil
	case page.Measured:
		m.Figures = p.measured(at, e.Path, now)
		return nil
	case page.Subscribers:
		return nil
	case page.Sessions:
		p.fillSessions(ctx, at, m, e, now)
		return nil
	}
	from, _ := number(at.Query.Get("from"))
	m.From = int64(from)
	all := map[page.Tab]int{
		page.Messages: m.Total - m.Counts.Dead, page.Waiting: m.Counts.Scheduled, page.Parked: m.Counts.Deferred,
		page.Held: m.Counts.Locked, page.DeadLetters: m.Counts.Dead, page.Transfers: m.Transfer.Failed,
	}[m.Tab]
	if m.Tab == page.DeadLetters {
		m.Reason = at.Query.Get("reason")
		m.Reasons = p.reasons(at, e.deaths, now)
		for _, r := range m.Reasons {
			if m.Reason != "" && strings.EqualFold(reasonWord(r.Reason), m.Reason) {
				all = r.N
			}
		}
		if m.Reason != "" {
			m.Error, m.Errors = at.Query.Get("error"), p.errors(at, e.deaths, m.Reason, now)
			for _, r := range m.Errors {
				if strings.EqualFold(r.Reason, m.Error) {
					all = r.N
				}
			}
		}
	}
	m.Lede = p.tabLede(ctx, m, e)
	rows := e.rows[:min(len(e.rows), messagesOnPage)]
	m.Every = everyOf(m, e.Path, all, len(rows))
	o := orderingAt(at)
	if o.still() {
		var err error
		if rows, err = p.sorted(ctx, at, m, o, now); err != nil {
			return err
		}
		m.Shell.Live.URL = at.with(page.SearchText, "", page.AskSort, "", page.AskDir, "", "page", "").String()
	}
	if err := p.fillRows(ctx, at, m, e, rows, now); err != nil {
		return err
	}
	p.sortMenu(at, m, o, e.shows.columns)
	if o.still() {
		return nil
	}
	if all > 0 {
		m.Pages.Note = locale.N(ctx, "pager.note", all, locale.Args{"Shown": locale.Number(ctx, len(m.Rows))})
	}
	if from > 1 {
		m.Pages.First = p.URL(at.with("from", ""))
	}
	if len(e.rows) > messagesOnPage {
		m.Pages.Next = p.URL(at.with("from", strconv.FormatInt(int64(e.rows[messagesOnPage].Message.Seq), 10)))
	}
	return nil
}

// fillRows adds the messages of the open tab.
func (p *Pages) fillRows(ctx context.Context, at Place, m *page.Entity, e entitySight, rows []engine.Row, now engine.Instant) error {
	m.Rows = slices.Grow(m.Rows, len(rows))
	for _, r := range rows {
		row := p.messageRow(ctx, r, now, e.Config.LockFor())
		row.Edit = p.editURL(r, at)
		m.Rows = append(m.Rows, row)
	}
	if e.shows.list == "" {
		return nil
	}
	m.Columns = p.menu(ctx, at, e.shows)
	to := make([]*page.MessageRow, len(m.Rows))
	for i := range m.Rows {
		to[i] = &m.Rows[i]
	}
	return p.fillColumns(ctx, &m.Columns, e.shows, rows, to, now)
}

// everyOf is all that the open tab shows a part of.
func everyOf(m *page.Entity, path engine.Path, all, shown int) page.Every {
	out := page.Every{N: all, At: string(path), Shown: all > shown}
	switch m.Tab {
	case page.Waiting:
		out.Query = "state:scheduled"
	case page.Parked:
		out.Query = "state:deferred"
	case page.Held:
		out.Query = "state:locked"
	case page.Transfers:
		out.At = string(path.Transfer())
	case page.DeadLetters:
		out.At = string(path.DeadLetter())
		if m.Reason == "" {
			break
		}
		reason := m.Reason
		if reason == noReason {
			reason = ""
		}
		out.Query = postmortem.QueryOf(reason)
		if m.Error != "" {
			out.Query = postmortem.Group{Reason: reason, Error: m.Error}.Query()
		}
		out.Shown = all > 0
	}
	return out
}

// tabLede is one sentence about the open tab.
func (p *Pages) tabLede(ctx context.Context, m *page.Entity, e entitySight) []component.Text {
	switch m.Tab {
	case page.Messages:
		dead, lost := int(e.minute.DeadLettered), int(e.minute.Lost)
		if dead+lost == 0 {
			return nil
		}
		return []component.Text{strong(locale.N(ctx, "overview.lede.minute", dead+lost)), say(" " + fates(ctx, dead, lost))}
	case page.DeadLetters:
		if r := e.deaths.Report; r != nil && r.Seen < r.Total {
			return []component.Text{say(locale.N(ctx, "dead.lede.scanned", int(r.Seen)))}
		}
	case page.Transfers:
		if m.Transfer.Failed > 0 {
			return []component.Text{strong(locale.N(ctx, "transfer.lede", m.Transfer.Failed)), say(" " + locale.T(ctx, "transfer.lede.then"))}
		}
	}
	return nil
}

// settings are the properties of an entity, to be read.
func settings(ctx context.Context, kind engine.EntityKind, c engine.Config, l engine.Limits) (out []page.Setting) {
	for _, prop := range engine.Properties(kind) {
		text := prop.Text(c)
		out = append(out, page.Setting{
			Name: prop.Name, Value: propertyWord(ctx, prop, text), Default: text == prop.DefaultIn(l),
			Fixed: prop.CreateOnly,
		})
	}
	return out
}

// gravePage is the page of an entity that is no more; missing is what to answer
// if nothing is remembered of it.
func (p *Pages) gravePage(ctx context.Context, at Place, missing error) (view.Page, uint64, error) {
	s, err := p.look(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	g, ok := p.graveOf(ctx, at.Path)
	if !ok {
		return nil, 0, missing
	}
	at.Entity, at.Path = g.Entity.Kind, g.Path
	m := page.Entity{
		Shell: p.shell(ctx, at, s, Shown(g.Path)), Kind: pageKind(g.Entity.Kind), Name: g.Path.Name(),
		Href: p.EntityURL(g.Entity.Kind, g.Path), Path: g.Path.Fold(), Status: page.Status(g.Entity.Config.Status.String()),
		Tab: tabOf(engine.EntityState{Entity: *g.Entity}, page.Tab(at.Query.Get("tab"))), Gone: p.stone(ctx, g, s.now),
	}
	if topic, _, ok := g.Path.Subscription(); ok {
		m.Topic, m.TopicHref = topic, p.EntityURL(engine.Topic, engine.Path(topic))
	}
	if g.Kind == engine.EventEntityDeleted {
		m.By = locale.T(ctx, "grave.deleted")
		if by := hand(ctx, g.Actor); by != "" {
			m.By = locale.T(ctx, "grave.deleted.by", locale.Args{"By": by})
		}
	}
	return m, s.n, nil
}
