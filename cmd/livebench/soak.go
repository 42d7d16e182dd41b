package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
)

// soakRun has the flags of `livebench soak`.
type soakRun struct {
	lasting, every       time.Duration
	tabs, rate, expiries int
	shortest, longest    time.Duration // how long a tab is open
}

func soakCommand(f *flag.FlagSet) func(context.Context, options) (*report, error) {
	var k soakRun
	f.DurationVar(&k.lasting, "for", time.Hour, "how long")
	f.DurationVar(&k.every, "every", 5*time.Second, "between two looks at the server")
	f.IntVar(&k.tabs, "tabs", 50, "open pages at a time")
	f.IntVar(&k.rate, "rate", 1000, "messages a second")
	f.IntVar(&k.expiries, "expiries", 100, "how many of them expire")
	f.DurationVar(&k.shortest, "shortest", 2*time.Second, "the shortest time that a page is open")
	f.DurationVar(&k.longest, "longest", time.Minute, "the longest")
	return func(ctx context.Context, o options) (*report, error) { return k.run(ctx, o) }
}

func (k soakRun) run(ctx context.Context, o options) (*report, error) {
	s, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	l := &load{s: s, rate: k.rate, expiries: k.expiries, backlog: 1000}
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	r := &report{}
	err = l.runDuring(ctx, func(ctx context.Context) error {
		// Cancel ctx instead of giving it a deadline: the dialer would fail at the deadline before ctx
		// has ended.
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer time.AfterFunc(k.lasting, stop).Stop()
		g, ctx := errgroup.WithContext(ctx)
		for i := range k.tabs {
			g.Go(func() error { return k.visitor(ctx, s, i) })
		}
		var all []sample
		g.Go(func() error {
			var err error
			all, err = k.collectSamples(ctx, o, s)
			return err
		})
		if err := g.Wait(); err != nil {
			return err
		}
		checkGrowth(r, all, k.lasting)
		return nil
	})
	return r, err
}

// visitor opens one page after another, beginning with the i-th, until ctx ends. It returns an error
// if a page cannot be opened or its socket ends early.
func (k soakRun) visitor(ctx context.Context, s *server, i int) error {
	pages := tabPages()
	for ; ctx.Err() == nil; i++ {
		t, err := open(ctx, s, pages[i%len(pages)], readSpeed{})
		if err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the run is over
			}
			return err
		}
		over := pause(ctx, k.shortest+rand.N(max(1, k.longest-k.shortest))) != nil
		err = t.endError()
		t.close()
		if err != nil && !over {
			return fmt.Errorf("a tab on %s ended: %w", t.topic, err)
		}
	}
	return nil
}

// A sample is the server's size at a time since the start.
type sample struct {
	at time.Duration
	size
}

func (k soakRun) collectSamples(ctx context.Context, o options, s *server) (all []sample, err error) {
	began, reported := time.Now(), time.Duration(0)
	for pause(ctx, k.every) == nil {
		z, err := s.size(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return all, nil //nolint:nilerr // the run is over
			}
			return nil, err
		}
		all = append(all, sample{time.Since(began), z})
		if at := time.Since(began); at-reported >= k.lasting/20 {
			reported = at
			o.tell("after %v: heap %.0f MB, resident %.0f MB, %.0f goroutines, %.0f files", at.Round(time.Second), z.Heap, z.Resident, z.Goroutines, z.Files)
		}
	}
	return all, nil
}

// checkGrowth reports how much each resource grew, with a limit: after the first quarter of the
// run, in which caches fill, the line that fits the samples best may rise by a tenth until the end,
// or by a negligible amount. For memory it uses the minimum in each of twenty spans, which is what
// remains after a garbage collection; for the other resources, all samples.
func checkGrowth(r *report, all []sample, lasting time.Duration) {
	spanned := lasting * 3 / 4
	for _, what := range []struct {
		name, unit string
		of         func(sample) float64
		nothing    float64
		lowest     time.Duration
	}{
		{"heap", "MB", func(s sample) float64 { return s.Heap }, 8, spanned / 20},
		{"resident memory", "MB", func(s sample) float64 { return s.Resident }, 16, spanned / 20},
		{"goroutines", "", func(s sample) float64 { return s.Goroutines }, 10, 0},
		{"open files", "", func(s sample) float64 { return s.Files }, 10, 0},
	} {
		x, y, middle := samplePoints(all, lasting/4, what.lowest, what.of)
		if len(x) < 3 {
			r.addLimited(what.name+": looks at it", "", -1, -2)
			continue
		}
		r.add(what.name+", mean", what.unit, middle)
		r.addLimited(what.name+", growth until the end", what.unit, slope(x, y)*spanned.Seconds(), max(what.nothing, middle/10))
	}
}

// samplePoints returns the samples from the time `after` on as points, with x in seconds and y from
// `of`, and the mean of y. If span is not zero, it returns the lowest sample of each span.
func samplePoints(all []sample, after, span time.Duration, of func(sample) float64) (x, y []float64, mean float64) {
	var end time.Duration
	for _, s := range all {
		if s.at < after {
			continue
		}
		v := of(s)
		if span > 0 && s.at < end {
			y[len(y)-1] = min(y[len(y)-1], v)
			continue
		}
		end = s.at + span
		x, y = append(x, s.at.Seconds()), append(y, v)
	}
	for _, v := range y {
		mean += v / float64(len(y))
	}
	return x, y, mean
}
