package job_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/storage/memory"
)

// A world is a broker on a store that outlives it, with its jobs.
type world struct {
	*testing.T
	held   *memory.Store
	store  func(engine.Store) engine.Store // wraps the store for the broker
	b      *broker.Broker
	limits engine.Limits
	memory *engine.Memory // zero means no limit
	jobs   *job.Jobs
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, limits: engine.DefaultLimits(), held: new(memory.Store), store: func(s engine.Store) engine.Store { return s }}
	w.open()
	t.Cleanup(func() { w.close() })
	return w
}

func (w *world) open() {
	w.Helper()
	log := slog.New(slog.DiscardHandler)
	b, err := broker.Open(w.Context(), func(context.Context) (engine.Store, error) {
		w.held = w.held.Reopen()
		return w.store(w.held), nil
	}, broker.Options{Logger: log, Limits: &w.limits, Memory: w.memory})
	if err != nil {
		w.Fatal(err)
	}
	jobs, err := job.Open(w.Context(), b, log)
	if err != nil {
		w.Fatal(err)
	}
	w.b, w.jobs = b, jobs
}

func (w *world) close() {
	w.jobs.Close()
	w.b.Close()
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) queue(p engine.Path, c engine.Config) {
	w.Helper()
	_, err := w.b.Create(w.Context(), engine.Queue, p, c, "test")
	w.must(err)
}

// send sends n messages whose subjects are their numbers, from 0.
func (w *world) send(to engine.Path, n int) {
	w.Helper()
	for from := 0; from < n; from += 1000 {
		var out []broker.Outgoing
		for i := from; i < min(n, from+1000); i++ {
			out = append(out, broker.Outgoing{Content: engine.Content{MessageID: fmt.Sprint("m", i), Subject: fmt.Sprint(i), TTL: time.Hour}, Body: []byte("x")})
		}
		_, err := w.b.Send(w.Context(), to, out, "test")
		w.must(err)
	}
}

// kill turns some messages of a queue into dead letters.
func (w *world) kill(p engine.Path, reason string) {
	w.Helper()
	for _, r := range w.rows(p) {
		w.must(w.b.DeadLetterMessage(w.Context(), r.Message.Key, reason, "so it is", "test"))
	}
}

func (w *world) rows(p engine.Path) (rows []engine.Row) {
	w.Helper()
	w.must(w.b.Read(w.Context(), func(r broker.Reader) (err error) {
		if err = r.Check(); err == nil { // a failure here would block the broker
			rows, err = r.Browse(engine.Browse{Path: p, From: 1, Limit: 1 << 20})
		}
		return err
	}))
	return rows
}

func (w *world) counts(p engine.Path) (c engine.Counts) {
	w.Helper()
	w.must(w.b.Read(w.Context(), func(r broker.Reader) error {
		s, err := r.State(p)
		c = s.Counts
		return err
	}))
	return c
}

// run starts a job and waits for its end.
func (w *world) run(p job.Plan) job.Job {
	w.Helper()
	is, err := w.jobs.Start(w.Context(), p, broker.Unconfirmed, "somebody")
	w.must(err)
	return w.ends(is.ID)
}

func (w *world) ends(id job.ID) job.Job {
	w.Helper()
	is, err := w.jobs.Wait(w.Context(), id)
	w.must(err)
	return is
}

func (w *world) equal(got, want any) {
	w.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("got %v, want %v", got, want)
	}
}
