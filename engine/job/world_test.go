package job_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/job"
	"mayfly/storage/memory"
)

// A world is a broker with its jobs, on a store that outlives both.
type world struct {
	*testing.T
	held   *memory.Store
	store  func(engine.Store) engine.Store // wraps the store for the broker
	b      *brokertest.Broker
	limits engine.Limits
	memory *engine.Memory // nil means no limit
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
	w.b = brokertest.OpenWith(w, func(context.Context) (engine.Store, error) {
		w.held = w.held.Reopen()
		return w.store(w.held), nil
	}, broker.Options{Limits: &w.limits, Memory: w.memory})
	var err error
	w.jobs, err = job.Open(w.Context(), w.b.Broker, slog.New(slog.DiscardHandler))
	w.must(err)
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

// send sends n messages whose subjects are the numbers from 0.
func (w *world) send(to engine.Path, n int) {
	w.Helper()
	var all []engine.Content
	for i := range n {
		all = append(all, engine.Content{MessageID: fmt.Sprint("m", i), Subject: fmt.Sprint(i), TTL: time.Hour})
	}
	w.b.SendContents(to, "x", all...)
}

// kill dead-letters all messages of a queue with this reason.
func (w *world) kill(p engine.Path, reason string) {
	w.Helper()
	for _, r := range w.b.Rows(p) {
		w.must(w.b.DeadLetterMessage(w.Context(), r.Message.Key, reason, "so it is", "test"))
	}
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
