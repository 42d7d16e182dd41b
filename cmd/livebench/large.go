package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// largeRun has the flags of `livebench large`.
type largeRun struct {
	entities, messages, tries, visits int
	pages                             []string // pages for Chromium
	trace                             string
}

func largeCommand(f *flag.FlagSet) func(context.Context, options) (*report, error) {
	var l largeRun
	f.IntVar(&l.entities, "entities", 10_000, "queues, topics and subscriptions")
	f.IntVar(&l.messages, "messages", 1_000_000, "messages in them")
	f.IntVar(&l.tries, "tries", 5, "times that each page is asked for; 0: none is")
	f.IntVar(&l.visits, "looked", 100, "pages that Chromium looks at, at most; 0: none")
	pages := f.String("pages", "", "which pages Chromium looks at, separated by commas, such as /n/default; empty: one of most kinds")
	f.StringVar(&l.trace, "trace", "", "a file for what Chromium's threads did, which its tools open")
	return func(ctx context.Context, o options) (*report, error) {
		l.pages = samplePages()
		if *pages != "" {
			l.pages = strings.Split(*pages, ",")
		}
		l.pages = l.pages[:min(len(l.pages), l.visits)]
		return l.run(ctx, o)
	}
}

func (l largeRun) run(ctx context.Context, o options) (*report, error) {
	file := filepath.Join(o.dir, "Config.json")
	queues, err := l.writeConfig(file)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, o, "--config", file, "--limit", fmt.Sprintf("entities=%d", max(10_000, l.entities+10)))
	if err != nil {
		return nil, err
	}
	defer s.stop()
	o.tell("%d entities; %d messages are being sent", l.entities, l.messages)
	began := time.Now()
	if err := l.fill(ctx, s, queues); err != nil {
		return nil, err
	}
	r := &report{}
	r.add("messages sent", "/s", float64(l.messages)/time.Since(began).Seconds())
	z, err := s.size(ctx)
	if err != nil {
		return nil, err
	}
	r.add("server's memory then", "MB", z.Resident)
	traffic := &load{s: s, rate: 500, expiries: 50, backlog: 500}
	if err := traffic.prepare(ctx); err != nil {
		return nil, err
	}
	if l.tries > 0 {
		pages, err := crawl(ctx, s, l.seeds())
		if err != nil {
			return nil, err
		}
		o.tell("%d pages are asked for %d times each", len(pages), l.tries)
		if err := timePages(ctx, s, pages, l.tries, r); err != nil {
			return nil, err
		}
	}
	if len(l.pages) == 0 {
		return r, nil
	}
	o.tell("Chromium looks at pages beside %d messages/s", traffic.rate)
	c, err := browse(ctx, o, lowerPriority, l.trace)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	err = traffic.runDuring(ctx, func(ctx context.Context) error { return l.measurePages(ctx, s, c, r) })
	return r, err
}

// A definition is an entity in the format of the emulator's Config.json.
type definition struct {
	Name          string
	Properties    map[string]any `json:",omitempty"`
	Subscriptions []definition   `json:",omitempty"`
}

// writeConfig writes entities to a file: 70 % are queues, 5 % topics and the rest subscriptions. It
// returns the queues that get messages.
func (l largeRun) writeConfig(file string) (queues []string, err error) {
	var q, t []definition
	for i := range l.entities * 7 / 10 {
		d := definition{Name: fmt.Sprintf("queue-%05d", i)}
		switch {
		case i%50 == 49:
			d.Properties = map[string]any{"AutoDeleteOnIdle": "PT1H"}
		case i%3 == 1:
			d.Properties = map[string]any{"DeadLetteringOnMessageExpiration": true}
		}
		q = append(q, d)
		if d.Properties["AutoDeleteOnIdle"] == nil {
			queues = append(queues, d.Name)
		}
	}
	topics := max(1, l.entities/20)
	left := l.entities - len(q) - topics
	for i := range topics {
		d := definition{Name: fmt.Sprintf("topic-%04d", i)}
		for n := left / (topics - i); n > 0; n-- {
			d.Subscriptions = append(d.Subscriptions, definition{Name: fmt.Sprintf("team-%02d", n)})
			left--
		}
		t = append(t, d)
	}
	b, err := json.Marshal(map[string]any{"UserConfig": map[string]any{"Namespaces": []any{
		map[string]any{"Name": "default", "Queues": q, "Topics": t},
	}}})
	if err != nil {
		return nil, fmt.Errorf("write the entities: %w", err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		return nil, fmt.Errorf("write the entities: %w", err)
	}
	return queues, nil
}

// fill sends the messages: four of ten to the first queue, the rest to the next two hundred. They
// expire between now and two weeks from now.
func (l largeRun) fill(ctx context.Context, s *server, queues []string) error {
	first := l.messages * 4 / 10
	others := queues[1:min(len(queues), 201)]
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	g.Go(func() error { return sendMany(ctx, s, queues[0], first) })
	left := l.messages - first
	for i, q := range others {
		n := left / (len(others) - i)
		left -= n
		g.Go(func() error { return sendMany(ctx, s, q, n) })
	}
	return g.Wait()
}

// sendMany sends n messages with various properties to a queue, in batches.
func sendMany(ctx context.Context, s *server, to string, n int) error {
	k, err := sender(ctx, s, to, nil)
	if err != nil {
		return err
	}
	defer k.close()
	const together = 250
	for i := 0; i < n; i += together {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var all []message
		for j := i; j < min(i+together, n); j++ {
			m := message{
				id: fmt.Sprintf("%s-%d", to, j), subject: [...]string{"order.placed", "order.paid", "quote.given", "invoice.due"}[j%4], ttl: time.Hour + rand.N(14*24*time.Hour),
				body: fmt.Appendf(nil, `{"order":%d,"customer":{"id":%d,"city":"Lisbon"},"total":%d.5,"note":"nothing in particular"}`, j, rand.N(10000), rand.N(500)),
			}
			if j%25 == 24 { // these expire soon, and are dead-lettered in every third queue
				m.ttl = time.Second + rand.N(time.Minute)
			}
			all = append(all, m)
		}
		if err := k.send(all...); err != nil {
			return fmt.Errorf("send to %s: %w", to, err)
		}
	}
	return k.flush()
}

// seeds returns the pages from which a crawl begins: the home page, and pages that are reached only
// by submitting a form.
func (l largeRun) seeds() []string {
	const big = home + "/q/queue-00000"
	return []string{
		home, home + "/queues?q=queue-012", home + "/queues?q=has%3Adlq+dlq%3A%3E10", home + "/queues?q=expiring%3A%3C5m", home + "/queues?q=nothing-like-it",
		home + "/topics?q=team-03", home + "/go?q=queue-012", home + "/go?q=q", home + "/go", home + "/search?q=subject%3Aorder.paid", home + "/search?q=nowhere",
		big, big + "?sort=ttl&dir=desc", big + "?sort=ttl&filter=subject%3Aorder.paid", big + "?filter=json.customer.id%3A17", big + "?from=200000",
		home + "/activity?scope=all&q=order", home + "/q/queue-00001?tab=dead-letter", home + "/lab?topic=topic-0001",
		big + "?column=seq&column=json.customer.city&column=ttl&column=enqueued",
	}
}
