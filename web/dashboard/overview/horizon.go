package overview

import (
	"context"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// A horizonRange is a bucket of the horizon.
type horizonRange struct {
	key   string
	limit time.Duration // zero means unbounded
}

var horizonRanges = []horizonRange{
	{"10s", 10 * time.Second},
	{"1m", time.Minute},
	{"5m", 5 * time.Minute},
	{"15m", 15 * time.Minute},
	{"1h", time.Hour},
	{"6h", 6 * time.Hour},
	{"1d", 24 * time.Hour},
	{"later", 0},
}

// tone returns the colour of the bucket.
func (s horizonRange) tone() component.Tone {
	if s.limit == 0 {
		return component.Plenty
	}
	return component.Urgency(s.limit, 0)
}

// rangeIndex returns the index of the bucket with this key, or -1 if there is none.
func rangeIndex(key string) int {
	return slices.IndexFunc(horizonRanges, func(s horizonRange) bool { return s.key == key })
}

func (s horizonRange) name(ctx context.Context) string {
	if s.limit == 0 {
		return locale.T(ctx, "horizon.later")
	}
	return component.Length(ctx, s.limit)
}

// slicesPerBucket is how many slices a bucket is drawn with. In a namespace with more than
// maxSlicedEntities entities, buckets are not divided, because each slice costs a search in every
// entity during the broker's turn.
const (
	slicesPerBucket   = 6
	maxSlicedEntities = 1000
)

// edges returns the instants at which slices end, and how many slices a bucket has.
func edges(now engine.Instant, entities int) (at []engine.Instant, parts int) {
	parts = slicesPerBucket
	if entities > maxSlicedEntities {
		parts = 1
	}
	before := time.Duration(0)
	for _, s := range horizonRanges[:len(horizonRanges)-1] {
		for i := 1; i <= parts; i++ {
			at = append(at, now.Add(before+(s.limit-before)*time.Duration(i)/time.Duration(parts)))
		}
		before = s.limit
	}
	return at, parts
}

// buckets returns the buckets of the horizon. It adds up the engine's counts of each bucket's
// slices, of which a bucket has `parts`.
func buckets(spans []engine.HorizonSpan, parts int) []component.Bucket {
	out := make([]component.Bucket, len(horizonRanges))
	for i, s := range horizonRanges {
		b := component.Bucket{Key: s.key, Last: s.limit == 0, Tone: s.tone()}
		part := spans[i*parts:]
		if s.limit != 0 {
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

// horizon returns the chart of expiries. href returns the address that a bucket links to.
func horizon(ctx context.Context, spans []engine.HorizonSpan, parts int, href func(key string) string) component.ExpiryHorizon {
	h := component.ExpiryHorizon{Buckets: buckets(spans, parts)}
	for i := range h.Buckets {
		h.Buckets[i].Name, h.Buckets[i].Href = horizonRanges[i].name(ctx), href(h.Buckets[i].Key)
	}
	return h
}

// expiringInFirst returns how many messages are in the first n buckets, by fate.
func expiringInFirst(h component.ExpiryHorizon, n int) (dead, lost int) {
	for _, b := range h.Buckets[:n] {
		dead, lost = dead+b.Dead, lost+b.Lost
	}
	return dead, lost
}
