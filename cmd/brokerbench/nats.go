package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// serveNATS runs a JetStream server with its data in dir until ctx ends, and prints its address. With
// sync, it flushes to disk before it confirms.
func serveNATS(ctx context.Context, dir string, sync bool) error {
	s, err := natsd.NewServer(&natsd.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir, SyncAlways: sync, NoSigs: true, NoLog: true})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		return errors.New("the NATS server does not start")
	}
	fmt.Println(s.ClientURL())
	<-ctx.Done()
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

func startNATS(ctx context.Context, dir string, flags ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp(dir, "nats")
	if err != nil {
		return nil, err
	}
	cmd, out, err := command(ctx, nil, self, append([]string{"-serve-nats", filepath.Clean(data)}, flags...)...)
	if err != nil {
		return nil, err
	}
	var url string
	if _, err := fmt.Fscanln(out, &url); err != nil {
		return nil, err
	}
	return &server{
		cmd: cmd, pid: cmd.Process.Pid, after: func() { os.RemoveAll(data) },
		dial: func(ctx context.Context, window int, h handlers) (client, error) {
			return dialNATS(ctx, url, window, h)
		},
	}, nil
}

type natsClient struct {
	out, in  *nats.Conn
	js       jetstream.JetStream
	consume  jetstream.ConsumeContext
	waiting  chan jetstream.PubAckFuture
	stopped  chan struct{}
	finished atomic.Int64
}

func dialNATS(ctx context.Context, url string, window int, h handlers) (_ *natsClient, err error) {
	c := &natsClient{waiting: make(chan jetstream.PubAckFuture, 1<<16), stopped: make(chan struct{})}
	if c.out, err = nats.Connect(url); err != nil {
		return nil, err
	}
	if c.in, err = nats.Connect(url); err != nil {
		return nil, err
	}
	if c.js, err = jetstream.New(c.out, jetstream.WithPublishAsyncMaxPending(1<<16)); err != nil {
		return nil, err
	}
	receiving, err := jetstream.New(c.in)
	if err != nil {
		return nil, err
	}
	_ = receiving.DeleteStream(ctx, "S")
	stream, err := receiving.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage})
	if err != nil {
		return nil, err
	}
	consumer, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: window})
	if err != nil {
		return nil, err
	}
	c.consume, err = consumer.Consume(func(m jetstream.Msg) {
		h.received(m.Data())
		if err := m.Ack(); err != nil {
			h.failed(err)
		}
		c.finished.Add(1)
	}, jetstream.PullMaxMessages(window))
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(c.stopped)
		for f := range c.waiting {
			select {
			case <-f.Ok():
				h.confirmed(1)
			case err := <-f.Err():
				h.failed(err)
			}
		}
	}()
	return c, nil
}

func (c *natsClient) publish(body []byte) error {
	for {
		f, err := c.js.PublishAsync("s", body)
		if errors.Is(err, jetstream.ErrTooManyStalledMsgs) {
			time.Sleep(time.Millisecond)
			continue
		}
		if err == nil {
			c.waiting <- f
		}
		return err
	}
}

func (c *natsClient) settled() int64 { return c.finished.Load() }

func (c *natsClient) close() error {
	close(c.waiting)
	<-c.stopped
	c.consume.Stop()
	c.in.Close()
	c.out.Close()
	return nil
}
