package show

import (
	"context"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// A stretch is one bucket of the horizon.
type stretch struct {
	key  string
	upto time.Duration // zero: it has no end
}

var stretches = []stretch{
	{"10s", 10 * time.Second},
	{"1m", time.Minute},
	{"5m", 5 * time.Minute},
	{"15m", 15 * time.Minute},
	{"1h", time.Hour},
	{"6h", 6 * time.Hour},
	{"1d", 24 * time.Hour},
	{"later", 0},
}

// tone is that of whatever is in the bucket.
func (s stretch) tone() component.Tone {
	if s.upto == 0 {
		return component.Plenty
	}
	return component.Urgency(s.upto, 0)
}

// stretchCalled is the place of a bucket by its key; -1 if there is none.
func stretchCalled(key string) int {
	return slices.IndexFunc(stretches, func(s stretch) bool { return s.key == key })
}

func (s stretch) called(ctx context.Context) string {
	if s.upto == 0 {
		return locale.T(ctx, "horizon.later")
	}
	return component.Length(ctx, s.upto)
}

// slicesOfStretch is how finely a bucket is drawn; crowded is the number of
// entities from which it is not divided, because each slice costs a search in
// each of them during the broker's turn.
const (
	slicesOfStretch = 6
	crowded         = 1000
)

// edges are the instants at which slices end, and how many slices a bucket has.
func edges(now engine.Instant, entities int) (at []engine.Instant, parts int) {
	parts = slicesOfStretch
	if entities > crowded {
		parts = 1
	}
	before := time.Duration(0)
	for _, s := range stretches[:len(stretches)-1] {
		for i := 1; i <= parts; i++ {
			at = append(at, now.Add(before+(s.upto-before)*time.Duration(i)/time.Duration(parts)))
		}
		before = s.upto
	}
	return at, parts
}

// buckets puts what the engine counted between edges into buckets.
func buckets(spans []engine.Span, parts int) []component.Bucket {
	out := make([]component.Bucket, len(stretches))
	for i, s := range stretches {
		b := component.Bucket{Key: s.key, Last: s.upto == 0, Tone: s.tone()}
		part := spans[i*parts:]
		if s.upto != 0 {
			part = part[:parts]
		}
		for _, n := range part {
			b.Dead, b.Lost = b.Dead+int(n.DeadLettered), b.Lost+int(n.Lost)
			b.Slices = append(b.Slices, component.Slice{Dead: int(n.DeadLettered), Lost: int(n.Lost)})
		}
		out[i] = b
	}
	return out
}

// horizon is the chart; each bucket leads to where href says.
func horizon(ctx context.Context, spans []engine.Span, parts int, href func(key string) string) component.Horizon {
	h := component.Horizon{Buckets: buckets(spans, parts)}
	for i := range h.Buckets {
		h.Buckets[i].Name, h.Buckets[i].Href = stretches[i].called(ctx), href(h.Buckets[i].Key)
	}
	return h
}

// ending is how many messages there are in the first n buckets, by fate.
func ending(h component.Horizon, n int) (dead, lost int) {
	for _, b := range h.Buckets[:n] {
		dead, lost = dead+b.Dead, lost+b.Lost
	}
	return dead, lost
}
