package client

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/api"
)

// A nearby is a broker's API without a network, for synctest bubbles.
type nearby struct {
	broker *broker.Broker
	api    http.Handler

	mu   sync.Mutex
	away error // guarded by mu
}

// near opens a broker on a store in memory, until the test ends.
func near(t *testing.T) *nearby {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, broker.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	e := echo.New()
	e.HTTPErrorHandler = api.Mount(e.Group("/api/v1"), api.Options{Broker: b, Logger: log})
	return &nearby{broker: b, api: e}
}

func (n *nearby) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	away := n.away
	n.mu.Unlock()
	if away != nil {
		return nil, away
	}
	w := httptest.NewRecorder()
	n.api.ServeHTTP(w, r)
	return w.Result(), nil
}

func (n *nearby) leave(why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.away = why
}

// client returns a client of the API.
func (n *nearby) client() client { return client{Server: "http://127.0.0.1:8080", transport: n} }

// does sends an API request, and fails the test unless it succeeds.
func (n *nearby) does(t *testing.T, method, path string, in any) {
	t.Helper()
	if _, err := n.client().request(t.Context(), method, "/api/v1"+path, in, nil, 0); err != nil {
		t.Fatal(err)
	}
}

// shop returns a broker with queues, a topic, and messages in every state.
func shop(t *testing.T) *nearby {
	n := near(t)
	for _, e := range []api.NewEntity{
		{Kind: "queue", Path: "orders", Properties: map[string]json.RawMessage{"DeadLetteringOnMessageExpiration": json.RawMessage("true")}},
		{Kind: "queue", Path: "mail"}, {Kind: "topic", Path: "prices"}, {Kind: "subscription", Path: "prices/Subscriptions/dear"},
	} {
		n.does(t, http.MethodPost, "/entities", e)
	}
	n.does(t, http.MethodPost, "/send/orders", []api.Outgoing{
		{MessageID: "o-1", TimeToLive: "8s"}, {MessageID: "o-2", TimeToLive: "50s"}, {MessageID: "o-3", TimeToLive: "3h"}, {MessageID: "o-4"},
	})
	n.does(t, http.MethodPost, "/send/mail", []api.Outgoing{{MessageID: "m-1", TimeToLive: "2s"}, {MessageID: "m-2"}})
	n.does(t, http.MethodPost, "/send/prices", api.Outgoing{MessageID: "p-1", TimeToLive: "30d", Subject: "eur\x1b[31m"})
	return n
}

// A tape is a terminal that records its output.
type tape struct {
	mu             sync.Mutex
	frames         []string // guarded by mu
	columns, lines int      // guarded by mu
}

func (p *tape) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames = append(p.frames, string(b))
	return len(b), nil
}

func (p *tape) size() (columns, lines int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.columns, p.lines
}

func (p *tape) resize(columns, lines int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.columns, p.lines = columns, lines
}

func (p *tape) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.frames...)
}

// TestWatchFrames compares what watch draws, at several times and terminal sizes, with a file in
// testdata, and checks that it fits into the terminal.
func TestWatchFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := shop(t)
		c := &watchCommand{client: n.client(), zone: time.UTC}
		var b strings.Builder
		var seen pollResult
		for _, of := range []struct {
			after          time.Duration
			entity         string
			columns, lines int
		}{{0, "", 80, 24}, {3 * time.Second, "", 80, 24}, {6 * time.Second, "", 120, 40}, {0, "prices", 60, 20}, {0, "", 40, 9}} {
			time.Sleep(of.after)
			c.Entity = of.entity
			var err error
			if seen, err = c.poll(t.Context(), seen); err != nil {
				t.Fatal(err)
			}
			frame := watchFrame{pollResult: seen, zone: time.UTC, columns: of.columns, lines: of.lines}
			fmt.Fprintf(&b, "---- %d × %d, %s\n%s", of.columns, of.lines, of.entity, frame.text())
			picture := frame.frameLines()
			if len(picture) > of.lines {
				t.Errorf("%d lines do not fit into %d", len(picture), of.lines)
			}
			for _, l := range picture {
				if n := len([]rune(l.text)); n > of.columns || strings.ContainsAny(l.text, "\x1b\n\r") {
					t.Errorf("of %d columns: %q", of.columns, l.text)
				}
			}
		}
		golden(t, "watch/frames.txt", b.String())
	})
}

// On a terminal, watch uses the alternate screen, writes only changes, adapts to a new size, waits
// for an unreachable server, and restores the former screen.
func TestWatchOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := near(t)
		n.does(t, http.MethodPost, "/entities", api.NewEntity{Kind: "queue", Path: "orders"})
		p := &tape{columns: 80, lines: 24}
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		c := &watchCommand{client: n.client(), zone: time.UTC}
		go func() {
			ended <- c.Run(ctx, cli.Streams{Out: p, Err: p, Terminal: cli.Terminal{Out: true, Colours: true, Size: p.size}})
		}()
		time.Sleep(3*time.Second + time.Millisecond)
		frames := p.all()
		if frames[0] != enterScreen || len(frames) > 5 || !strings.Contains(frames[1], "\x1b[1mMayfly") {
			t.Fatalf("got %q", frames)
		}
		for _, f := range frames[1:] {
			if strings.Contains(f, "\x1b[2J") || !strings.HasPrefix(f, beginFrame) || !strings.HasSuffix(f, endFrame) {
				t.Errorf("a frame clears the screen, or is not written as a whole: %q", f)
			}
		}
		p.resize(30, 5)
		time.Sleep(resizeCheckInterval)
		if last := p.all(); strings.Count(last[len(last)-1], "\r\n") != 4 {
			t.Errorf("at 5 lines: %q", last[len(last)-1])
		}
		p.resize(100, 24)
		n.leave(fmt.Errorf("it is away"))
		time.Sleep(2 * time.Second)
		if last := p.all(); !strings.Contains(last[len(last)-1], "http://127.0.0.1:8080 does not answer: it is away; trying again") {
			t.Errorf("got %q", last[len(last)-1])
		}
		n.leave(nil)
		time.Sleep(2 * time.Second)
		if last := p.all(); strings.Contains(last[len(last)-1], "trying again") {
			t.Errorf("got %q", last[len(last)-1])
		}
		stop(cli.ErrStopped)
		if err := <-ended; cli.ExitCodeOf(err) != cli.ExitInterrupted {
			t.Errorf("it ended with %v", err)
		}
		if last := p.all(); last[len(last)-1] != leaveScreen {
			t.Errorf("the last write does not leave the screen: %q", last[len(last)-1])
		}
	})
}

func TestWatchWithoutColours(t *testing.T) {
	f := watchFrame{columns: 80, lines: 24, zone: time.UTC}
	if s := f.screen(); strings.Contains(s, "\x1b[1m") {
		t.Errorf("got %q", s)
	}
	if f.colours = true; !strings.Contains(f.screen(), "\x1b[1m") {
		t.Error("no colours were written")
	}
}

// If its output is a pipe, watch writes one line per change or event, each once, oldest first.
func TestWatchPlain(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n := shop(t)
			var out, said bytes.Buffer
			ctx, stop := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			c := &watchCommand{client: n.client(), zone: time.UTC}
			c.JSON = asJSON
			go func() { ended <- c.Run(ctx, cli.Streams{Out: &out, Err: &said}) }()
			time.Sleep(9500 * time.Millisecond)
			n.leave(fmt.Errorf("it is away"))
			time.Sleep(3 * time.Second)
			n.leave(nil)
			n.does(t, http.MethodPost, "/send/mail", api.Outgoing{MessageID: "m-3"})
			time.Sleep(1500 * time.Millisecond)
			stop(cli.ErrStopped)
			if err := <-ended; cli.ExitCodeOf(err) != cli.ExitInterrupted {
				t.Errorf("it ended with %v", err)
			}
			if asJSON {
				if got := strings.Count(out.String(), "\n"); got != 3 || strings.Count(out.String(), `{"at":`) != got {
					t.Errorf("got %q", &out)
				}
				return
			}
			golden(t, "watch/plain.txt", out.String()+"---- on standard error\n"+said.String())
		})
	}
}

func TestWatchWhatIsNotThere(t *testing.T) {
	n := near(t)
	for entity, want := range map[string]int{"nowhere": cli.ExitNotFound, "a//b": cli.ExitRefused} {
		c := &watchCommand{client: n.client(), Entity: entity}
		if err := c.Run(t.Context(), cli.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}); err == nil || cli.ExitCodeOf(err) != want {
			t.Errorf("%s: got %v", entity, err)
		}
	}
	n.leave(fmt.Errorf("it is away"))
	c := &watchCommand{client: n.client()}
	if err := c.Run(t.Context(), cli.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}); err == nil || cli.ExitCodeOf(err) != cli.ExitUnreachable {
		t.Errorf("got %v", err)
	}
}

func TestNewer(t *testing.T) {
	at := func(numbers ...uint64) (all []event) {
		for _, n := range numbers {
			var e event
			e.Epoch, e.N = n/10, n%10
			all = append(all, e)
		}
		return all
	}
	for _, tc := range []struct {
		now, before []event
		want        int
	}{
		{at(13, 12, 11), at(12, 11), 1}, {at(21, 13), at(13), 1}, {at(13), at(13), 0}, {at(13, 12), nil, 2}, {nil, at(3), 0}, {at(13, 11), at(12), 1},
	} {
		if got, lost := eventsAfter(tc.now, tc.before); len(got) != tc.want || lost {
			t.Errorf("%v after %v: got %d, lost %v", tc.now, tc.before, len(got), lost)
		}
	}
	many := make([]event, maxPolledEvents)
	for i := range many {
		many[i].N = uint64(9_000 - i)
	}
	if _, lost := eventsAfter(many, at(1)); !lost {
		t.Error("missed events are not reported")
	}
}

var update = flag.Bool("update", false, "write what watch shows to testdata")

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, -want +got:\n%s\nIf this change is intended, run: go test ./cmd/mayfly/client -run %s -update", file, diff, t.Name())
	}
}
