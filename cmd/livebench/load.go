package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// A load is messages that come, go and expire at a steady rate:
//
//   - orders: most of them, taken by a receiver that leaves backlog waiting
//   - lapsing: half of those that expire, of mixed times to live, for good
//   - late: the other half, into its dead letters, which a receiver takes
//   - marks: a few, each known by its number, for what is measured from the sending
//     of a message to its being seen somewhere
type load struct {
	s                       *server
	rate, expiries, backlog int

	took        spans // from sending to confirmation, of all but marks
	ordered     atomic.Int64
	sent, lapse atomic.Int64

	mu    sync.Mutex
	marks []time.Time // when each was sent, by sequence number less one
}

const (
	marksEachSecond = 20
	markLives       = 4 * time.Second
	bodySize        = 1024
	beat            = 2 * time.Millisecond // between two looks at what is due
)

// prepare makes the queues of a load.
func (l *load) prepare(ctx context.Context) error {
	for name, properties := range map[string]map[string]any{
		"orders": {}, "lapsing": {}, "marks": {},
		"late": {"DeadLetteringOnMessageExpiration": true},
	} {
		if err := l.s.create(ctx, name, properties); err != nil {
			return err
		}
	}
	return nil
}

// run is the load until ctx ends, or something fails.
func (l *load) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	var links []*link
	defer func() {
		for _, k := range links {
			k.close()
		}
	}()
	attach := func(k *link, err error) *link {
		if err != nil {
			g.Go(func() error { return err })
			return nil
		}
		links = append(links, k)
		return k
	}
	orders := attach(sender(ctx, l.s, "orders", &l.took))
	lapsing := attach(sender(ctx, l.s, "lapsing", &l.took))
	late := attach(sender(ctx, l.s, "late", &l.took))
	marks := attach(sender(ctx, l.s, "marks", nil))
	hold := func() uint32 { return uint32(max(0, l.ordered.Load()-int64(l.backlog))) }
	taker := attach(receiver(ctx, l.s, "orders", 500, hold))
	attach(receiver(ctx, l.s, "late/$DeadLetterQueue", 500, nil))
	if len(links) < 6 {
		return g.Wait() //nolint:wrapcheck // it says what was tried
	}
	body := make([]byte, bodySize)
	expiring := func(k *link) func(int) error {
		return func(i int) error {
			l.sent.Add(1)
			l.lapse.Add(1)
			return k.send(message{id: fmt.Sprint(i), subject: "quote.given", ttl: time.Second + rand.N(9*time.Second), body: body})
		}
	}
	g.Go(func() error {
		return pace(ctx, l.rate-l.expiries-marksEachSecond, func(i int) error {
			l.sent.Add(1)
			l.ordered.Add(1)
			return orders.send(message{id: fmt.Sprint(i), subject: "order.placed", ttl: time.Minute + rand.N(time.Hour), body: body})
		})
	})
	g.Go(func() error { return pace(ctx, l.expiries/2, expiring(lapsing)) })
	g.Go(func() error { return pace(ctx, l.expiries-l.expiries/2, expiring(late)) })
	g.Go(func() error { return l.markAll(ctx, marks) })
	g.Go(func() error { return pace(ctx, 100, func(int) error { taker.grant(); return nil }) })
	err := g.Wait()
	if context.Cause(ctx) != nil && ctx.Err() != nil {
		select {
		case <-orders.ended: // the server is gone, or refuses
		default:
			return nil // whoever ran it has ended it
		}
	}
	return err //nolint:wrapcheck // it says what was tried
}

// markAll sends marks, each at a moment that has nothing to do with the one before:
// at a steady pace they would go with what the server does at a steady pace, too
// early or too late for it each time.
func (l *load) markAll(ctx context.Context, to *link) error {
	for pause(ctx, rand.N(2*time.Second/marksEachSecond)) == nil {
		if err := l.mark(to); err != nil {
			return err
		}
	}
	return nil // it is over
}

// mark sends one more.
func (l *load) mark(to *link) error {
	l.mu.Lock()
	n := len(l.marks) + 1
	l.marks = append(l.marks, time.Now())
	l.mu.Unlock()
	l.sent.Add(1)
	return to.send(message{id: fmt.Sprintf("mark-%d", n), subject: fmt.Sprintf("mark-%d", n), ttl: markLives, body: []byte("mark")})
}

// A mark is one that was sent, and the event that this was.
type mark struct {
	at time.Time
	n  uint64
}

// told are the latest marks sent since an instant, by what the server's history
// says of them.
func (l *load) told(ctx context.Context, since time.Time) ([]mark, error) {
	var past struct {
		Events []struct {
			N              uint64 `json:"n"`
			Kind           string `json:"kind"`
			SequenceNumber int64  `json:"sequenceNumber"`
		} `json:"events"`
	}
	if err := l.s.ask(ctx, "/api/v1/activity?scope=all&group=arrivals&path=marks&count=100", &past); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []mark
	for _, e := range past.Events {
		if i := int(e.SequenceNumber) - 1; e.Kind == "sent" && i >= 0 && i < len(l.marks) && l.marks[i].After(since) {
			all = append(all, mark{l.marks[i], e.N})
		}
	}
	return all, nil
}

// follow collects the marks that are sent from now on, until what it returns is called:
// the history can be asked for the latest only.
func (l *load) follow(ctx context.Context) (all func() ([]mark, error)) {
	ctx, stop := context.WithCancel(ctx)
	began, byNumber := time.Now(), map[uint64]mark{}
	look := func(ctx context.Context) error {
		marks, err := l.told(ctx, began)
		for _, m := range marks {
			byNumber[m.n] = m
		}
		return err
	}
	ended := make(chan error, 1)
	go func() {
		for pause(ctx, 3*time.Second) == nil { // seldom, and little: senders feel it
			if err := look(ctx); err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	return func() ([]mark, error) {
		stop()
		if err := <-ended; err != nil {
			return nil, err
		}
		err := look(context.WithoutCancel(ctx))
		return slices.Collect(maps.Values(byNumber)), err
	}
}

// pace does something so many times a second, each time with its number. It catches
// up where it could not, but for what is more than a second late.
func pace(ctx context.Context, rate int, do func(i int) error) error {
	if rate <= 0 {
		return nil
	}
	began, done := time.Now(), 0
	t := time.NewTicker(max(beat, time.Second/time.Duration(rate)))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		due := int(time.Since(began).Seconds() * float64(rate))
		for done = max(done, due-rate); done < due; done++ {
			if err := do(done); err != nil {
				return err
			}
		}
	}
}

// beside runs the load while something is done.
func (l *load) beside(ctx context.Context, do func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g.Go(func() error { return l.run(ctx) })
	g.Go(func() error {
		defer stop()
		return do(ctx)
	})
	return g.Wait() //nolint:wrapcheck // it says what was tried
}
