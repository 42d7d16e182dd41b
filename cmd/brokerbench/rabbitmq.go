package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// startRabbitMQ starts a node. Erlang leaves a small port mapper (epmd) behind, which the caller
// has to end.
func startRabbitMQ(ctx context.Context, script, dir, kind string) (*server, error) {
	data, err := os.MkdirTemp(dir, "rabbitmq")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	distribution, err := freePort()
	if err != nil {
		return nil, err
	}
	at := func(name string) string { return filepath.Join(data, name) }
	if err := errors.Join(
		os.Mkdir(at("log"), 0o700),
		os.WriteFile(at("none"), nil, 0o600),
		os.WriteFile(at("rabbitmq.conf"), fmt.Appendf(nil, "listeners.tcp.default = 127.0.0.1:%d\n", port), 0o600),
		os.WriteFile(at("enabled_plugins"), []byte("[].\n"), 0o600),
	); err != nil {
		return nil, err
	}
	mapper, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd, _, err := command(ctx, []string{
		"HOME=" + data, "ERL_EPMD_ADDRESS=127.0.0.1", fmt.Sprint("ERL_EPMD_PORT=", mapper),
		"RABBITMQ_NODENAME=bench@localhost", fmt.Sprint("RABBITMQ_NODE_PORT=", port), fmt.Sprint("RABBITMQ_DIST_PORT=", distribution),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
		"RABBITMQ_MNESIA_BASE=" + at("mnesia"), "RABBITMQ_LOG_BASE=" + at("log"), "RABBITMQ_CONFIG_FILE=" + at("rabbitmq.conf"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + at("enabled_plugins"), "RABBITMQ_PID_FILE=" + at("pid"), "RABBITMQ_CONF_ENV_FILE=" + at("none"),
		"RABBITMQ_GENERATED_CONFIG_DIR=" + at("gen"), "RABBITMQ_FEATURE_FLAGS_FILE=" + at("flags"), "RABBITMQ_QUORUM_DIR=" + at("quorum"),
		"RABBITMQ_STREAM_DIR=" + at("stream"),
	}, script)
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", port)
	var pid int
	err = until(ctx, func() bool {
		b, err := os.ReadFile(at("pid"))
		if err != nil {
			return false
		}
		if pid, err = strconv.Atoi(strings.TrimSpace(string(bytes.TrimSpace(b)))); err != nil {
			return false
		}
		c, err := amqp091.Dial(url)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("RabbitMQ does not start: %w", err)
	}
	return &server{
		cmd: cmd, pid: pid, after: func() { os.RemoveAll(data) },
		dial: func(_ context.Context, window int, h handlers) (client, error) {
			return dialRabbitMQ(url, kind, window, h)
		},
	}, nil
}

type rabbitClient struct {
	out, in  *amqp091.Connection
	channel  *amqp091.Channel
	finished atomic.Int64
}

func dialRabbitMQ(url, kind string, window int, h handlers) (_ *rabbitClient, err error) {
	c := &rabbitClient{}
	if c.out, err = amqp091.Dial(url); err != nil {
		return nil, err
	}
	if c.in, err = amqp091.Dial(url); err != nil {
		return nil, err
	}
	if c.channel, err = c.out.Channel(); err != nil {
		return nil, err
	}
	receiving, err := c.in.Channel()
	if err != nil {
		return nil, err
	}
	if _, err := receiving.QueueDelete("q", false, false, false); err != nil {
		return nil, err
	}
	if _, err := receiving.QueueDeclare("q", true, false, false, false, amqp091.Table{"x-queue-type": kind}); err != nil {
		return nil, err
	}
	if err := errors.Join(c.channel.Confirm(false), receiving.Qos(window, 0, false)); err != nil {
		return nil, err
	}
	deliveries, err := receiving.Consume("q", "", false, false, false, false, nil)
	if err != nil {
		return nil, err
	}
	go func() {
		for d := range deliveries {
			h.received(d.Body)
			if err := d.Ack(false); err != nil {
				h.failed(err)
			}
			c.finished.Add(1)
		}
	}()
	confirms := c.channel.NotifyPublish(make(chan amqp091.Confirmation, 1<<16))
	go func() {
		for x := range confirms {
			if !x.Ack {
				h.failed(errors.New("a message was not confirmed"))
			}
			h.confirmed(1)
		}
	}()
	return c, nil
}

func (c *rabbitClient) publish(body []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return c.channel.PublishWithContext(ctx, "", "q", false, false, amqp091.Publishing{DeliveryMode: amqp091.Persistent, Body: body})
}

func (c *rabbitClient) settled() int64 { return c.finished.Load() }

func (c *rabbitClient) close() error { return errors.Join(c.in.Close(), c.out.Close()) }
