package show

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
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
	s, err := p.look(ctx, func(r broker.Reader) (err error) {
		e, err = seeEntity(r, at.Path)
		if err != nil {
			return err
		}
		e.deaths = sum
		tab = tabOf(e.Kind, tab)
		return e.seeRows(r, tab, engine.Seq(from), at.Query.Get("reason"))
	})
	if errors.Is(err, engine.ErrNotFound) {
		return p.gravePage(ctx, at, err)
	}
	if err != nil {
		return nil, 0, err
	}
	m := p.entityModel(ctx, at, e, s)
	m.Tab = tab
	p.fillTab(ctx, at, &m, e, s.now)
	if tab == page.Parked || tab == page.Held || tab == page.Messages { // what runs out there is not gone at once
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
func (e *entitySight) seeRows(r broker.Reader, tab page.Tab, from engine.Seq, reason string) (err error) {
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
			e.rows, err = e.deaths.of(r, b, reason)
			return err
		}
	default:
		return nil
	}
	e.rows, err = r.Browse(b)
	return err //nolint:wrapcheck // the caller asked for just this
}

// tabOf is the tab that an entity shows when asked for one.
func tabOf(kind engine.EntityKind, asked page.Tab) page.Tab {
	tabs := []page.Tab{page.Messages, page.Waiting, page.Parked, page.Held, page.DeadLetters, page.Settled}
	switch kind {
	case engine.Topic:
		tabs = []page.Tab{page.Subscribers, page.Waiting, page.Settled}
	case engine.Subscription:
		tabs = []page.Tab{page.Messages, page.Parked, page.Held, page.DeadLetters, page.Ruling, page.Settled}
	}
	if slices.Contains(tabs, asked) {
		return asked
	}
	return tabs[0]
}

// ttl is the entity's default time to live, its topic's ceiling included
// (TTL-7).
func (e entitySight) ttl() time.Duration {
	own, above := e.Config.DefaultMessageTimeToLive, e.topic.Config.DefaultMessageTimeToLive
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
		Status: page.Status(e.Config.Status.String()), NotActive: e.notActive(), Closed: e.closed(),
		Counts: c, Total: c.Active + c.Locked + c.Scheduled + c.Deferred + c.Dead,
		TTL: e.ttl(), Size: e.Bytes,
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
	if e.Config.AutoDeleteOnIdle != 0 || e.Unpinned != 0 {
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
func (p *Pages) fillTab(ctx context.Context, at Place, m *page.Entity, e entitySight, now engine.Instant) {
	switch m.Tab {
	case page.Settled:
		m.Settings = settings(ctx, e.Kind, e.Config, p.b.Limits())
		return
	case page.Ruling:
		p.rulesTab(ctx, at, m, e, now)
		return
	case page.Subscribers:
		return
	}
	for _, r := range e.rows[:min(len(e.rows), messagesOnPage)] {
		m.Rows = append(m.Rows, p.messageRow(ctx, r, now, e.Config.LockFor()))
	}
	from, _ := number(at.Query.Get("from"))
	m.From = int64(from)
	all := map[page.Tab]int{
		page.Messages: m.Total - m.Counts.Dead, page.Waiting: m.Counts.Scheduled, page.Parked: m.Counts.Deferred,
		page.Held: m.Counts.Locked, page.DeadLetters: m.Counts.Dead,
	}[m.Tab]
	if m.Tab == page.DeadLetters {
		m.Reason = at.Query.Get("reason")
		m.Reasons = p.reasons(at, e.deaths, now)
		for _, r := range m.Reasons {
			if m.Reason != "" && (r.Reason == m.Reason || r.Reason == "" && m.Reason == noReason) {
				all = r.N
			}
		}
	}
	m.Lede = p.tabLede(ctx, m, e)
	if all > 0 {
		m.Pages.Note = locale.N(ctx, "pager.note", all, locale.Args{"Shown": locale.Number(ctx, len(m.Rows))})
	}
	if from > 1 {
		m.Pages.First = p.URL(at.with("from", ""))
	}
	if len(e.rows) > messagesOnPage {
		m.Pages.Next = p.URL(at.with("from", strconv.FormatInt(int64(e.rows[messagesOnPage].Message.Seq), 10)))
	}
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
		if len(e.deaths.each) >= reasonsScanned {
			return []component.Text{say(locale.N(ctx, "dead.lede.scanned", reasonsScanned))}
		}
	}
	return nil
}

// settings are the properties of an entity, to be read.
func settings(ctx context.Context, kind engine.EntityKind, c engine.Config, l engine.Limits) (out []page.Setting) {
	pending := c.NotActiveYet()
	for _, prop := range engine.Properties(kind) {
		text := prop.Text(c)
		out = append(out, page.Setting{
			Name: prop.Name, Value: propertyWord(ctx, prop, text), Default: text == prop.DefaultIn(l),
			Fixed: prop.CreateOnly, NotActive: slices.Contains(pending, prop.Name),
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
		Tab: tabOf(g.Entity.Kind, page.Tab(at.Query.Get("tab"))), Gone: p.stone(ctx, g, s.now),
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
