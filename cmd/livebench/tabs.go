package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// tabsRun has the flags of `livebench tabs`.
type tabsRun struct {
	tabs, rate, expiries, backlog, pairs int
	warm, each, settle                   time.Duration
	pages                                []string // Chromium's, in turn
	trace                                string
}

func tabsCommand(f *flag.FlagSet) func(context.Context, options) (*report, error) {
	var t tabsRun
	f.IntVar(&t.tabs, "tabs", 200, "open pages beside Chromium's")
	f.IntVar(&t.rate, "rate", 5000, "messages a second")
	f.IntVar(&t.expiries, "expiries", 500, "how many of them expire")
	f.IntVar(&t.backlog, "backlog", 2000, "messages that wait")
	f.IntVar(&t.pairs, "pairs", 5, "times that senders are measured with and without open pages")
	f.DurationVar(&t.warm, "warm", 12*time.Second, "what is left out at the beginning: until as many expire as come")
	f.DurationVar(&t.each, "each", 20*time.Second, "how long each of a pair lasts")
	f.DurationVar(&t.settle, "settle", 5*time.Second, "what is left out before each")
	pages := f.String("pages", "", "which pages Chromium is on, in turn and separated by commas, such as /n/default; empty: those that change most")
	f.StringVar(&t.trace, "trace", "", "a file for what Chromium's threads did, which its tools open")
	return func(ctx context.Context, o options) (*report, error) {
		t.pages = tabPages()[:5]
		if *pages != "" {
			t.pages = strings.Split(*pages, ",")
		}
		return t.run(ctx, o)
	}
}

// tabPages returns the pages that tabs open. It lists those that change most several times.
func tabPages() []string {
	return []string{
		home, home + "/expirations", queue("orders"), home, queue("marks"),
		home + "/queues", queue("lapsing"), home, home + "/expirations", queue("late"),
	}
}

// A phase has the measurements of one half of a pair.
type phase struct {
	send            []time.Duration
	server, clients float64 // share of a core
	sent            float64 // per second
}

func (t tabsRun) run(ctx context.Context, o options) (*report, error) {
	s, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	l := &load{s: s, rate: t.rate, expiries: t.expiries, backlog: t.backlog}
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	r := &report{}
	err = l.runDuring(ctx, func(ctx context.Context) error { return t.measure(ctx, o, l, r) })
	return r, err
}

// measure first measures senders with open pages and without, in pairs, and then the pages. At the
// same time, on one machine, the two measurements would affect each other.
func (t tabsRun) measure(ctx context.Context, o options, l *load, r *report) error {
	o.tell("%d messages/s begin", t.rate)
	if err := pause(ctx, t.warm); err != nil {
		return err
	}
	before, err := l.s.size(ctx)
	if err != nil {
		return err
	}
	with, without, err := t.measureSenders(ctx, o, l)
	if err != nil {
		return err
	}
	most := before
	var sentWith []phase
	var framed []time.Duration
	for _, w := range with {
		sentWith, framed = append(sentWith, w.phase), append(framed, w.frameLatencies...)
		most.Heap, most.Resident = max(most.Heap, w.size.Heap), max(most.Resident, w.size.Resident)
	}
	looked, err := t.measurePages(ctx, o, l)
	if err != nil {
		return err
	}
	var painted []time.Duration
	var long []longTask
	byPage := map[string][]time.Duration{}
	for i, w := range looked {
		painted, long = append(painted, w.paintLatencies...), append(long, w.longTasks...)
		byPage[t.pages[i]] = append(byPage[t.pages[i]], w.paintLatencies...)
	}
	r.addLimited("from sending to paint in Chromium, p95", "ms", percentile(painted, .95), 400)
	r.add("the same, p50", "ms", percentile(painted, .5))
	r.add("the same, p99", "ms", percentile(painted, .99))
	r.add("messages that this was seen of", "", float64(len(painted)))
	r.add("from sending to a frame in the other tabs, p50", "ms", percentile(framed, .5))
	r.add("the same, p95", "ms", percentile(framed, .95))
	r.add("the same, p99", "ms", percentile(framed, .99))
	r.addLimited("longest time that Chromium's main thread was busy", "ms", longestTask(long), 100)
	p50, p99 := ratios(sentWith, without, .5), ratios(sentWith, without, .99)
	r.addLimited("send p50 with pages / without, median of pairs", "×", median(p50, itself), 1.1)
	r.addLimited("send p99 with pages / without, median of pairs", "×", median(p99, itself), 1.5)
	for _, side := range []struct {
		name string
		all  []phase
	}{{"without pages", without}, {"with pages", sentWith}} {
		mid := func(of func(phase) float64) float64 {
			var all []float64
			for _, p := range side.all {
				all = append(all, of(p))
			}
			return median(all, itself)
		}
		r.add(side.name+": sent", "/s", mid(func(p phase) float64 { return p.sent }))
		r.add(side.name+": send p50", "ms", mid(func(p phase) float64 { return percentile(p.send, .5) }))
		r.add(side.name+": send p99", "ms", mid(func(p phase) float64 { return percentile(p.send, .99) }))
		r.add(side.name+": server's CPU", "% of a core", mid(func(p phase) float64 { return p.server }))
		r.add(side.name+": clients' CPU, the browser's too", "% of a core", mid(func(p phase) float64 { return p.clients }))
	}
	r.add("server's memory before the first page", "MB", before.Resident)
	r.add("the most with pages open", "MB", most.Resident)
	for _, at := range slices.Compact(slices.Sorted(slices.Values(t.pages))) {
		if all := byPage[at]; len(all) > 0 {
			r.note("%s in Chromium: %.0f ms p50, %.0f ms p95 of %d", at, percentile(all, .5), percentile(all, .95), len(all))
		}
	}
	return nil
}

// measureSenders measures senders with open pages and without. Chromium only gets idle processor
// time.
func (t tabsRun) measureSenders(ctx context.Context, o options, l *load) (with []pagePhase, without []phase, err error) {
	c, err := browse(ctx, o, idle, "")
	if err != nil {
		return nil, nil, err
	}
	defer c.stop()
	for i := range t.pairs {
		for _, open := range []int{i % 2, 1 - i%2} {
			if open == 0 {
				p, err := t.phase(ctx, l, func() {})
				if err != nil {
					return nil, nil, err
				}
				without = append(without, p)
				t.progress(o, "without pages", i, p)
				continue
			}
			w, err := t.watch(ctx, l, c, t.pages[i%len(t.pages)])
			if err != nil {
				return nil, nil, err
			}
			with = append(with, w)
			t.progress(o, fmt.Sprintf("with pages, in tabs after %.0f ms p95", percentile(w.frameLatencies, .95)), i, w.phase)
		}
	}
	return with, without, nil
}

// measurePages measures one page after another. Chromium gets more processor time.
func (t tabsRun) measurePages(ctx context.Context, o options, l *load) (all []pagePhase, err error) {
	c, err := browse(ctx, o, lowerPriority, t.trace)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	for _, at := range t.pages[:min(len(t.pages), t.pairs)] {
		w, err := t.watch(ctx, l, c, at)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
		o.tell("painted on %s after %.0f ms p95; Chromium was busy for %.0f ms at the longest", at, percentile(w.paintLatencies, .95), longestTask(w.longTasks))
	}
	return all, nil
}

func (t tabsRun) progress(o options, what string, i int, p phase) {
	o.tell("pair %d, %s: %.0f/s sent, p50 %.2f ms, p99 %.2f ms, server %.0f %%, clients %.0f %% of a core",
		i+1, what, p.sent, percentile(p.send, .5), percentile(p.send, .99), p.server, p.clients)
}

// ratios returns a percentile with pages divided by that without, for each pair.
func ratios(with, without []phase, p float64) (all []float64) {
	for i := range min(len(with), len(without)) {
		if w := percentile(without[i].send, p); w > 0 && !math.IsNaN(w) {
			all = append(all, percentile(with[i].send, p)/w)
		}
	}
	return all
}

// phase measures senders for the duration t.each, after a pause of t.settle. It calls begin when
// the measurement begins.
func (t tabsRun) phase(ctx context.Context, l *load, begin func()) (phase, error) {
	if err := pause(ctx, t.settle); err != nil {
		return phase{}, err
	}
	begin()
	server, clients := l.s.cpu()
	l.latencies.take()
	sent, began := l.sent.Load(), time.Now()
	if err := pause(ctx, t.each); err != nil {
		return phase{}, err
	}
	p := phase{send: l.latencies.take()}
	took := time.Since(began).Seconds()
	p.sent = float64(l.sent.Load()-sent) / took
	s, c := l.s.cpu()
	p.server, p.clients = 100*(s-server).Seconds()/took, 100*(c-clients).Seconds()/took
	return p, nil
}

// pagePhase is a phase with open pages.
type pagePhase struct {
	phase
	frameLatencies, paintLatencies []time.Duration
	longTasks                      []longTask
	size                           size
}

// watch opens the pages, Chromium's at one of them, and measures what arrives there.
func (t tabsRun) watch(ctx context.Context, l *load, c *chrome, at string) (w pagePhase, err error) {
	all, err := openElsewhere(ctx, l.s, t.tabs, tabPages())
	if err != nil {
		return w, err
	}
	defer all.close()
	if err := c.visit(l.s.Dashboard + at); err != nil { //nolint:contextcheck // a tab has its own
		return w, err
	}
	var sent func() ([]probe, error)
	var failed, forgetting error
	if w.phase, err = t.phase(ctx, l, func() {
		sent = l.collectProbes(ctx)
		forgetting = all.discardUpdates()
		_, _, failed = c.takePaints() // loading is not measured
	}); err != nil || failed != nil || forgetting != nil {
		return w, errors.Join(err, failed, forgetting)
	}
	marks, err := sent()
	if err != nil {
		return w, err
	}
	if w.frameLatencies, err = all.latencies(marks); err != nil {
		return w, err
	}
	painted, long, err := c.takePaints()
	if err != nil {
		return w, err
	}
	w.paintLatencies, w.longTasks = latencies(marks, painted), long
	if w.size, err = l.s.size(ctx); err != nil {
		return w, err
	}
	return w, c.openBlank()
}
