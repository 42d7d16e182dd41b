package show

import (
	"context"
	"net/url"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/figures"
)

// Figures are what is remembered of rates and depths.
func (p *Pages) Figures() *figures.Recorder { return p.recent.figures }

// samplesAtOnce are entities looked at between two of the broker's steps.
const samplesAtOnce = 256

// sampleAll tells the recorder how deep everything is.
func (r *Recent) sampleAll(ctx context.Context) error {
	var now engine.Instant
	var all []figures.Sample
	err := r.b.Read(ctx, func(look broker.Reader) error {
		c, _ := look.Totals()
		now, all = look.Now, []figures.Sample{{Depth: figures.DepthOf(c)}}
		for _, s := range look.States(0) {
			all = append(all, figures.Sample{Path: s.Path, Depth: figures.DepthOf(s.Counts)})
		}
		return nil
	})
	if err == nil {
		r.figures.Sample(now, all...)
	}
	return err //nolint:wrapcheck // whether it failed is all that is asked
}

// sampleTouched tells the recorder how deep the namespace is, and the entities in
// which anything happened. What could not be read is read the next time.
func (r *Recent) sampleTouched(ctx context.Context, c engine.Counts) {
	r.figures.Sample(r.b.Clock(), figures.Sample{Depth: figures.DepthOf(c)})
	touched := r.figures.Touched()
	for some := range slices.Chunk(touched, samplesAtOnce) {
		var now engine.Instant
		var all []figures.Sample
		var gone []engine.Path
		err := r.b.Read(ctx, func(look broker.Reader) error {
			now, all, gone = look.Now, nil, nil
			for _, p := range some {
				if s, err := look.State(p); err == nil {
					all = append(all, figures.Sample{Path: p, Depth: figures.DepthOf(s.Counts)})
				} else { // it was deleted, and its events came after
					gone = append(gone, p)
				}
			}
			return nil
		})
		if err != nil {
			r.figures.Touch(touched)
			return
		}
		touched = touched[len(some):]
		r.figures.Sample(now, all...)
		for _, p := range gone {
			r.figures.Forget(p)
		}
	}
}

// metrics is the page of the namespace's figures.
func (p *Pages) metrics(ctx context.Context, at Place) (view.Page, uint64, error) {
	s, err := p.look(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	return page.Metrics{Shell: p.shell(ctx, at, s, locale.T(ctx, "metrics.title")), Figures: p.measured(at, "", s.now)}, s.n, nil
}

// stepsInRow is how many steps a row of the table sums.
const stepsInRow = 6

// figures are an entity's, or the namespace's if path is empty.
func (p *Pages) measured(at Place, path engine.Path, now engine.Instant) page.Figures {
	span, name := figures.Hour, "hour"
	if at.Query.Get("within") == "day" {
		span, name = figures.Day, "day"
	}
	asked := url.Values{"span": {name}}
	if path != "" {
		asked.Set("entity", string(path))
	}
	out := page.Figures{
		Source: p.apiPath() + "/figures?" + asked.Encode(), OfDay: span == figures.Day,
		Hour: p.URL(at.with("within", "")), Day: p.URL(at.with("within", "day")),
	}
	points := p.recent.figures.Line(path, span, now)
	for some := range slices.Chunk(points, stepsInRow) {
		last := some[len(some)-1]
		if !last.Known {
			continue
		}
		r := page.FigureRow{At: some[0].At.Time(), Depth: [5]int{int(last.Depth.Active), int(last.Depth.Locked), int(last.Depth.Scheduled), int(last.Depth.Deferred), int(last.Depth.Dead)}}
		for _, point := range some {
			for i, k := range []figures.Kind{figures.In, figures.Out, figures.Expired, figures.Dead, figures.Failed} {
				r.Counts[i] += int(point.Counts[k])
			}
		}
		out.Rows = append(out.Rows, r)
	}
	slices.Reverse(out.Rows)
	return out
}
