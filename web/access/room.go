package access

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"mayfly/engine"
)

const (
	// LargestBody is how many bytes of a request are read into memory at most,
	// whatever an entity admits.
	LargestBody = 8 << 20

	roomForAll   = 64 << 20 // bytes of all such requests together
	roomForFree  = 64 << 10 // what so small a body needs is not counted
	roomPatience = 5 * time.Second
)

// A Room bounds the memory that the bodies of requests take together, over all
// doors that share it. It is safe for concurrent use.
type Room struct{ left *semaphore.Weighted }

// NewRoom is an empty room.
func NewRoom() *Room { return &Room{semaphore.NewWeighted(roomForAll)} }

// Take waits a few seconds for room for a body of so many bytes, of which most
// are read; negative: nobody knows how many there are. Leave gives the room back
// once nothing of the body is in memory any longer. The error is
// engine.ErrBusy, or the cause for which ctx ended.
func (r *Room) Take(ctx context.Context, bytes, most int64) (leave func(), err error) {
	if bytes < 0 {
		bytes = most
	}
	if bytes <= roomForFree {
		return func() {}, nil
	}
	bytes = min(bytes, roomForAll)
	waiting, cancel := context.WithTimeout(ctx, roomPatience)
	defer cancel()
	if r.left.Acquire(waiting, bytes) != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx) //nolint:wrapcheck // it is the caller's own
		}
		return nil, &engine.Refusal{Kind: engine.ErrBusy, Text: "Too many large requests are being read at once. Try again later."}
	}
	return func() { r.left.Release(bytes) }, nil
}
