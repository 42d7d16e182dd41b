package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mayfly/engine"
	"mayfly/engine/enginetest"
)

// RunScenarios runs the scenarios of engine/testdata on a store. It commits the batch of every
// turn, and every few commands it closes the store, opens it again and restores the namespace
// from it, as if the server had been restarted. The scenario must continue as written.
//
// Locks are soft, so a crash might lose one, and its message might be received again at once,
// which would be another scenario. Therefore a hard batch is committed before each restart,
// which makes all earlier soft ones durable. While a receiver is attached, or an entity with
// auto-delete on idle exists, the server is not restarted: see enginetest.Engine.AtRest.
func RunScenarios(t *testing.T, openNew func(t *testing.T) Open, options ...Option) {
	x := extentOf(t, options)
	files, err := scenarios()
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scenarios: %v", err)
	}
	restarts := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		story, err := enginetest.Parse(name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			r := &restartingExecutor{t: t, reopen: openNew(t), every: 2 + x.part}
			r.begin()
			if _, err := story.Run(r, false); err != nil {
				t.Error(err)
			}
			restarts += r.restarts
			r.restart()
			r.checkAudit()
		})
	}
	t.Logf("%d restarts in %d scenarios", restarts, len(files))
	if restarts == 0 {
		t.Error("no scenario ran with a restart")
	}
}

// scenarios returns the paths of the scenario files. It works anywhere in the module.
func scenarios() ([]string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			continue
		}
		if files, err := filepath.Glob(filepath.Join(dir, "engine", "testdata", "*.txt")); err != nil || len(files) > 0 {
			return files, err
		}
	}
	return nil, nil
}

// restartingExecutor runs the commands of a scenario and restarts the server between them.
type restartingExecutor struct {
	t        *testing.T
	reopen   Open
	every    int // number of commands from one restart to the next
	x        *enginetest.Engine
	s        engine.Store
	commands int
	restarts int
	audit    []engine.Event // committed audit events
}

func (r *restartingExecutor) begin() {
	r.x = enginetest.NewEngine()
	r.x.Commit = func(b *engine.Batch) error {
		r.audit = append(r.audit, b.Audit...)
		return r.s.Commit(r.t.Context(), b)
	}
	r.x.Read = func(k engine.Key) ([]byte, error) { return readBody(r.t.Context(), r.s, k) }
	r.open()
}

func (r *restartingExecutor) open() {
	r.t.Helper()
	r.s = open(r.t, r.reopen)
	if err := r.x.Restart(r.s.Load(r.t.Context()), r.s.Epoch()); err != nil {
		r.t.Fatalf("at epoch %d: %v", r.s.Epoch(), err)
	}
}

func (r *restartingExecutor) restart() {
	r.t.Helper()
	commit(r.t, r.s, &engine.Batch{Hard: true, Now: r.x.Now()})
	closeStore(r.t, r.s)
	r.open()
	r.restarts++
}

// Do implements enginetest.Executor.
func (r *restartingExecutor) Do(c enginetest.Command) ([]string, error) {
	if r.commands++; r.commands >= r.every && r.x.AtRest() {
		r.commands = 0
		r.restart()
	}
	return r.x.Do(c)
}

// checkAudit compares the committed audit events with those in the history.
func (r *restartingExecutor) checkAudit() {
	h, ok := r.s.(engine.History)
	if !ok {
		return
	}
	var got []engine.Event
	all, err := collect(h.QueryEvents(r.t.Context(), engine.HistoryQuery{Audit: true}))
	if err != nil {
		r.t.Error(err)
	}
	for _, e := range all {
		got = append([]engine.Event{e.Event}, got...)
	}
	if d := gocmp.Diff(r.audit, got, cmpopts.EquateEmpty()); d != "" {
		r.t.Errorf("audit events (-want +got):\n%s", d)
	}
}
