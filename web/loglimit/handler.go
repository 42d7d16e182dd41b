package loglimit

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	lineInterval = time.Second // at most one line of a kind
	maxKinds     = 1_000       // remembered at a time; further kinds count as one kind per level
)

// A Handler limits the lines that it passes to another handler. Use New to make one, and
// Close it. It is safe for concurrent use.
type Handler struct {
	next    slog.Handler // with the attributes and groups of this one
	limiter *limiter
}

// New returns a handler that limits the lines that it passes to the handler `next`.
func New(next slog.Handler) *Handler {
	return &Handler{next, &limiter{kinds: map[kind]*burst{}}}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler. It writes the line at once, or holds it back: then it is written
// within a second or only counted.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	r = cut(r)
	if r.Level >= slog.LevelInfo && !h.limiter.admit(h.next, r) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler. It cuts the values of attrs once for all lines.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	all := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		all[i] = cutAttr(a)
	}
	return &Handler{h.next.WithAttrs(all), h.limiter}
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.next.WithGroup(name), h.limiter}
}

// Close writes the lines held back. Later lines are not limited.
func (h *Handler) Close() { h.limiter.close() }

// A kind is the key by which lines are counted.
type kind struct {
	level   slog.Level
	message string
}

// A burst is the lines of a kind within a second.
type burst struct {
	until time.Time // when the next line may be written
	held  int       // lines held back
	last  slog.Record
	to    slog.Handler // writes last
}

// A limiter remembers when each kind was last written. Its timer is set while it
// remembers any kind.
type limiter struct {
	writing sync.WaitGroup // counts the timer until its lines are written

	mu     sync.Mutex // guards the rest
	kinds  map[kind]*burst
	timer  *time.Timer
	closed bool
}

// admit reports whether r may be written now. Otherwise it holds r back.
func (l *limiter) admit(to slog.Handler, r slog.Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return true
	}
	k := kind{r.Level, r.Message}
	if l.kinds[k] == nil && len(l.kinds) >= maxKinds {
		k = kind{level: r.Level}
	}
	now := time.Now()
	b := l.kinds[k]
	if b == nil {
		l.kinds[k] = &burst{until: now.Add(lineInterval)}
		l.watch(lineInterval)
		return true
	}
	b.held++
	b.last, b.to = r.Clone(), to
	return false
}

// watch starts the timer, which calls flush after the given time, unless it is running. The caller
// holds mu.
func (l *limiter) watch(after time.Duration) {
	if l.timer == nil {
		l.writing.Add(1)
		l.timer = time.AfterFunc(after, l.flush)
	}
}

// flush writes the lines held back of kinds whose second is over, and forgets kinds
// without further lines.
func (l *limiter) flush() {
	defer l.writing.Done()
	for _, b := range l.due() {
		b.write()
	}
}

// due removes and returns the lines to write now, and sets the timer for the rest.
func (l *limiter) due() (all []burst) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if l.closed {
		return nil // close writes all lines
	}
	now := time.Now()
	next := time.Duration(-1)
	for k, b := range l.kinds {
		if !now.Before(b.until) {
			if b.held == 0 {
				delete(l.kinds, k)
				continue
			}
			all = append(all, *b)
			*b = burst{until: now.Add(lineInterval)}
		}
		if left := b.until.Sub(now); next < 0 || left < next {
			next = left
		}
	}
	if next >= 0 {
		l.watch(next)
	}
	return all
}

// write writes the last line of a burst, with the number of lines left out.
func (b *burst) write() {
	if b.held > 1 {
		b.last.AddAttrs(slog.Int("left_out", b.held-1))
	}
	_ = b.to.Handle(context.Background(), b.last) //nolint:errcheck // slog ignores it too
}

// close writes the lines held back, and waits for those being written.
func (l *limiter) close() {
	l.mu.Lock()
	l.closed = true
	if l.timer != nil && l.timer.Stop() {
		l.writing.Done()
	}
	l.timer = nil
	var all []burst
	for _, b := range l.kinds {
		if b.held > 0 {
			all = append(all, *b)
		}
	}
	clear(l.kinds)
	l.mu.Unlock()
	for _, b := range all {
		b.write()
	}
	l.writing.Wait()
}
