package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// startMayfly starts a server with one queue, on a file in dir, or in memory if dir is empty.
func startMayfly(ctx context.Context, o options, dir string) (*server, error) {
	store, after := "memory:", func() {}
	if dir != "" {
		data, err := os.MkdirTemp(dir, "mayfly")
		if err != nil {
			return nil, err
		}
		store, after = "sqlite:"+filepath.Join(data, "mayfly.db"), func() { os.RemoveAll(data) }
	}
	cmd, out, err := command(ctx, nil, o.mayfly, "serve", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--amqp", "127.0.0.1:0",
		"--store", store, "--ready-json", "--log-level", "warn")
	if err != nil {
		return nil, err
	}
	var ready struct{ Dashboard, AMQP string }
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		return nil, fmt.Errorf("Mayfly does not start: %w", err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	s := &server{
		cmd: cmd, pid: cmd.Process.Pid, after: after,
		dial: func(_ context.Context, window int, h handlers) (client, error) {
			return dialLean(ready.AMQP, window, h)
		},
		attach: func(context.Context) (io.Closer, error) {
			c, err := dialConn(ready.AMQP, func(error) {})
			if err != nil {
				return nil, err
			}
			return c, c.receive(100)
		},
	}
	if o.client == "go-amqp" {
		s.dial = func(ctx context.Context, window int, h handlers) (client, error) {
			return dialPeer(ctx, ready.AMQP, window, h)
		}
	}
	r, err := http.Post(ready.Dashboard+"/api/v1/entities", "application/json", strings.NewReader(`{"kind":"queue","path":"q"}`)) //nolint:noctx // it ends with the server
	if err == nil {
		_ = r.Body.Close()
		if r.StatusCode != http.StatusCreated {
			err = fmt.Errorf("creating the queue: %s", r.Status)
		}
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}
