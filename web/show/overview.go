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
	"mayfly/web/peers"
)

const (
	nextToGo       = 7   // of the overview's board
	tickerShown    = 12  // lines of the latest events
	sittersShown   = 6   // of its list of temporary entities
	sampledForLede = 100 // messages about to run out whose queues are named
	fewEntities    = 3   // of somebody who has just begun, what the starter made among them
)

func (p *Pages) overview(ctx context.Context, at Place) (view.Page, uint64, error) {
	var (
		counts   engine.Counts
		entities int
		spans    []engine.Span
		parts    int
		next     []engine.Row
		idle     []engine.EntityState
		sitting  int
		queue    engine.Path
		begin    sample.Task
	)
	s, err := p.look(ctx, func(r broker.Reader) error {
		counts, entities = r.Totals()
		var at []engine.Instant
		at, parts = edges(r.Now, entities)
		spans = r.Horizon("", at)
		next = r.Expiring(sampledForLede)
		all := r.States(0)
		if i := slices.IndexFunc(all, TakesSends); i >= 0 {
			queue = all[i].Path
		}
		begin = beginning(all)
		idle = temporaries(all)
		sitting = deleting(idle)
		idle = idle[:min(len(idle), sittersShown)]
		return withUses(r, idle)
	})
	if err != nil {
		return nil, 0, err
	}
	m := page.Overview{
		Shell:   p.shell(ctx, at, s, locale.T(ctx, "overview.title")),
		Welcome: entities == 0,
		Connect: p.connect(ctx, queue, begin),
		Horizon: horizon(ctx, spans, parts, func(key string) string {
			return p.URL(Place{Namespace: at.Namespace, Kind: Expirations}.with("within", key))
		}),
		Messages: int(counts.MessageCount()),
		Next:     p.departures(next[:min(len(next), nextToGo)], s.now),
		Sitting:  sitting,
	}
	m.Learning = entities > 0 && entities <= fewEntities && m.Connect.Nobody && m.Shell.Strip == nil
	dead, lost := ending(m.Horizon, len(m.Horizon.Buckets))
	m.Ending = dead + lost
	m.Lede = p.overviewLede(ctx, m, next, s.now)
	for _, e := range idle {
		m.Temporary = append(m.Temporary, p.sitter(ctx, e, s.now))
	}
	p.figures(ctx, &m, counts, s.now)
	lines, more := p.recent.ticker(within(ctx), tickerShown)
	m.More = more
	for _, l := range lines {
		m.Events = append(m.Events, p.tickerLine(ctx, l))
	}
	return Refreshing{m, time.Second}, s.n, nil
}

// figures fills in the tiles.
func (p *Pages) figures(ctx context.Context, m *page.Overview, c engine.Counts, now engine.Instant) {
	rate := func(met meter) page.Figure {
		return page.Figure{N: float64(p.recent.sum(now, 10, met)) / 10, Line: p.recent.line(now, met)}
	}
	m.In, m.Out = rate(metIn), rate(metOut)
	m.Expired = page.Figure{N: float64(p.recent.sum(now, 60, metExpired)), Line: p.recent.line(now, metExpired)}
	if n := p.recent.sum(now, 600, metExpired); n > 0 {
		m.Expired.Note = []component.Text{say(locale.N(ctx, "overview.expired.note", n))}
	}
	gauge := func(kind int, n int64) page.Figure {
		return page.Figure{N: float64(n), Line: append(p.recent.gauge(kind), float64(n))}
	}
	m.DeadLetters = gauge(gaugeDead, c.DeadLetter)
	if n := p.recent.sum(now, 600, metDead); n > 0 {
		m.DeadLetters.Note = []component.Text{{S: locale.Number(ctx, n), Tone: component.Dead}, say(" " + locale.N(ctx, "overview.dead.note", n))}
	}
	m.Locked = gauge(gaugeLocked, c.Locked+c.DeadLocked)
	m.Scheduled = gauge(gaugeScheduled, c.Scheduled)
}

// overviewLede says what is going on: what runs out within a minute, and where.
func (p *Pages) overviewLede(ctx context.Context, m page.Overview, next []engine.Row, now engine.Instant) []component.Text {
	dead, lost := ending(m.Horizon, 2)
	switch {
	case m.Messages == 0:
		return []component.Text{strong(locale.T(ctx, "overview.lede.none")), say(" " + locale.T(ctx, "overview.lede.none.more"))}
	case dead+lost == 0:
		return []component.Text{
			strong(locale.T(ctx, "overview.lede.calm")), say(" "),
			say(endings(ctx, m.Ending, m.Messages)),
		}
	}
	lede := []component.Text{strong(locale.N(ctx, "overview.lede.minute", dead+lost)), say(" ")}
	lede = append(lede, say(fates(ctx, dead, lost)))
	if len(next) < sampledForLede || !next[len(next)-1].Expires.Passed(now.Add(time.Minute)) {
		return append(lede, p.mostOfThem(ctx, next, dead+lost, now)...)
	}
	return lede
}

// endings says how many of all messages have an end.
func endings(ctx context.Context, n, all int) string {
	switch n {
	case 0:
		return locale.N(ctx, "overview.lede.ending.none", all)
	case all:
		return locale.N(ctx, "overview.lede.ending.all", all)
	default:
		return locale.N(ctx, "overview.lede.ending", n, locale.Args{"All": locale.Number(ctx, all)})
	}
}

// fates says how many of several are kept and lost.
func fates(ctx context.Context, dead, lost int) string {
	switch {
	case lost == 0:
		return locale.N(ctx, "fates.dead", dead)
	case dead == 0:
		return locale.N(ctx, "fates.lost", lost)
	default:
		return locale.N(ctx, "fates.both", lost, locale.Args{"Dead": locale.Number(ctx, dead)})
	}
}

// mostOfThem names the entity that holds all, or more than half, of what runs out
// within a minute; it says nothing about a single message.
func (p *Pages) mostOfThem(ctx context.Context, next []engine.Row, of int, now engine.Instant) []component.Text {
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
		return append([]component.Text{say(" ")},
			tell(ctx, id, component.Text{S: Shown(path), Href: p.EntityURL(engine.Queue, path)}, nil)...)
	}
	return nil
}

// StarterQueue is what a first start can be given to look at.
const StarterQueue = "starter"

// TakesSends tells whether e is a queue that a line for the shell may send to; it
// names no session.
func TakesSends(e engine.EntityState) bool {
	return e.Kind == engine.Queue && !e.Config.RequiresSession && takesSenders(e.Config.Status)
}

// connect is how to talk to the broker, with a line that sends to a queue, of
// which the empty path is that there is none, and a program to begin with.
func (p *Pages) connect(ctx context.Context, queue engine.Path, begin sample.Task) page.Connect {
	c := page.Connect{REST: p.o.REST, Data: locale.T(ctx, "connect.memory"), Tier: tier(ctx, p.b.Limits()), Curl: p.o.Curl, Dial: p.dial(ctx, begin)}
	c.Nobody = p.o.Peers != nil && p.o.Peers.Connections(peers.Query{Limit: 1}).All == 0
	if p.o.Data != "" {
		c.Data = locale.T(ctx, "connect.kept", locale.Args{"Where": p.o.Data})
	}
	if p.o.REST != "" && (queue != "" || c.Curl == "") {
		queue = cmp.Or(queue, StarterQueue)
		c.Curl = "curl " + p.o.REST + "/" + string(queue) + "/messages \\\n  -H 'BrokerProperties: {\"TimeToLive\":60}' \\\n  -d 'hello'"
	}
	c.Dial.Admin = p.dialled(ctx, p.o.AdminConnection)
	return c
}

// tier says whose limits and defaults there are, and what there is not.
func tier(ctx context.Context, l engine.Limits) string {
	s := locale.T(ctx, "connect.tier", locale.Args{"Tier": l.Tier})
	if l.Tier == "Emulator" {
		s = locale.T(ctx, "connect.tier.emulator")
	}
	if l.Without != 0 {
		names := strings.NewReplacer(",", ", ", "-", " ").Replace(l.Without.String())
		s += " " + locale.T(ctx, "connect.tier.without", locale.Args{"Features": names})
	}
	return s
}

// temporaries are those of the entities that delete themselves, or are pinned:
// soonest first, then held ones, then pinned ones.
func temporaries(all []engine.EntityState) []engine.EntityState {
	idle := slices.DeleteFunc(all, func(e engine.EntityState) bool {
		return e.Config.InForce().AutoDeleteOnIdle == 0 && e.Unpinned == 0
	})
	rank := func(e engine.EntityState) int {
		return map[component.GlassState]int{component.Running: 0, component.Held: 1, component.Pinned: 2}[glass(e)]
	}
	slices.SortStableFunc(idle, func(a, b engine.EntityState) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.DeletesAt, b.DeletesAt))
	})
	return idle
}

// deleting is how many of temporaries delete themselves: pinned ones do not.
func deleting(idle []engine.EntityState) (n int) {
	for _, e := range idle {
		if e.Unpinned == 0 {
			n++
		}
	}
	return n
}

// withUses completes states with their idle ledgers.
func withUses(r broker.Reader, all []engine.EntityState) error {
	for i := range all {
		s, err := r.State(all[i].Path)
		if err != nil {
			return err //nolint:wrapcheck // it was there in this very turn
		}
		all[i].Uses = s.Uses
	}
	return nil
}
