package route_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/route"
)

// BenchmarkLarge makes and renders pages of a namespace with 10,000 entities and 120,000
// messages. A page should take 200 ms at most.
func BenchmarkLarge(b *testing.B) {
	logger := slog.New(slog.DiscardHandler)
	limits := engine.DefaultLimits()
	limits.BatchSize = 1 << 30
	br, err := broker.Open(b.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, broker.Options{Logger: logger, Limits: &limits})
	if err != nil {
		b.Fatal(err)
	}
	pages := route.Start(br, pages.Options{REST: "http://127.0.0.1:5300", Build: "test", Logger: logger})
	b.Cleanup(func() {
		pages.Close()
		if err := br.Close(); err != nil {
			b.Error(err)
		}
	})
	many(b, br)
	const n = "/n/default"
	for _, at := range []struct{ name, path string }{
		{"overview", n}, {"expirations", n + "/expirations"}, {"queues", n + "/queues"}, {"queues-filtered", n + "/queues?q=dlq%3A%3E10"},
		{"topics", n + "/topics"}, {"temporary", n + "/temporary"}, {"palette", n + "/go?q=queue-012"}, {"metrics", n + "/metrics"},
		{"queue", n + "/q/queue-0000"}, {"queue-last", n + "/q/queue-0000?from=119000"}, {"by-size", n + "/q/queue-0000?sort=size"}, {"by-subject", n + "/q/queue-0000?sort=message&dir=desc"},
	} {
		b.Run(at.name, func(b *testing.B) {
			for b.Loop() {
				p, _, err := pages.Open(view.WithFrozenClocks(b.Context()), at.path)
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Full().Render(b.Context(), io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// many creates the entities: seven in ten are queues, one in fifty of these with automatic
// deletion.
func many(b *testing.B, br *broker.Broker) {
	create := func(kind engine.EntityKind, path engine.Path, c engine.Config) {
		if _, err := br.Create(b.Context(), kind, path, c, "test"); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 7000 {
		c := engine.Config{MaxSizeInMegabytes: 5120}
		if i%50 == 49 {
			c.AutoDeleteOnIdle = time.Hour
		}
		create(engine.Queue, engine.Path(fmt.Sprintf("queue-%04d", i)), c)
	}
	for i := range 500 {
		topic := engine.Path(fmt.Sprintf("topic-%03d", i))
		create(engine.Topic, topic, engine.Config{})
		for j := range 5 {
			create(engine.Subscription, topic+engine.Path(fmt.Sprintf("/subscriptions/team-%d", j)), engine.Config{})
		}
	}
	for i := 0; i < 120_000; i += 1000 {
		var out []broker.Outgoing
		for j := range 1000 {
			k := i + j
			out = append(out, broker.Outgoing{
				Content: engine.Content{Subject: fmt.Sprintf("order %d", k*7919%120_000), MessageID: fmt.Sprint(k), TTL: time.Hour + time.Duration(k*104_729%1_000_000)*time.Second},
				Body:    make([]byte, k%700),
			})
		}
		if _, err := br.Send(b.Context(), "queue-0000", out, "test"); err != nil {
			b.Fatal(err)
		}
	}
}
