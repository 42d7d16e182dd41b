package server

import (
	"context"
	"io"
	"testing"
	"time"

	"mayfly/cmd/mayfly/cli"
)

// A signal ends a command that waits for a password.
func TestHashIsInterrupted(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	in, password := io.Pipe()
	defer password.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- (&usersHashCommand{}).Run(ctx, cli.Streams{In: in, Out: io.Discard, Err: io.Discard})
	}()
	stop(cli.ErrStopped)
	select {
	case err := <-ended:
		if cli.ExitCodeOf(err) != cli.ExitInterrupted {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the command still waits")
	}
}
