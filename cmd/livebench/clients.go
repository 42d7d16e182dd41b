package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/gorilla/websocket"
)

// clientsRun has the flags of `livebench clients`.
type clientsRun struct {
	tabs, slow, frozen, rate, expiries int
	each                               time.Duration
	disconnectTimeout                  time.Duration // after which a frozen browser has to be disconnected
}

func clientsCommand(f *flag.FlagSet) func(context.Context, options) (*report, error) {
	var c clientsRun
	f.IntVar(&c.tabs, "tabs", 50, "browsers that read as they should")
	f.IntVar(&c.slow, "slow", 10, "browsers that read 2 KiB a second")
	f.IntVar(&c.frozen, "frozen", 10, "browsers that stop reading")
	f.IntVar(&c.rate, "rate", 2000, "messages a second")
	f.IntVar(&c.expiries, "expiries", 200, "how many of them expire")
	f.DurationVar(&c.each, "each", 40*time.Second, "how long tabs are measured alone, and then beside the others")
	f.DurationVar(&c.disconnectTimeout, "patience", 40*time.Second, "how long a frozen browser may stay: a heartbeat (15 s), 10 s, and some seconds for what fits into the kernel's buffers")
	return func(ctx context.Context, o options) (*report, error) { return c.run(ctx, o) }
}

func (c clientsRun) run(ctx context.Context, o options) (*report, error) {
	s, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	l := &load{s: s, rate: c.rate, expiries: c.expiries, backlog: 500}
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	r := &report{}
	err = l.runDuring(ctx, func(ctx context.Context) error { return c.measure(ctx, o, l, r) })
	return r, err
}

func (c clientsRun) measure(ctx context.Context, o options, l *load, r *report) error {
	if err := pause(ctx, min(c.each, 12*time.Second)); err != nil {
		return err
	}
	good, err := openAll(ctx, l.s, c.tabs, tabPages())
	if err != nil {
		return err
	}
	defer good.close()
	alone, before, err := c.measurePhase(ctx, l, good)
	if err != nil {
		return err
	}
	o.tell("alone, tabs have it after %.0f ms p95", percentile(alone, .95))
	var slow, frozen tabs
	defer func() { slow.close(); frozen.close() }()
	for i := range c.slow {
		t, err := open(ctx, l.s, tabPages()[i%len(tabPages())], readSpeed{buffer: 4 << 10, pace: 500 * time.Millisecond})
		if err != nil {
			return err
		}
		slow = append(slow, t)
	}
	for i := range c.frozen {
		t, err := open(ctx, l.s, tabPages()[i%len(tabPages())], readSpeed{buffer: 4 << 10, frozen: true})
		if err != nil {
			return err
		}
		frozen = append(frozen, t)
	}
	began := time.Now()
	gone := make(chan time.Duration, 1)
	watching, stop := context.WithTimeout(ctx, max(c.each, c.disconnectTimeout)+10*time.Second)
	defer stop()
	go func() { gone <- c.waitDisconnected(watching, l.s, began) }()
	beside, after, err := c.measurePhase(ctx, l, good)
	if err != nil {
		return err
	}
	took := <-gone
	r.add("from sending to a frame in tabs alone, p50", "ms", percentile(alone, .5))
	r.add("the same, p95", "ms", percentile(alone, .95))
	r.add("beside slow and frozen ones, p50", "ms", percentile(beside, .5))
	r.add("the same, p95", "ms", percentile(beside, .95))
	r.addLimited("p95 beside them / alone", "×", percentile(beside, .95)/percentile(alone, .95), 1.25)
	r.addLimited("server's memory beside them, more than alone", "MB", after.Resident-before.Resident, 64)
	r.addLimited("a frozen browser is cut off after", "s", took.Seconds(), c.disconnectTimeout.Seconds())
	codes := map[int]int{}
	for _, t := range frozen {
		codes[t.drain()]++
	}
	r.note("how frozen ones find their sockets, by code (1006: the frame they did not take is not complete): %v", codes)
	return nil
}

// measurePhase measures for the duration c.each, after a pause of a tenth of it. It returns the
// latencies of marks in all tabs of good, and the server's size afterwards.
func (c clientsRun) measurePhase(ctx context.Context, l *load, good tabs) ([]time.Duration, size, error) {
	if err := pause(ctx, c.each/10); err != nil {
		return nil, size{}, err
	}
	good.discardUpdates()
	sent := l.collectProbes(ctx)
	if err := pause(ctx, c.each); err != nil {
		return nil, size{}, err
	}
	marks, err := sent()
	if err != nil {
		return nil, size{}, err
	}
	took, err := good.latencies(marks)
	if err != nil {
		return nil, size{}, err
	}
	z, err := l.s.size(ctx)
	return took, z, err
}

// waitDisconnected waits until the server has closed as many sockets as there are frozen tabs, and
// returns the time since began. It returns an hour if ctx ends first or the server does not answer.
func (c clientsRun) waitDisconnected(ctx context.Context, s *server, began time.Time) time.Duration {
	first, err := s.size(ctx)
	for err == nil {
		var z size
		if pause(ctx, 250*time.Millisecond) != nil {
			break
		}
		if z, err = s.size(ctx); err == nil && z.Sockets <= first.Sockets-c.frozen {
			return time.Since(began)
		}
	}
	return time.Hour // never
}

// drain reads the rest of a socket that was not read, and returns its close code. It times out
// after 5 s.
func (t *tab) drain() int {
	if t.conn.SetReadDeadline(time.Now().Add(5*time.Second)) != nil {
		return websocket.CloseAbnormalClosure
	}
	for {
		_, _, err := t.conn.ReadMessage()
		if e, ok := errors.AsType[*websocket.CloseError](err); ok {
			return e.Code
		}
		if err != nil {
			return websocket.CloseAbnormalClosure
		}
	}
}
