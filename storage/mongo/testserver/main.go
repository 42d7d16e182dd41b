// Testserver is a server that speaks MongoDB's protocol, for tests: FerretDB on SQLite files
// in a temporary directory, which is removed when it ends. It listens on a free port of the
// loopback interface, prints its URL as the first line of its standard output, and ends when
// its standard input does, so that it never outlives the process that started it.
//
// It is a module of its own, so that neither the product nor its tests depend on FerretDB's
// dependencies.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "testserver:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	// An interrupt at a terminal goes to the whole process group. The parent ends by it and
	// closes the standard input, which leaves time to clean up.
	signal.Ignore(os.Interrupt)

	dir, err := os.MkdirTemp("", "mayfly-mongo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	server, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:  "sqlite",
		// A directory, which FerretDB recognises by the trailing slash. Nothing in it outlives
		// the server, so nothing is flushed.
		SQLiteURL: "file:" + filepath.ToSlash(dir) + "/?_pragma=synchronous(off)",
	})
	if err != nil {
		return fmt.Errorf("start FerretDB: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()

	if _, err := fmt.Println(server.MongoDBURI()); err != nil {
		return err
	}
	parent := make(chan struct{})
	go func() {
		defer close(parent)
		_, _ = io.Copy(io.Discard, os.Stdin) //nolint:errcheck // any end will do
	}()
	select {
	case err := <-ended:
		return err
	case <-parent:
	}
	stop()
	select {
	case err := <-ended:
		return err
	case <-time.After(2 * time.Second): // a client keeps its connection open, but reads no files any more
		return nil
	}
}
