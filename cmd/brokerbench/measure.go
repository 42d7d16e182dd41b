package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A client is a producer and a consumer of one queue, each with its own connection.
type client interface {
	// publish sends body, which it may keep. The client calls handlers.confirmed when the broker
	// has confirmed the message, in the order of sending.
	publish(body []byte) error
	// settled returns how many messages were acknowledged so far, as far as the broker reports
	// that.
	settled() int64
	close() error
}

// handlers are the callbacks of a client.
type handlers struct {
	confirmed func(n int)       // n more messages were confirmed
	received  func(body []byte) // called before the acknowledgement
	failed    func(error)
}

const bodySize = 1024

// patience is how long a broker may take to finish all messages.
const patience = 30 * time.Second

// throughput sends for the duration `lasting`, with up to `window` unconfirmed messages, and
// returns lives per second and the server's CPU time per life in microseconds.
func throughput(ctx context.Context, s *server, window int, lasting time.Duration) (lives, cpu float64, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	slots := make(chan struct{}, window)
	var received atomic.Int64
	c, err := s.dial(ctx, window, handlers{
		confirmed: func(n int) {
			for range n {
				<-slots
			}
		},
		received: func([]byte) { received.Add(1) },
		failed:   fail,
	})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	time.Sleep(300 * time.Millisecond) // until the consumer is attached
	before, began := s.cpu(), time.Now()
	var sent int64
	for time.Since(began) < lasting {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return 0, 0, context.Cause(ctx)
		}
		if err := c.publish(make([]byte, bodySize)); err != nil {
			return 0, 0, errors.Join(err, context.Cause(ctx))
		}
		sent++
	}
	if err := until(ctx, func() bool { return received.Load() >= sent && c.settled() >= sent }); err != nil {
		return 0, 0, fmt.Errorf("%d sent, %d received, %d acknowledged: %w", sent, received.Load(), c.settled(), err)
	}
	took := time.Since(began)
	return float64(sent) / took.Seconds(), (s.cpu() - before).Seconds() * 1e6 / float64(sent), nil
}

func until(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !done() {
		select {
		case <-time.After(500 * time.Microsecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// latency sends `rate` messages per second for the duration `lasting`, and returns percentiles of
// the time from sending to receiving, in milliseconds.
func latency(ctx context.Context, s *server, rate int, lasting time.Duration) (p50, p99 float64, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	began := time.Now()
	var mu sync.Mutex
	var took []time.Duration
	c, err := s.dial(ctx, 256, handlers{
		confirmed: func(int) {},
		received: func(b []byte) {
			d := time.Since(began) - time.Duration(binary.LittleEndian.Uint64(b))
			mu.Lock()
			took = append(took, d)
			mu.Unlock()
		},
		failed: fail,
	})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	time.Sleep(300 * time.Millisecond)
	first, step := time.Since(began), time.Second/time.Duration(rate)
	total := int(lasting / step)
	for i := range total {
		time.Sleep(first + time.Duration(i)*step - time.Since(began))
		b := make([]byte, bodySize)
		binary.LittleEndian.PutUint64(b, uint64(time.Since(began)))
		if err := c.publish(b); err != nil {
			return 0, 0, err
		}
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(took)
	}
	if err := until(ctx, func() bool { return count() >= total }); err != nil {
		return 0, 0, err
	}
	slices.Sort(took)
	at := func(p float64) float64 { return took[int(p*float64(len(took)-1))].Seconds() * 1e3 }
	return at(.5), at(.99), nil
}

// idle opens n connections with a receiver each, and returns the server's additional resident
// memory per connection, in kilobytes.
func idle(ctx context.Context, s *server, n int) (kb float64, err error) {
	before := s.resident()
	var all []io.Closer
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.Close())
		}
	}()
	for range n {
		c, err := s.attach(ctx)
		if err != nil {
			return 0, err
		}
		all = append(all, c)
	}
	time.Sleep(2 * time.Second) // until temporary memory is returned
	return float64(s.resident()-before) / 1024 / float64(n), nil
}
