package show

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/sample"
	"mayfly/views/view"
	"mayfly/web/connections"
)

const (
	maxNextExpiring = 7   // of the overview's board
	maxTickerLines  = 12  // lines of the latest events
	maxTemporary    = 6   // of the overview's list of temporary entities
	sampledForLede  = 100 // messages about to expire whose queues are named
	fewEntities     = 3   // up to this many, the user has just begun; the starter queue counts
)

func (p *Pages) overview(ctx context.Context, at Address) (view.Page, uint64, error) {
	var (
		counts   engine.Counts
		entities int
		spans    []engine.HorizonSpan
		parts    int
		next     []engine.Row
		idle     []engine.EntityState
		sitting  int
		queue    engine.Path
		begin    sample.Task
	)
	s, err := p.read(ctx, func(r broker.Reader) error {
		counts, entities = r.Totals()
		var at []engine.Instant
		at, parts = edges(r.Now, entities)
		spans = r.ExpiryHistogram("", at)
		next = r.Expiring(sampledForLede)
		all := r.States(0)
		if i := slices.IndexFunc(all, AcceptsSends); i >= 0 {
			queue = all[i].Path
		}
		begin = firstTask(all)
		idle = temporaryEntities(all)
		sitting = countDeleting(idle)
		idle = idle[:min(len(idle), maxTemporary)]
		return withUses(r, idle)
	})
	if err != nil {
		return nil, 0, err
	}
	m := page.Overview{
		Shell:   p.liveShell(ctx, at, s, locale.T(ctx, "overview.title")),
		Welcome: entities == 0,
		Connect: p.connect(ctx, queue, begin),
		Horizon: horizon(ctx, spans, parts, func(key string) string {
			return p.URL(Address{Namespace: at.Namespace, Kind: Expirations}.withQuery("within", key))
		}),
		Messages:       int(counts.MessageCount()),
		Next:           p.expiringRows(next[:min(len(next), maxNextExpiring)], s.now),
		TemporaryCount: sitting,
	}
	m.GettingStarted = entities > 0 && entities <= fewEntities && m.Connect.NoClients && m.Shell.Scene == nil
	dead, lost := expiringInFirst(m.Horizon, len(m.Horizon.Buckets))
	m.ExpiringCount = dead + lost
	m.Lede = p.overviewLede(ctx, m, next, s.now)
	for _, e := range idle {
		m.Temporary = append(m.Temporary, p.temporaryEntity(ctx, e, s.now))
	}
	p.fillTiles(ctx, &m, counts, s.now)
	lines, more := p.events.ticker(isConfined(ctx), maxTickerLines)
	m.More = more
	for _, l := range lines {
		m.Events = append(m.Events, p.tickerEvent(ctx, l))
	}
	return Refreshing{m, time.Second}, s.event, nil
}

// fillTiles fills in the tiles.
func (p *Pages) fillTiles(ctx context.Context, m *page.Overview, c engine.Counts, now engine.Instant) {
	rate := func(met rateKind) page.OverviewFigure {
		return page.OverviewFigure{N: float64(p.events.sum(now, 10, met)) / 10, Line: p.events.line(now, met)}
	}
	m.In, m.Out = rate(rateReceived), rate(rateCompleted)
	m.Expired = page.OverviewFigure{N: float64(p.events.sum(now, 60, rateExpired)), Line: p.events.line(now, rateExpired)}
	if n := p.events.sum(now, 600, rateExpired); n > 0 {
		m.Expired.Note = []component.Text{plainText(locale.N(ctx, "overview.expired.note", n))}
	}
	gauge := func(kind int, n int64) page.OverviewFigure {
		return page.OverviewFigure{N: float64(n), Line: append(p.events.gauge(kind), float64(n))}
	}
	m.DeadLetters = gauge(gaugeDead, c.DeadLetter)
	if n := p.events.sum(now, 600, rateDeadLettered); n > 0 {
		m.DeadLetters.Note = []component.Text{{S: locale.Number(ctx, n), Tone: component.Dead}, plainText(" " + locale.N(ctx, "overview.dead.note", n))}
	}
	m.Locked = gauge(gaugeLocked, c.Locked+c.DeadLocked)
	m.Scheduled = gauge(gaugeScheduled, c.Scheduled)
}

// overviewLede returns the summary: what expires within a minute, and where.
func (p *Pages) overviewLede(ctx context.Context, m page.Overview, next []engine.Row, now engine.Instant) []component.Text {
	dead, lost := expiringInFirst(m.Horizon, 2)
	switch {
	case m.Messages == 0:
		return []component.Text{strongText(locale.T(ctx, "overview.lede.none")), plainText(" " + locale.T(ctx, "overview.lede.none.more"))}
	case dead+lost == 0:
		return []component.Text{
			strongText(locale.T(ctx, "overview.lede.calm")), plainText(" "),
			plainText(expiringText(ctx, m.ExpiringCount, m.Messages)),
		}
	}
	lede := []component.Text{strongText(locale.N(ctx, "overview.lede.minute", dead+lost)), plainText(" ")}
	lede = append(lede, plainText(fatesText(ctx, dead, lost)))
	if len(next) < sampledForLede || !next[len(next)-1].Expires.Passed(now.Add(time.Minute)) {
		return append(lede, p.mainEntityText(ctx, next, dead+lost, now)...)
	}
	return lede
}

// expiringText says how many of all messages have an expiry.
func expiringText(ctx context.Context, n, all int) string {
	switch n {
	case 0:
		return locale.N(ctx, "overview.lede.ending.none", all)
	case all:
		return locale.N(ctx, "overview.lede.ending.all", all)
	default:
		return locale.N(ctx, "overview.lede.ending", n, locale.Args{"All": locale.Number(ctx, all)})
	}
}

// fatesText says how many of several messages are dead-lettered and how many are lost.
func fatesText(ctx context.Context, dead, lost int) string {
	switch {
	case lost == 0:
		return locale.N(ctx, "fates.dead", dead)
	case dead == 0:
		return locale.N(ctx, "fates.lost", lost)
	default:
		return locale.N(ctx, "fates.both", lost, locale.Args{"Dead": locale.Number(ctx, dead)})
	}
}

// mainEntityText names the entity that holds all, or more than half, of the messages that expire
// within a minute. It says nothing about a single message.
func (p *Pages) mainEntityText(ctx context.Context, next []engine.Row, of int, now engine.Instant) []component.Text {
	by := map[engine.Path]int{}
	for _, r := range next {
		if !r.Expires.Passed(now.Add(time.Minute)) {
			break
		}
		by[r.Path]++
	}
	for path, n := range by {
		if n*2 <= of || of < 2 {
			continue
		}
		id := "overview.lede.most"
		if n == of {
			id = "overview.lede.all"
		}
		return append([]component.Text{plainText(" ")},
			sentenceAround(ctx, id, component.Text{S: DisplayPath(path), Href: p.EntityURL(engine.Queue, path)}, nil)...)
	}
	return nil
}

// StarterQueue is the queue that the dashboard offers to create at first start.
const StarterQueue = "starter"

// AcceptsSends reports whether e is a queue that the sample shell command may send to; the
// command has no session.
func AcceptsSends(e engine.EntityState) bool {
	return e.Kind == engine.Queue && !e.Config.RequiresSession && allowsSend(e.Config.Status)
}

// connect returns how to connect to the broker: a shell command that sends to queue, which may
// be empty, and a first program.
func (p *Pages) connect(ctx context.Context, queue engine.Path, begin sample.Task) page.Connect {
	c := page.Connect{REST: p.o.REST, Data: locale.T(ctx, "connect.memory"), Tier: tier(ctx, p.b.Limits()), Curl: p.o.Curl, ConnectionInfo: p.connectionInfo(ctx, begin)}
	c.NoClients = p.o.Clients != nil && p.o.Clients.Connections(connections.Query{Limit: 1}).Total == 0
	if p.o.StoredIn != "" {
		c.Data = locale.T(ctx, "connect.kept", locale.Args{"Where": p.o.StoredIn})
	}
	if p.o.REST != "" && (queue != "" || c.Curl == "") {
		queue = cmp.Or(queue, StarterQueue)
		c.Curl = "curl " + p.o.REST + "/" + string(queue) + "/messages \\\n  -H 'BrokerProperties: {\"TimeToLive\":60}' \\\n  -d 'hello'"
	}
	c.ConnectionInfo.Admin = p.withVisitorHost(ctx, p.o.AdminConnection)
	return c
}

// tier names the tier whose limits and defaults apply, and the features it lacks.
func tier(ctx context.Context, l engine.Limits) string {
	s := locale.T(ctx, "connect.tier", locale.Args{"Tier": l.Tier})
	if l.Tier == "Emulator" {
		s = locale.T(ctx, "connect.tier.emulator")
	}
	if l.Disabled != 0 {
		names := strings.NewReplacer(",", ", ", "-", " ").Replace(l.Disabled.String())
		s += " " + locale.T(ctx, "connect.tier.without", locale.Args{"Features": names})
	}
	return s
}

// temporaryEntities returns the entities with automatic deletion, pinned ones included: soonest
// first, then held, then pinned.
func temporaryEntities(all []engine.EntityState) []engine.EntityState {
	idle := slices.DeleteFunc(all, func(e engine.EntityState) bool {
		return e.Config.Effective().AutoDeleteOnIdle == 0 && e.UnpinnedIdle == 0
	})
	rank := func(e engine.EntityState) int {
		return map[component.IdleState]int{component.IdleRunning: 0, component.IdleHeld: 1, component.IdlePinned: 2}[idleState(e)]
	}
	slices.SortStableFunc(idle, func(a, b engine.EntityState) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.DeletesAt, b.DeletesAt))
	})
	return idle
}

// countDeleting returns how many of idle will be deleted automatically: pinned ones will not.
func countDeleting(idle []engine.EntityState) (n int) {
	for _, e := range idle {
		if e.UnpinnedIdle == 0 {
			n++
		}
	}
	return n
}

// withUses completes states with their activity ledgers.
func withUses(r broker.Reader, all []engine.EntityState) error {
	for i := range all {
		s, err := r.State(all[i].Path)
		if err != nil {
			return err
		}
		all[i].Uses = s.Uses
	}
	return nil
}
