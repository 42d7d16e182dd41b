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

// A load sends messages that are received or expire, at a steady rate:
//
//   - orders: most of them, received by a receiver that leaves a backlog
//   - lapsing: half of the expiring ones, with mixed times to live, deleted on expiry
//   - late: the other half, dead-lettered on expiry, and received from there
//   - marks: a few, identified by their numbers, for the latency from sending a message
//     until it is visible
type load struct {
	s                       *server
	rate, expiries, backlog int

	latencies      durations // from sending to confirmation, of all but marks
	backlogCount   atomic.Int64
	sent, expiring atomic.Int64

	mu     sync.Mutex
	probes []time.Time // send times, by sequence number minus one
}

const (
	probesPerSecond = 20
	probeTTL        = 4 * time.Second
	bodySize        = 1024
	beat            = 2 * time.Millisecond // interval of checks for due messages
)

// prepare creates the queues of a load.
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

// run runs the load until ctx ends, or something fails.
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
	orders := attach(sender(ctx, l.s, "orders", &l.latencies))
	lapsing := attach(sender(ctx, l.s, "lapsing", &l.latencies))
	late := attach(sender(ctx, l.s, "late", &l.latencies))
	marks := attach(sender(ctx, l.s, "marks", nil))
	hold := func() uint32 { return uint32(max(0, l.backlogCount.Load()-int64(l.backlog))) }
	taker := attach(receiver(ctx, l.s, "orders", 500, hold))
	attach(receiver(ctx, l.s, "late/$DeadLetterQueue", 500, nil))
	if len(links) < 6 {
		return g.Wait()
	}
	body := make([]byte, bodySize)
	expiring := func(k *link) func(int) error {
		return func(i int) error {
			l.sent.Add(1)
			l.expiring.Add(1)
			return k.send(message{id: fmt.Sprint(i), subject: "quote.given", ttl: time.Second + rand.N(9*time.Second), body: body})
		}
	}
	g.Go(func() error {
		return pace(ctx, l.rate-l.expiries-probesPerSecond, func(i int) error {
			l.sent.Add(1)
			l.backlogCount.Add(1)
			return orders.send(message{id: fmt.Sprint(i), subject: "order.placed", ttl: time.Minute + rand.N(time.Hour), body: body})
		})
	})
	g.Go(func() error { return pace(ctx, l.expiries/2, expiring(lapsing)) })
	g.Go(func() error { return pace(ctx, l.expiries-l.expiries/2, expiring(late)) })
	g.Go(func() error { return l.sendProbes(ctx, marks) })
	g.Go(func() error { return pace(ctx, 100, func(int) error { taker.grant(); return nil }) })
	err := g.Wait()
	if context.Cause(ctx) != nil && ctx.Err() != nil {
		select {
		case <-orders.ended: // the server has ended, or rejects a message
		default:
			return nil // ctx has ended
		}
	}
	return err
}

// sendProbes sends marks at random intervals. At regular intervals they would be in phase with
// periodic work of the server, always just before or just after it.
func (l *load) sendProbes(ctx context.Context, to *link) error {
	for pause(ctx, rand.N(2*time.Second/probesPerSecond)) == nil {
		if err := l.sendProbe(to); err != nil {
			return err
		}
	}
	return nil // ctx has ended
}

// sendProbe sends a mark.
func (l *load) sendProbe(to *link) error {
	l.mu.Lock()
	n := len(l.probes) + 1
	l.probes = append(l.probes, time.Now())
	l.mu.Unlock()
	l.sent.Add(1)
	return to.send(message{id: fmt.Sprintf("mark-%d", n), subject: fmt.Sprintf("mark-%d", n), ttl: probeTTL, body: []byte("mark")})
}

// A probe is a mark that was sent, and the number of its event.
type probe struct {
	at    time.Time
	event uint64
}

// recentProbes returns the marks that were sent after the time `since` and are among the latest 100
// arrivals in the server's history, with the numbers of their events.
func (l *load) recentProbes(ctx context.Context, since time.Time) ([]probe, error) {
	var history struct {
		Events []struct {
			N              uint64 `json:"n"`
			Kind           string `json:"kind"`
			SequenceNumber int64  `json:"sequenceNumber"`
		} `json:"events"`
	}
	if err := l.s.getJSON(ctx, "/api/v1/activity?scope=all&group=arrivals&path=marks&limit=100", &history); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []probe
	for _, e := range history.Events {
		if i := int(e.SequenceNumber) - 1; e.Kind == "sent" && i >= 0 && i < len(l.probes) && l.probes[i].After(since) {
			all = append(all, probe{l.probes[i], e.N})
		}
	}
	return all, nil
}

// collectProbes collects the marks that are sent until the function it returns is called. It polls,
// because the history only returns the latest events.
func (l *load) collectProbes(ctx context.Context) (all func() ([]probe, error)) {
	ctx, stop := context.WithCancel(ctx)
	began, byNumber := time.Now(), map[uint64]probe{}
	look := func(ctx context.Context) error {
		marks, err := l.recentProbes(ctx, began)
		for _, m := range marks {
			byNumber[m.event] = m
		}
		return err
	}
	ended := make(chan error, 1)
	go func() {
		for pause(ctx, 3*time.Second) == nil { // seldom, because reading the history slows senders down
			if err := look(ctx); err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	return func() ([]probe, error) {
		stop()
		if err := <-ended; err != nil {
			return nil, err
		}
		err := look(context.WithoutCancel(ctx))
		return slices.Collect(maps.Values(byNumber)), err
	}
}

// pace calls do at a rate per second, with the number of each call. It makes up for calls that are
// late by up to a second, and skips those that are later.
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

// runDuring runs the load while do runs.
func (l *load) runDuring(ctx context.Context, do func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g.Go(func() error { return l.run(ctx) })
	g.Go(func() error {
		defer stop()
		return do(ctx)
	})
	return g.Wait()
}
