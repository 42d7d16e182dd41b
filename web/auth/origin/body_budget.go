package origin

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
)

const (
	// MaxBody is how many bytes of a request are read into memory at most,
	// whatever an entity allows.
	MaxBody = 8 << 20

	budgetTotal      = 64 << 20        // bytes of all such requests together
	budgetPerRequest = budgetTotal / 2 // bytes that are counted of one request at most
	budgetFairShare  = budgetTotal / 4 // bytes of one address while others use much of the budget
	budgetSmall      = 1 << 20         // bytes of one address that do not wait behind larger claims
	budgetUncounted  = 64 << 10        // smaller bodies are not counted
	budgetTimeout    = 5 * time.Second
)

// A BodyBudget bounds the memory of request bodies and their decoded values, over all handlers
// that share it. It is safe for concurrent use.
// One address cannot take all of it. Several requests of an address get more than a quarter of the
// budget only if half of it stays free for others. A single request of an address may exceed the
// quarter, since the largest allowed bodies need that much.
type BodyBudget struct {
	mu        sync.Mutex
	taken     int64            // guarded by mu
	byAddress map[string]int64 // taken bytes by address; guarded by mu
	waiting   []*claim         // the oldest first; guarded by mu
}

// NewBodyBudget returns a budget of which nothing is taken.
func NewBodyBudget() *BodyBudget { return &BodyBudget{byAddress: map[string]int64{}} }

// A claim is a request for more bytes for one share.
type claim struct {
	share   *Share
	bytes   int64
	granted chan struct{} // closed when the share has the bytes
}

// An obstacle is why a claim is not granted.
type obstacle uint8

const (
	noObstacle obstacle = iota
	full                // the budget has too few bytes left
	overshare           // the address has its fair share
)

// obstacleFor returns why s cannot take that many more bytes of the budget. The caller holds mu.
func (r *BodyBudget) obstacleFor(s *Share, bytes int64) obstacle {
	all, own := r.taken+bytes, r.byAddress[s.address]
	switch {
	case s.address != "" && own > s.taken && own+bytes > budgetFairShare && all > budgetTotal-budgetPerRequest:
		return overshare
	case all > budgetTotal:
		return full
	default:
		return noObstacle
	}
}

// isSmall reports whether a claim of s for that many more bytes need not wait behind older ones,
// because the address of s would then have at most budgetSmall. The caller holds mu.
func (r *BodyBudget) isSmall(s *Share, bytes int64) bool {
	return s.address != "" && r.byAddress[s.address]+bytes <= budgetSmall
}

// grant grants claims that wait, the oldest first. A claim that waits because the budget is full
// holds up younger ones that are not small, so that it is not starved. The caller holds mu.
func (r *BodyBudget) grant() {
	held := false
	r.waiting = slices.DeleteFunc(r.waiting, func(c *claim) bool {
		if held && !r.isSmall(c.share, c.bytes) {
			return false
		}
		switch r.obstacleFor(c.share, c.bytes) {
		case noObstacle:
			r.add(c.share, c.bytes)
			close(c.granted)
			return true
		case full:
			held = true
		case overshare:
		}
		return false
	})
}

// add gives s bytes of the budget, or takes them back if bytes is negative. The caller holds mu.
func (r *BodyBudget) add(s *Share, bytes int64) {
	s.taken += bytes
	r.taken += bytes
	if s.address == "" {
		return
	}
	if r.byAddress[s.address] += bytes; r.byAddress[s.address] == 0 {
		delete(r.byAddress, s.address)
	}
}

// try gives s bytes if no claim must come first and the budget has them.
func (r *BodyBudget) try(s *Share, bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grant()
	held := slices.ContainsFunc(r.waiting, func(c *claim) bool { return r.obstacleFor(c.share, c.bytes) == full })
	if held && !r.isSmall(s, bytes) || r.obstacleFor(s, bytes) != noObstacle {
		return false
	}
	r.add(s, bytes)
	return true
}

func (r *BodyBudget) free(s *Share, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(s, -bytes)
	r.grant()
}

// wait gives s that many bytes, and waits for them for a few seconds. The error is engine.ErrBusy,
// or the cause for which ctx ended.
func (r *BodyBudget) wait(ctx context.Context, s *Share, bytes int64) error {
	if r.try(s, bytes) {
		return nil
	}
	c := &claim{s, bytes, make(chan struct{})}
	r.mu.Lock()
	r.waiting = append(r.waiting, c)
	r.grant() // bytes may have become free since try
	r.mu.Unlock()
	patience := time.NewTimer(budgetTimeout)
	defer patience.Stop()
	select {
	case <-c.granted:
		return nil
	case <-ctx.Done():
	case <-patience.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.waiting, c)
	if i < 0 { // it was granted just now
		return nil
	}
	r.waiting = slices.Delete(r.waiting, i, i+1)
	why := r.obstacleFor(s, bytes)
	r.grant() // for claims that c held up
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if why == overshare {
		return engine.Refuse(engine.ErrBusy, "Too many large requests from your address are being read at once. Try again later.")
	}
	return engine.Refuse(engine.ErrBusy, "Too many large requests are being read at once. Try again later.")
}

// A Share is the part of a BodyBudget that one request has taken. Its methods must not be called
// at the same time. The zero value and nil bound nothing.
type Share struct {
	budget  *BodyBudget
	address string
	bytes   int64 // requested so far
	taken   int64 // of the budget; less than bytes if the request is small or very large. Guarded by the budget's mu
}

// NewShare returns an empty share for a request of a client at address, as proxy.Network
// returns it. With an empty address, the share counts towards no address. Call Release to
// free it.
func (r *BodyBudget) NewShare(address string) *Share { return &Share{budget: r, address: address} }

// Release gives everything that the share has taken back to the budget.
func (s *Share) Release() {
	if s != nil {
		s.Shrink(s.bytes)
	}
}

// Grow adds bytes to the share, and waits a few seconds until the budget has them. The error is
// engine.ErrBusy, or the cause for which ctx ended.
func (s *Share) Grow(ctx context.Context, bytes int64) error {
	if s == nil || s.budget == nil {
		return nil
	}
	if wants := budgetFor(s.bytes+bytes) - budgetFor(s.bytes); wants > 0 {
		if err := s.budget.wait(ctx, s, wants); err != nil {
			return err
		}
	}
	s.bytes += bytes
	return nil
}

// TryGrow adds bytes to the share if the budget has them now, and reports whether it did.
func (s *Share) TryGrow(bytes int64) bool {
	if s == nil || s.budget == nil {
		return true
	}
	if wants := budgetFor(s.bytes+bytes) - budgetFor(s.bytes); wants > 0 && !s.budget.try(s, wants) {
		return false
	}
	s.bytes += bytes
	return true
}

// Shrink returns bytes that are no longer in memory from the share to the budget.
func (s *Share) Shrink(bytes int64) {
	if s == nil || s.budget == nil {
		return
	}
	rest := max(s.bytes-bytes, 0)
	if over := budgetFor(s.bytes) - budgetFor(rest); over > 0 {
		s.budget.free(s, over)
	}
	s.bytes = rest
}

// budgetFor returns how much of the budget a share of so many bytes takes.
func budgetFor(bytes int64) int64 {
	if bytes <= budgetUncounted {
		return 0
	}
	return min(bytes, budgetPerRequest)
}

// ReadAll reads at most `most`+1 bytes of `in`. A result longer than `most` means that `in` is too
// large. It takes budget for the bytes that have arrived, not for the announced length, so a client
// that announces much and sends little does not keep others out. On an error it gives that budget
// back.
func (s *Share) ReadAll(ctx context.Context, in io.Reader, most int64) ([]byte, error) {
	const first = 4 << 10
	raw := make([]byte, 0, min(first, most+1))
	if err := s.Grow(ctx, int64(cap(raw))); err != nil {
		return nil, err
	}
	for {
		n, err := in.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		switch {
		case errors.Is(err, io.EOF), int64(len(raw)) > most:
			return raw, nil
		case err != nil:
			s.Shrink(int64(cap(raw)))
			return nil, err
		case len(raw) < cap(raw):
			continue
		}
		larger := min(2*int64(cap(raw)), most+1)
		if err := s.Grow(ctx, larger-int64(cap(raw))); err != nil {
			s.Shrink(int64(cap(raw)))
			return nil, err
		}
		raw = append(make([]byte, 0, larger), raw...)
	}
}

// CountReads returns a reader of `in` that adds `factor` bytes to the share for each byte it reads.
func (s *Share) CountReads(ctx context.Context, in io.ReadCloser, factor int64) io.ReadCloser {
	return &countedReader{in, ctx, s, factor}
}

type countedReader struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the body's request
	share  *Share
	factor int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n > 0 {
		if e := c.share.Grow(c.ctx, int64(n)*c.factor); e != nil {
			return 0, e
		}
	}
	return n, err
}

type shareKey struct{}

// WithShare returns a context with the share of a request, for the reader of its body.
func WithShare(ctx context.Context, s *Share) context.Context {
	return context.WithValue(ctx, shareKey{}, s)
}

// ShareOf returns the share of a request, or nil if it has none.
func ShareOf(ctx context.Context) *Share {
	s, _ := ctx.Value(shareKey{}).(*Share)
	return s
}
