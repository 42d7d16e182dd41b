// Command brokerbench measures Mayfly, RabbitMQ and NATS JetStream with the same work in one run,
// so that their figures can be compared: on one machine, with one client at a time, in alternating
// rounds.
//
//	go -C cmd/brokerbench run . -mayfly PATH [-rabbitmq PATH] [-rounds 3] [-secs 4]
//
// It is a separate module, so that Mayfly does not depend on the other brokers' clients. It starts
// every broker as a process, on free loopback ports and with its data in a temporary folder, and
// ends it. A life is a message of 1 KiB that was sent, confirmed, received and acknowledged. The
// work:
//
//   - throughput: one producer and one consumer, each with its own connection, a window of
//     unconfirmed messages, the same window of unacknowledged ones, and a separate
//     acknowledgement for every message
//   - latency: the same at a steady rate
//   - idle: connections with one receiving link each, Mayfly only
//
// The meaning of a confirmation differs, and is printed with the figures: RabbitMQ's classic and
// quorum queues and Mayfly flush to disk before they confirm, JetStream only on request.
//
// Mayfly's client is a lean one, based on the package with which the server decodes frames; the
// other brokers have their own Go clients. -client go-amqp instead measures Mayfly with the client
// below Azure's SDK, which uses as much processor time as the server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"
)

type options struct {
	mayfly, rabbitmq string
	only             string
	rounds           int
	secs             time.Duration
	windows          []int
	rate             int
	idle             int
	client           string
}

func main() {
	var o options
	var windows string
	flag.StringVar(&o.mayfly, "mayfly", "", "the program to measure; empty: it is built")
	flag.StringVar(&o.rabbitmq, "rabbitmq", "/usr/lib/rabbitmq/bin/rabbitmq-server", "the script that starts RabbitMQ; it is left out if that is absent")
	flag.StringVar(&o.only, "only", "", "names of contestants, with commas between; empty: all")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds")
	flag.DurationVar(&o.secs, "secs", 4*time.Second, "how long each measurement lasts")
	flag.StringVar(&windows, "window", "64,256", "windows for throughput")
	flag.IntVar(&o.rate, "rate", 1000, "messages a second for latency; 0: not measured")
	flag.IntVar(&o.idle, "idle", 1000, "idle connections; 0: not measured")
	flag.StringVar(&o.client, "client", "lean", "Mayfly's client: lean or go-amqp")
	serve := flag.String("serve-nats", "", "internal: be a JetStream server with its data in this folder")
	sync := flag.Bool("sync", false, "internal: flush before confirming")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *serve != "" {
		exit(serveNATS(ctx, *serve, *sync))
		return
	}
	for _, w := range strings.Split(windows, ",") {
		var n int
		if _, err := fmt.Sscan(w, &n); err != nil || n < 1 {
			exit(fmt.Errorf("-window %q: %w", windows, errors.Join(err, errors.New("want numbers"))))
		}
		o.windows = append(o.windows, n)
	}
	exit(run(ctx, o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "brokerbench:", err)
		os.Exit(1)
	}
}

// run measures all brokers and prints one table.
func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "brokerbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, err := contestants(ctx, o, dir)
	if err != nil {
		return err
	}
	res := results{}
	for round := range o.rounds {
		for _, c := range all {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := visit(ctx, o, c, round, res); err != nil {
				return fmt.Errorf("%s, round %d: %w", c.name, round+1, err)
			}
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	res.print(w, all, o)
	return w.Flush()
}

// visit measures one broker in one round and adds the figures to res.
func visit(ctx context.Context, o options, c *contestant, round int, res results) error {
	if o.idle > 0 && c.idle {
		if err := idleVisit(ctx, o, c, res); err != nil {
			return err
		}
	}
	s, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, window := range o.windows {
		lives, cpu, err := throughput(ctx, s, window, o.secs)
		if err != nil {
			return err
		}
		res.add(c.name, fmt.Sprintf("lives/s w=%d", window), lives)
		res.add(c.name, fmt.Sprintf("CPU µs w=%d", window), cpu)
		fmt.Fprintf(os.Stderr, "%s, round %d: %.0f lives/s at %d, %.1f µs of server's CPU each\n", c.name, round+1, lives, window, cpu)
	}
	if o.rate > 0 {
		p50, p99, err := latency(ctx, s, o.rate, o.secs)
		if err != nil {
			return err
		}
		res.add(c.name, "p50 ms", p50)
		res.add(c.name, "p99 ms", p99)
		fmt.Fprintf(os.Stderr, "%s, round %d: %.2f ms p50, %.2f ms p99 at %d/s\n", c.name, round+1, p50, p99, o.rate)
	}
	return nil
}

// idleVisit measures idle connections on a new server.
func idleVisit(ctx context.Context, o options, c *contestant, res results) error {
	s, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	kb, err := idle(ctx, s, o.idle)
	if err == nil {
		res.add(c.name, idleFigure, kb)
	}
	return err
}

const idleFigure = "KB per idle connection"
