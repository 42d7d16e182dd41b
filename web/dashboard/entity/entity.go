package entity

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search/columns"
	"mayfly/engine/search/deadletters"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	listpage "mayfly/views/page/list"
	"mayfly/views/view"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/list"
	"mayfly/web/dashboard/pages"
)

// A Snapshot is the broker's state that an entity's page needs.
type Snapshot struct {
	listedEntity
	Topic        engine.EntityState // the topic, if the entity is a subscription
	Rows         []engine.Row       // one more than the page shows, if there are more
	deadLetters  *deadLetterSummary // for the dead-letter tab
	expiringSoon engine.HorizonSpan // messages that expire within a minute
	forwarding   forwardings
	columnChoice list.ColumnChoice // the chosen columns, on tabs that list messages

	sessions       []engine.SessionRow // for the sessions tab, queued ones first
	queuePositions map[string]int      // positions of queued sessions
	nextSession    string              // the first session of the next page; empty if this is the last
}

// Entity returns the page of an entity, or of one that was deleted.
func Entity(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	var e Snapshot
	tab := page.Tab(at.Query.Get("tab"))
	from, _ := pages.ParseNumber(at.Query.Get("from")) // anything else means the beginning
	sum := &deadLetterSummary{}
	if tab == page.TabDeadLetters {
		d, err := readDeadLetterSummary(ctx, p, at.Path)
		if err != nil {
			return nil, 0, err
		}
		if d != nil {
			sum = d
		}
	}
	sources, err := sourcesOf(ctx, p, at.Path)
	if err != nil {
		return nil, 0, err
	}
	s, err := p.Read(ctx, func(r broker.Reader) (err error) {
		e, err = ReadEntity(r, at.Path)
		if err != nil {
			return err
		}
		e.deadLetters = sum
		tab = tabOf(e.EntityState, tab)
		if err := e.readForwarding(r, sources); err != nil {
			return err
		}
		if tab == page.TabSessions {
			return e.readSessions(r, at.Query.Get("from"))
		}
		if l := columns.List(tab); slices.Contains(columns.Lists(), l) {
			e.columnChoice = list.ChooseColumns(ctx, r, at, l)
		}
		return e.readRows(r, tab, engine.Seq(from), at.Query.Get("reason"), at.Query.Get("error"))
	})
	if errors.Is(err, engine.ErrNotFound) {
		return deletedEntityPage(ctx, p, at, err)
	}
	if err != nil {
		return nil, 0, err
	}
	m := entityModel(ctx, p, at, e, s)
	m.Tab = tab
	if err := fillTab(ctx, p, at, &m, e, s.Now); err != nil {
		return nil, 0, err
	}
	if p.Options.Clients != nil || tab == page.TabDeferred || tab == page.TabLocked || tab == page.TabMessages || len(m.Forwarding.In)+len(m.Forwarding.Out) > 0 { // clients, expired messages that stay, and forwarding targets can change without an event
		return pages.Refreshing{Page: m, Every: time.Second}, s.Event, nil
	}
	if tab == page.TabDeadLetters && sum.count != e.Counts.DeadLetter { // the summary is out of date
		return pages.Refreshing{Page: m, Every: reasonsFresh}, s.Event, nil
	}
	return m, s.Event, nil
}

// ReadEntity reads an entity.
func ReadEntity(r broker.Reader, path engine.Path) (e Snapshot, err error) {
	if e.EntityState, err = r.State(path); err != nil {
		return e, err
	}
	e.Subs = r.Subscriptions(path)
	if topic, _, ok := e.Path.Subscription(); ok {
		if e.Topic, err = r.State(engine.Path(topic)); err != nil {
			return e, err
		}
	}
	return e, nil
}

// readRows reads the messages that a tab shows.
func (e *Snapshot) readRows(r broker.Reader, tab page.Tab, from engine.Seq, reason, text string) (err error) {
	b := engine.Browse{Path: e.Path, From: max(1, from), Limit: list.MessagesOnPage + 1}
	switch tab {
	case page.TabMessages:
		if spans := r.ExpiryHistogram(e.Path, []engine.Instant{r.Now.Add(time.Minute)}); len(spans) > 0 {
			e.expiringSoon = spans[0]
		}
	case page.TabScheduled:
		b.Class = engine.ClassScheduled
	case page.TabDeferred:
		b.Class = engine.ClassDeferred
	case page.TabLocked:
		b.Class = engine.ClassLocked
	case page.TabDeadLetters:
		b.Path = e.Path.DeadLetter()
		if reason != "" {
			e.Rows, err = e.deadLetters.rows(r, b, reason, text)
			return err
		}
	case page.TabTransfers:
		b.Path = e.Path.Transfer()
	default:
		return nil
	}
	e.Rows, err = r.Browse(b)
	return err
}

// tabOf returns the requested tab, or the first one if the entity has no such tab.
func tabOf(e engine.EntityState, asked page.Tab) page.Tab {
	tabs := []page.Tab{page.TabMessages, page.TabScheduled, page.TabDeferred, page.TabLocked, page.TabDeadLetters, page.TabMetrics, page.TabSettings, page.TabTransfers}
	switch e.Kind {
	case engine.Topic:
		tabs = []page.Tab{page.TabSubscriptions, page.TabScheduled, page.TabMetrics, page.TabSettings, page.TabTransfers}
	case engine.Subscription:
		tabs = []page.Tab{page.TabMessages, page.TabDeferred, page.TabLocked, page.TabDeadLetters, page.TabRules, page.TabMetrics, page.TabSettings, page.TabTransfers}
	}
	if e.Config.RequiresSession && e.Kind != engine.Topic {
		tabs = append(tabs, page.TabSessions)
	}
	if slices.Contains(tabs, asked) {
		return asked
	}
	return tabs[0]
}

// ttl returns the entity's default time to live, limited by its topic's (TTL-7).
func (e Snapshot) ttl() time.Duration {
	own, above := e.Config.Effective().DefaultMessageTimeToLive, e.Topic.Config.Effective().DefaultMessageTimeToLive
	if own == 0 || above != 0 && above < own {
		return above
	}
	return own
}

// entityModel returns the parts of the page that all tabs share.
func entityModel(ctx context.Context, p *pages.Pages, at pages.Address, e Snapshot, s pages.Snapshot) entity.Entity {
	at.EntityType, at.Path = e.Kind, e.Path // in its original case
	c := e.counts()
	m := entity.Entity{
		Shell: p.LiveShell(ctx, at, s, pages.DisplayPath(e.Path)), Kind: pages.KindOnPage(e.Kind), Name: e.Path.Name(),
		Href: p.EntityURL(e.Kind, e.Path), Path: e.Path.Fold(),
		Status: entity.Status(e.Config.Status.String()), Closed: e.refusesSends(),
		Counts: c, Total: c.Active + c.Locked + c.Scheduled + c.Deferred + c.Dead,
		TTL: e.ttl(), Size: e.Bytes,
		Forwarding: forwardingModel(p, e, s.Now), Duplicates: duplicates(p, e.EntityState),
		Transfer: entity.Transfer{Waiting: int(e.Counts.Transfer), Failed: int(e.Counts.TransferDeadLetter)},
	}
	m.Alerts = activity.EntityAlerts(p, e.Path)
	m.Damaged = p.DamagedNotice(ctx, func(d engine.DamagedMessage) bool { return d.Path.Entity().Fold() == e.Path.Fold() }, "damaged.of.entity")
	m.Receivers, m.Senders, m.ClientsURL = admin.EntityClients(p, e.Path)
	if m.Total == m.Counts.Dead {
		m.ConnectionInfo = admin.ConnectionInfo(ctx, p, admin.SampleTask(e.EntityState, e.Subs...))
	}
	m.StatusTo = m.Href + "/status"
	if e.Config.RequiresSession && e.Kind != engine.Topic {
		m.RequiresSession, m.SessionCount, m.Example = true, e.Sessions.Known, sessionExample(p, e.EntityState)
	}
	if e.Kind != engine.Topic {
		m.Fate = pages.Fate(e.Path, e.Config.DeadLetteringOnMessageExpiration)
		m.Lock, m.Tries = e.Config.LockTime(), int(e.Config.MaxDeliveries())
	} else {
		m.Size = e.SizeInBytes
	}
	if topic, _, ok := e.Path.Subscription(); ok {
		m.Topic, m.TopicHref = topic, p.EntityURL(engine.Topic, engine.Path(topic))
		m.Closed = m.Closed || listedEntity{EntityState: e.Topic}.refusesSends()
	}
	if e.Config.Effective().AutoDeleteOnIdle != 0 || e.UnpinnedIdle != 0 {
		m.Idle = TemporaryEntity(ctx, p, e.EntityState, s.Now)
	}
	for _, sub := range e.Subs {
		m.Subscriptions = append(m.Subscriptions, entityRow(p, listedEntity{EntityState: sub}, s.Now))
	}
	switch e.Kind {
	case engine.Topic:
		m.Lab = p.LabURL(e.Path)
	case engine.Subscription:
		m.Lab, m.NewRule, m.RuleCount = p.LabURL(e.Topic.Path), p.RuleURL(e.Path, "rules/new", ""), len(e.Rules)
	}
	return m
}

// fillTab adds the parts that only the open tab shows.
func fillTab(ctx context.Context, p *pages.Pages, at pages.Address, m *entity.Entity, e Snapshot, now engine.Instant) error {
	switch m.Tab {
	case page.TabSettings:
		m.Settings = entitySettings(ctx, e.Kind, e.Config, p.Broker.Limits())
		m.Access, m.AccessURL = admin.OwnAccess(p, e.EntityState, now)
		return nil
	case page.TabRules:
		rulesTab(ctx, p, at, m, e, now)
		return nil
	case page.TabMetrics:
		m.Figures = activity.EntityMetrics(p, at, e.Path, now)
		return nil
	case page.TabSubscriptions:
		return nil
	case page.TabSessions:
		fillSessions(ctx, p, at, m, e, now)
		return nil
	}
	from, _ := pages.ParseNumber(at.Query.Get("from"))
	m.From = int64(from)
	all := map[page.Tab]int{
		page.TabMessages: m.Total - m.Counts.Dead, page.TabScheduled: m.Counts.Scheduled, page.TabDeferred: m.Counts.Deferred,
		page.TabLocked: m.Counts.Locked, page.TabDeadLetters: m.Counts.Dead, page.TabTransfers: m.Transfer.Failed,
	}[m.Tab]
	if m.Tab == page.TabDeadLetters {
		m.Reason = at.Query.Get("reason")
		m.Reasons = deadLetterReasons(p, at, e.deadLetters, now)
		for _, r := range m.Reasons {
			if m.Reason != "" && strings.EqualFold(reasonParameter(r.Reason), m.Reason) {
				all = r.N
			}
		}
		if m.Reason != "" {
			m.Error, m.Errors = at.Query.Get("error"), deadLetterErrors(p, at, e.deadLetters, m.Reason, now)
			for _, r := range m.Errors {
				if strings.EqualFold(r.Reason, m.Error) {
					all = r.N
				}
			}
		}
	}
	m.Lede = tabLede(ctx, m, e)
	rows := e.Rows[:min(len(e.Rows), list.MessagesOnPage)]
	m.AllMatching = allMatching(m, e.Path, all, len(rows))
	o := list.ParseOrder(at)
	if o.IsStatic() {
		var err error
		if rows, err = list.Sorted(ctx, p, at, m, o, now); err != nil {
			return err
		}
		m.Shell.Live.URL = at.WithQuery(page.SearchText, "", listpage.FieldSort, "", listpage.FieldDir, "", "page", "").String()
	}
	if err := fillRows(ctx, p, at, m, e, rows, now); err != nil {
		return err
	}
	list.SortMenu(p, at, m, o, e.columnChoice.Columns)
	if o.IsStatic() {
		return nil
	}
	if all > 0 {
		m.Pages.Note = locale.N(ctx, "pager.note", all, locale.Args{"Shown": locale.Number(ctx, len(m.Rows))})
	}
	if from > 1 {
		m.Pages.First = p.URL(at.WithQuery("from", ""))
	}
	if len(e.Rows) > list.MessagesOnPage {
		m.Pages.Next = p.URL(at.WithQuery("from", strconv.FormatInt(int64(e.Rows[list.MessagesOnPage].Message.Seq), 10)))
	}
	return nil
}

// fillRows adds the messages of the open tab.
func fillRows(ctx context.Context, p *pages.Pages, at pages.Address, m *entity.Entity, e Snapshot, rows []engine.Row, now engine.Instant) error {
	m.Rows = slices.Grow(m.Rows, len(rows))
	for _, r := range rows {
		row := list.MessageRow(ctx, p, r, now, e.Config.LockTime())
		row.Edit = p.EditURL(r, at)
		m.Rows = append(m.Rows, row)
	}
	if e.columnChoice.List == "" {
		return nil
	}
	m.Columns = list.ColumnMenu(ctx, p, at, e.columnChoice)
	to := make([]*listpage.MessageRow, len(m.Rows))
	for i := range m.Rows {
		to[i] = &m.Rows[i]
	}
	return list.FillColumns(ctx, p, &m.Columns, e.columnChoice, rows, to, now)
}

// allMatching returns the selection of all messages of which the open tab shows some.
func allMatching(m *entity.Entity, path engine.Path, all, shown int) listpage.AllMatching {
	out := listpage.AllMatching{Count: all, Path: string(path), Shown: all > shown}
	switch m.Tab {
	case page.TabScheduled:
		out.Query = "state:scheduled"
	case page.TabDeferred:
		out.Query = "state:deferred"
	case page.TabLocked:
		out.Query = "state:locked"
	case page.TabTransfers:
		out.Path = string(path.Transfer())
	case page.TabDeadLetters:
		out.Path = string(path.DeadLetter())
		if m.Reason == "" {
			break
		}
		reason := m.Reason
		if reason == emptyReason {
			reason = ""
		}
		out.Query = deadletters.ReasonQuery(reason)
		if m.Error != "" {
			out.Query = deadletters.Group{Reason: reason, Error: m.Error}.Query()
		}
		out.Shown = all > 0
	}
	return out
}

// tabLede returns a sentence about the open tab.
func tabLede(ctx context.Context, m *entity.Entity, e Snapshot) []component.Text {
	switch m.Tab {
	case page.TabMessages:
		dead, lost := int(e.expiringSoon.DeadLettered), int(e.expiringSoon.Lost)
		if dead+lost == 0 {
			return nil
		}
		return []component.Text{pages.StrongText(locale.N(ctx, "overview.lede.minute", dead+lost)), pages.PlainText(" " + pages.FatesText(ctx, dead, lost))}
	case page.TabDeadLetters:
		if r := e.deadLetters.Report; r != nil && r.Examined < r.Total {
			return []component.Text{pages.PlainText(locale.N(ctx, "dead.lede.scanned", int(r.Examined)))}
		}
	case page.TabTransfers:
		if m.Transfer.Failed > 0 {
			return []component.Text{pages.StrongText(locale.N(ctx, "transfer.lede", m.Transfer.Failed)), pages.PlainText(" " + locale.T(ctx, "transfer.lede.then"))}
		}
	}
	return nil
}

// hasNoEffect reports whether a property has no effect because the entity forwards its messages to
// `forwardTo` (TTL-18, IDLE-12, IDLE-13). An empty `forwardTo` means that it does not forward.
func hasNoEffect(prop engine.Property, forwardTo string) bool {
	return forwardTo != "" && (prop.Name == "DefaultMessageTimeToLive" || prop.Name == "AutoDeleteOnIdle")
}

// entitySettings returns the properties of an entity for display.
func entitySettings(ctx context.Context, kind engine.EntityKind, c engine.Config, l engine.Limits) (out []entity.Setting) {
	for _, prop := range engine.Properties(kind) {
		text := prop.Text(c)
		out = append(out, entity.Setting{
			Name: prop.Name, Value: displayValue(ctx, prop, text), Default: text == prop.DefaultIn(l),
			Fixed: prop.CreateOnly, NoEffect: hasNoEffect(prop, c.ForwardTo) && text != prop.Default,
		})
	}
	return out
}

// deletedEntityPage returns the page of a deleted entity. If no record of the entity is left, it
// returns the error `missing`.
func deletedEntityPage(ctx context.Context, p *pages.Pages, at pages.Address, missing error) (view.Page, uint64, error) {
	s, err := p.Read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	g, ok := activity.DeletionOf(ctx, p, at.Path)
	if !ok {
		return nil, 0, missing
	}
	at.EntityType, at.Path = g.Entity.Kind, g.Path
	m := entity.Entity{
		Shell: p.LiveShell(ctx, at, s, pages.DisplayPath(g.Path)), Kind: pages.KindOnPage(g.Entity.Kind), Name: g.Path.Name(),
		Href: p.EntityURL(g.Entity.Kind, g.Path), Path: g.Path.Fold(), Status: entity.Status(g.Entity.Config.Status.String()),
		Tab: tabOf(engine.EntityState{Entity: *g.Entity}, page.Tab(at.Query.Get("tab"))), Deleted: DeletedEntityRow(ctx, p, g, s.Now),
	}
	if topic, _, ok := g.Path.Subscription(); ok {
		m.Topic, m.TopicHref = topic, p.EntityURL(engine.Topic, engine.Path(topic))
	}
	if g.Kind == engine.EventEntityDeleted {
		m.DeletedBy = locale.T(ctx, "grave.deleted")
		if by := pages.ActorName(ctx, g.Actor); by != "" {
			m.DeletedBy = locale.T(ctx, "grave.deleted.by", locale.Args{"By": by})
		}
	}
	return m, s.Event, nil
}
