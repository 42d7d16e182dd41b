package show

import (
	"context"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
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
	for some := range slices.Chunk(r.figures.Touched(), samplesAtOnce) {
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
			return
		}
		r.figures.Sample(now, all...)
		for _, p := range gone {
			r.figures.Forget(p)
		}
	}
}
