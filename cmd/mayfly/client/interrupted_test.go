package client

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mayfly/cmd/mayfly/cli"
)

// A signal ends commands that wait for confirmation or standard input.
func TestWaitingForInputIsInterrupted(t *testing.T) {
	for name, run := range map[string]func(context.Context, cli.Streams) error{
		"asked": func(ctx context.Context, s cli.Streams) error {
			return confirm(ctx, s, "3", "permanently deletes 3 messages")
		},
		"send": (&sendCommand{Entity: "q", Count: 1, client: client{Server: "http://127.0.0.1:1"}}).Run,
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		in, lines := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, cli.Streams{In: in, Out: io.Discard, Err: io.Discard}) }()
		stop(cli.ErrStopped)
		select {
		case err := <-ended:
			if cli.ExitCodeOf(err) != cli.ExitInterrupted {
				t.Errorf("%s: it ended with %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: it still waits", name)
		}
		lines.Close()
	}
}

// A signal ends an import that waits for lines.
func TestImportIsInterrupted(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	from := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.ReadFull(r.Body, make([]byte, 2)) //nolint:errcheck // the client has sent that much
		stop(cli.ErrStopped)
		io.Copy(io.Discard, r.Body) //nolint:errcheck // the client disconnects
	}))
	defer from.Close()
	in, lines := io.Pipe()
	defer lines.Close()
	go io.WriteString(lines, "{}") //nolint:errcheck // a writer that pauses
	ended := make(chan error, 1)
	go func() {
		ended <- (&importCommand{client: client{Server: from.URL}, Entity: "q"}).Run(ctx, cli.Streams{In: in})
	}()
	select {
	case err := <-ended:
		if cli.ExitCodeOf(err) != cli.ExitInterrupted {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it still waits")
	}
}
