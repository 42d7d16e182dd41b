package overview

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
	"mayfly/views/page/overview"
	"mayfly/views/sample"
	"mayfly/views/view"
	"mayfly/web/connections"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

const (
	maxNextExpiring = 7   // messages on the overview's board
	maxTickerLines  = 12  // lines of the latest events
	maxTemporary    = 6   // entities in the overview's list of temporary ones
	sampledForLede  = 100 // messages about to expire whose queues are named
	fewEntities     = 3   // up to this many entities, the overview shows how to get started
)

// Overview returns the page of the whole namespace.
func Overview(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
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
	s, err := p.Read(ctx, func(r broker.Reader) error {
		counts, entities = r.Totals()
		var at []engine.Instant
		at, parts = edges(r.Now, entities)
		spans = r.ExpiryHistogram("", at)
		next = r.Expiring(sampledForLede)
		all := r.States(0)
		if i := slices.IndexFunc(all, AcceptsSends); i >= 0 {
			queue = all[i].Path
		}
		begin = admin.FirstTask(all)
		idle = recent.TemporaryEntities(all)
		sitting = countDeleting(idle)
		idle = idle[:min(len(idle), maxTemporary)]
		return withUses(r, idle)
	})
	if err != nil {
		return nil, 0, err
	}
	m := overview.Overview{
		Shell:   p.LiveShell(ctx, at, s, locale.T(ctx, "overview.title")),
		Welcome: entities == 0,
		Connect: connect(ctx, p, queue, begin),
		Horizon: horizon(ctx, spans, parts, func(key string) string {
			return p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Expirations}.WithQuery("within", key))
		}),
		Messages:       int(counts.MessageCount()),
		Next:           expiringRows(p, next[:min(len(next), maxNextExpiring)], s.Now),
		TemporaryCount: sitting,
	}
	m.GettingStarted = entities > 0 && entities <= fewEntities && m.Connect.NoClients && m.Shell.Scene == nil
	dead, lost := expiringInFirst(m.Horizon, len(m.Horizon.Buckets))
	m.ExpiringCount = dead + lost
	m.Lede = overviewLede(ctx, p, m, next, s.Now)
	for _, e := range idle {
		m.Temporary = append(m.Temporary, entity.TemporaryEntity(ctx, p, e, s.Now))
	}
	fillTiles(ctx, p, &m, counts, s.Now)
	lines, more := p.Events.Ticker(pages.IsConfined(ctx), maxTickerLines)
	m.More = more
	for _, l := range lines {
		m.Events = append(m.Events, activity.TickerEvent(ctx, p, l))
	}
	return pages.Refreshing{Page: m, Every: time.Second}, s.Event, nil
}

// fillTiles fills in the tiles of the overview, its rates and counts.
func fillTiles(ctx context.Context, p *pages.Pages, m *overview.Overview, c engine.Counts, now engine.Instant) {
	rate := func(met recent.RateKind) overview.Figure {
		return overview.Figure{N: float64(p.Events.Sum(now, 10, met)) / 10, Line: p.Events.Line(now, met)}
	}
	m.In, m.Out = rate(recent.RateReceived), rate(recent.RateCompleted)
	m.Expired = overview.Figure{N: float64(p.Events.Sum(now, 60, recent.RateExpired)), Line: p.Events.Line(now, recent.RateExpired)}
	if n := p.Events.Sum(now, 600, recent.RateExpired); n > 0 {
		m.Expired.Note = []component.Text{pages.PlainText(locale.N(ctx, "overview.expired.note", n))}
	}
	gauge := func(kind int, n int64) overview.Figure {
		return overview.Figure{N: float64(n), Line: append(p.Events.Gauge(kind), float64(n))}
	}
	m.DeadLetters = gauge(recent.GaugeDead, c.DeadLetter)
	if n := p.Events.Sum(now, 600, recent.RateDeadLettered); n > 0 {
		m.DeadLetters.Note = []component.Text{{S: locale.Number(ctx, n), Tone: component.Dead}, pages.PlainText(" " + locale.N(ctx, "overview.dead.note", n))}
	}
	m.Locked = gauge(recent.GaugeLocked, c.Locked+c.DeadLocked)
	m.Scheduled = gauge(recent.GaugeScheduled, c.Scheduled)
}

// overviewLede returns the summary: what expires within a minute, and where.
func overviewLede(ctx context.Context, p *pages.Pages, m overview.Overview, next []engine.Row, now engine.Instant) []component.Text {
	dead, lost := expiringInFirst(m.Horizon, 2)
	switch {
	case m.Messages == 0:
		return []component.Text{pages.StrongText(locale.T(ctx, "overview.lede.none")), pages.PlainText(" " + locale.T(ctx, "overview.lede.none.more"))}
	case dead+lost == 0:
		return []component.Text{
			pages.StrongText(locale.T(ctx, "overview.lede.calm")), pages.PlainText(" "),
			pages.PlainText(expiringText(ctx, m.ExpiringCount, m.Messages)),
		}
	}
	lede := []component.Text{pages.StrongText(locale.N(ctx, "overview.lede.minute", dead+lost)), pages.PlainText(" ")}
	lede = append(lede, pages.PlainText(pages.FatesText(ctx, dead, lost)))
	if len(next) < sampledForLede || !next[len(next)-1].Expires.Passed(now.Add(time.Minute)) {
		return append(lede, mainEntityText(ctx, p, next, dead+lost, now)...)
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

// mainEntityText names the entity that holds all, or more than half, of the messages that expire
// within a minute. It returns nothing if there is no such entity or only one message.
func mainEntityText(ctx context.Context, p *pages.Pages, next []engine.Row, of int, now engine.Instant) []component.Text {
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
		return append([]component.Text{pages.PlainText(" ")},
			pages.SentenceAround(ctx, id, component.Text{S: pages.DisplayPath(path), Href: p.EntityURL(engine.Queue, path)}, nil)...)
	}
	return nil
}

// AcceptsSends reports whether e is a queue that the sample shell command can send to. The
// command sets no session.
func AcceptsSends(e engine.EntityState) bool {
	return e.Kind == engine.Queue && !e.Config.RequiresSession && pages.AllowsSend(e.Config.Status)
}

// connect returns how to connect to the broker: a shell command that sends to `queue`, and a first
// program. If `queue` is empty, the command is Options.Curl or else sends to the starter queue.
func connect(ctx context.Context, p *pages.Pages, queue engine.Path, begin sample.Task) overview.Connect {
	c := overview.Connect{REST: p.Options.REST, Data: locale.T(ctx, "connect.memory"), Tier: tier(ctx, p.Broker.Limits()), Curl: p.Options.Curl, ConnectionInfo: admin.ConnectionInfo(ctx, p, begin)}
	c.NoClients = p.Options.Clients != nil && p.Options.Clients.Connections(connections.Query{Limit: 1}).Total == 0
	if p.Options.StoredIn != "" {
		c.Data = locale.T(ctx, "connect.kept", locale.Args{"Where": p.Options.StoredIn})
	}
	if p.Options.REST != "" && (queue != "" || c.Curl == "") {
		queue = cmp.Or(queue, pages.StarterQueue)
		c.Curl = "curl " + p.Options.REST + "/" + string(queue) + "/messages \\\n  -H 'BrokerProperties: {\"TimeToLive\":60}' \\\n  -d 'hello'"
	}
	c.ConnectionInfo.Admin = p.WithVisitorHost(ctx, p.Options.AdminConnection)
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

// countDeleting returns how many of the entities will be deleted when idle, which excludes pinned
// ones.
func countDeleting(idle []engine.EntityState) (n int) {
	for _, e := range idle {
		if e.UnpinnedIdle == 0 {
			n++
		}
	}
	return n
}

// withUses completes states with their use histories.
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
