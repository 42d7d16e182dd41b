// Command mayfly is the broker, and its own client.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the process
		<-signals
		stop(errStopped)
		<-signals
		os.Exit(exitInterrupted)
	}()
	os.Exit(execute(ctx, os.Args[1:], os.Environ(), streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, terminal: terminalOf(os.Stdout, os.Stderr)}))
}

// errStopped is the cause of a context that a signal ended.
var errStopped = errors.New("stopped by a signal")
