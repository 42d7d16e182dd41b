package recent

import (
	"context"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/stats"
)

// samplesAtOnce is how many entities are read in one turn of the broker.
const samplesAtOnce = 256

// sampleAll records the depth of the namespace and of every entity.
func (r *Events) sampleAll(ctx context.Context) error {
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
		r.Stats.Sample(now, all...)
	}
	return err
}

// sampleTouched records the depth of the namespace and of the entities with new events.
// Entities that could not be read are read the next time.
func (r *Events) sampleTouched(ctx context.Context, c engine.Counts) {
	r.Stats.Sample(r.b.ClockTime(), stats.Sample{Depth: stats.DepthOf(c)})
	touched := r.Stats.TakeDue()
	for some := range slices.Chunk(touched, samplesAtOnce) {
		var now engine.Instant
		var all []stats.Sample
		var gone []engine.Path
		err := r.b.Read(ctx, func(look broker.Reader) error {
			now, all, gone = look.Now, nil, nil
			for _, p := range some {
				if s, err := look.State(p); err == nil {
					all = append(all, stats.Sample{Path: p, Depth: stats.DepthOf(s.Counts)})
				} else { // the entity was deleted, and its last events came later
					gone = append(gone, p)
				}
			}
			return nil
		})
		if err != nil {
			r.Stats.MarkDue(touched)
			return
		}
		touched = touched[len(some):]
		r.Stats.Sample(now, all...)
		for _, p := range gone {
			r.Stats.Forget(p)
		}
	}
}
