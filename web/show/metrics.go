package show

import (
	"context"
	"net/url"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/stats"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Stats returns the recorded rates and depths.
func (p *Pages) Stats() *stats.Recorder { return p.events.stats }

// samplesAtOnce is how many entities are read in one turn of the broker.
const samplesAtOnce = 256

// sampleAll records the depth of the namespace and of every entity.
func (r *RecentEvents) sampleAll(ctx context.Context) error {
	var now engine.Instant
	var all []stats.Sample
	err := r.b.Read(ctx, func(look broker.Reader) error {
		c, _ := look.Totals()
		now, all = look.Now, []stats.Sample{{Depth: stats.DepthOf(c)}}
		for _, s := range look.States(0) {
			all = append(all, stats.Sample{Path: s.Path, Depth: stats.DepthOf(s.Counts)})
		}
		return nil
	})
	if err == nil {
		r.stats.Sample(now, all...)
	}
	return err
}

// sampleTouched records the depth of the namespace and of the entities with new events.
// Entities that could not be read are read the next time.
func (r *RecentEvents) sampleTouched(ctx context.Context, c engine.Counts) {
	r.stats.Sample(r.b.ClockTime(), stats.Sample{Depth: stats.DepthOf(c)})
	touched := r.stats.TakeDue()
	for some := range slices.Chunk(touched, samplesAtOnce) {
		var now engine.Instant
		var all []stats.Sample
		var gone []engine.Path
		err := r.b.Read(ctx, func(look broker.Reader) error {
			now, all, gone = look.Now, nil, nil
			for _, p := range some {
				if s, err := look.State(p); err == nil {
					all = append(all, stats.Sample{Path: p, Depth: stats.DepthOf(s.Counts)})
				} else { // it was deleted, and its last events came later
					gone = append(gone, p)
				}
			}
			return nil
		})
		if err != nil {
			r.stats.MarkDue(touched)
			return
		}
		touched = touched[len(some):]
		r.stats.Sample(now, all...)
		for _, p := range gone {
			r.stats.Forget(p)
		}
	}
}

// metrics returns the page of the namespace's figures.
func (p *Pages) metrics(ctx context.Context, at Address) (view.Page, uint64, error) {
	s, err := p.read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	return page.Metrics{Shell: p.liveShell(ctx, at, s, locale.T(ctx, "metrics.title")), Figures: p.entityMetrics(at, "", s.now)}, s.event, nil
}

// stepsInRow is how many steps a row of the table sums up.
const stepsInRow = 6

// entityMetrics returns the figures of an entity, or of the namespace if path is empty.
func (p *Pages) entityMetrics(at Address, path engine.Path, now engine.Instant) page.MetricsData {
	span, name := stats.Hour, "hour"
	if at.Query.Get("within") == "day" {
		span, name = stats.Day, "day"
	}
	asked := url.Values{"span": {name}}
	if path != "" {
		asked.Set("entity", string(path))
	}
	out := page.MetricsData{
		Source: p.apiPath() + "/metrics?" + asked.Encode(), OfDay: span == stats.Day,
		Hour: p.URL(at.withQuery("within", "")), Day: p.URL(at.withQuery("within", "day")),
	}
	points := p.events.stats.Points(path, span, now)
	for some := range slices.Chunk(points, stepsInRow) {
		last := some[len(some)-1]
		if !last.Known {
			continue
		}
		r := page.FigureRow{At: some[0].At.Time(), Depth: [5]int{int(last.Depth.Active), int(last.Depth.Locked), int(last.Depth.Scheduled), int(last.Depth.Deferred), int(last.Depth.Dead)}}
		for _, point := range some {
			for i, k := range []stats.Kind{stats.In, stats.Out, stats.Expired, stats.Dead, stats.Failed} {
				r.Counts[i] += int(point.Counts[k])
			}
		}
		out.Rows = append(out.Rows, r)
	}
	slices.Reverse(out.Rows)
	return out
}
