package activity

import (
	"context"
	"net/url"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/stats"
	"mayfly/views/locale"
	"mayfly/views/page/activity"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
)

// Stats returns the recorded rates and depths.
func Stats(p *pages.Pages) *stats.Recorder { return p.Events.Stats }

// Metrics returns the page of the namespace's figures.
func Metrics(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	s, err := p.Read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	return activity.Metrics{Shell: p.LiveShell(ctx, at, s, locale.T(ctx, "metrics.title")), Figures: EntityMetrics(p, at, "", s.Now)}, s.Event, nil
}

// stepsInRow is how many steps a row of the table sums up.
const stepsInRow = 6

// EntityMetrics returns the figures of an entity, or of the namespace if `path` is empty.
func EntityMetrics(p *pages.Pages, at pages.Address, path engine.Path, now engine.Instant) activity.MetricsData {
	span, name := stats.Hour, "hour"
	if at.Query.Get("within") == "day" {
		span, name = stats.Day, "day"
	}
	asked := url.Values{"span": {name}}
	if path != "" {
		asked.Set("entity", string(path))
	}
	out := activity.MetricsData{
		Source: p.APIPath() + "/metrics?" + asked.Encode(), OfDay: span == stats.Day,
		Hour: p.URL(at.WithQuery("within", "")), Day: p.URL(at.WithQuery("within", "day")),
	}
	points := p.Events.Stats.Points(path, span, now)
	for some := range slices.Chunk(points, stepsInRow) {
		last := some[len(some)-1]
		if !last.Known {
			continue
		}
		r := activity.FigureRow{At: some[0].At.Time(), Depth: [5]int{int(last.Depth.Active), int(last.Depth.Locked), int(last.Depth.Scheduled), int(last.Depth.Deferred), int(last.Depth.Dead)}}
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
