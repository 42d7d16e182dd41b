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

// Scenarios runs the stories of engine/testdata on a store. Every turn's batch
// is committed, and every few commands the store is closed, opened again and the
// namespace made anew from what it yields, as if the server had been stopped and
// started: the story must go on as it is told.
//
// A lock is remembered softly, so that one might be lost in a crash and its
// message be had again at once; a story that took place in between would be
// another one. Therefore a hard batch comes before each end, which makes every
// soft one before it durable. While a receiver is attached, or an entity is
// there that deletes itself when idle, the server stays up: see
// enginetest.Engine.AtRest.
func Scenarios(t *testing.T, place func(t *testing.T) Open, options ...Option) {
	x := extentOf(options)
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
			r := &restarting{t: t, place: place(t), every: 2 + x.part}
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
		t.Error("no story was told with a restart in it")
	}
}

// scenarios finds the files from wherever in the module the test is.
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

// restarting does the commands of a scenario and restarts the server among
// them.
type restarting struct {
	t        *testing.T
	place    Open
	every    int // commands
	x        *enginetest.Engine
	s        engine.Store
	commands int
	restarts int
	audit    []engine.Event // that was committed
}

func (r *restarting) begin() {
	r.x = enginetest.NewEngine()
	r.x.Commit = func(b *engine.Batch) error {
		r.audit = append(r.audit, b.Audit...)
		return r.s.Commit(r.t.Context(), b)
	}
	r.x.Read = func(k engine.Key) ([]byte, error) { return readBody(r.t.Context(), r.s, k) }
	r.open()
}

func (r *restarting) open() {
	r.t.Helper()
	r.s = open(r.t, r.place)
	if err := r.x.Restart(r.s.Load(r.t.Context()), r.s.Epoch()); err != nil {
		r.t.Fatalf("at epoch %d: %v", r.s.Epoch(), err)
	}
}

func (r *restarting) restart() {
	r.t.Helper()
	commit(r.t, r.s, &engine.Batch{Hard: true, Now: r.x.Now()})
	closeStore(r.t, r.s)
	r.open()
	r.restarts++
}

// Do is what an enginetest.Executor does.
func (r *restarting) Do(c enginetest.Command) ([]string, error) {
	if r.commands++; r.commands >= r.every && r.x.AtRest() {
		r.commands = 0
		r.restart()
	}
	return r.x.Do(c)
}

// checkAudit compares what operators did with what the history has of it.
func (r *restarting) checkAudit() {
	h, ok := r.s.(engine.History)
	if !ok {
		return
	}
	var got []engine.Event
	all, err := collect(h.Past(r.t.Context(), engine.PastQuery{Audit: true}))
	if err != nil {
		r.t.Error(err)
	}
	for _, e := range all {
		got = append([]engine.Event{e.Event}, got...)
	}
	if d := gocmp.Diff(r.audit, got, cmpopts.EquateEmpty()); d != "" {
		r.t.Errorf("what operators did (-want +got):\n%s", d)
	}
}
