package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/Azure/go-amqp"
)

// A peer is a client of Mayfly that uses the client below Azure's SDK for Go.
type peer struct {
	out, in  *amqp.Conn
	sender   *amqp.Sender
	waiting  chan amqp.SendReceipt
	work     sync.WaitGroup
	stop     context.CancelFunc
	ctx      context.Context
	finished atomic.Int64
}

func dialPeer(ctx context.Context, address string, window int, h handlers) (_ *peer, err error) {
	c := &peer{waiting: make(chan amqp.SendReceipt, 1<<16)}
	c.ctx, c.stop = context.WithCancel(ctx)
	if c.out, err = amqp.Dial(ctx, "amqp://"+address, nil); err != nil {
		return nil, err
	}
	if c.in, err = amqp.Dial(ctx, "amqp://"+address, nil); err != nil {
		return nil, err
	}
	sending, err := c.out.NewSession(ctx, nil)
	if err != nil {
		return nil, err
	}
	if c.sender, err = sending.NewSender(ctx, "q", nil); err != nil {
		return nil, err
	}
	receiving, err := c.in.NewSession(ctx, nil)
	if err != nil {
		return nil, err
	}
	receiver, err := receiving.NewReceiver(ctx, "q", &amqp.ReceiverOptions{Credit: int32(window), SettlementMode: amqp.ReceiverSettleModeSecond.Ptr()})
	if err != nil {
		return nil, err
	}
	c.work.Go(func() {
		for r := range c.waiting {
			if _, err := r.Wait(c.ctx); err != nil {
				h.failed(err)
			}
			h.confirmed(1)
		}
	})
	fail := func(err error) {
		if c.ctx.Err() == nil {
			h.failed(err)
		}
	}
	for range min(window, 64) { // an acknowledgement waits for the server's response
		c.work.Go(func() {
			for {
				m, err := receiver.Receive(c.ctx, nil)
				if err != nil {
					fail(err)
					return
				}
				h.received(m.GetData())
				if err := receiver.AcceptMessage(c.ctx, m); err != nil {
					fail(err)
					return
				}
				c.finished.Add(1)
			}
		})
	}
	return c, nil
}

func (c *peer) publish(body []byte) error {
	r, err := c.sender.SendWithReceipt(c.ctx, amqp.NewMessage(body), nil)
	if err == nil {
		c.waiting <- r
	}
	return err
}

func (c *peer) settled() int64 { return c.finished.Load() }

func (c *peer) close() error {
	c.stop()
	close(c.waiting)
	c.work.Wait()
	return errors.Join(c.in.Close(), c.out.Close())
}
