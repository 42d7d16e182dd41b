package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Main runs the command line of this process and exits. The first signal cancels the command,
// the second ends the process.
func Main(all []Command) {
	ctx, stop := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the process
		<-signals
		stop(ErrStopped)
		<-signals
		os.Exit(ExitInterrupted)
	}()
	os.Exit(Execute(ctx, all, os.Args[1:], os.Environ(), Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Terminal: terminalOf(os.Stdout, os.Stderr)}))
}

// ErrStopped is the cause of a context that a signal cancelled.
var ErrStopped = errors.New("stopped by a signal")

// Commands returns the commands of the groups, and completion.
func Commands(groups ...[]Command) []Command {
	return append(slices.Concat(groups...), describeCompletion())
}
