// Package inspect tells whether records make a sound namespace: one that a
// broker can serve, with nothing missing. It takes as much memory as that broker
// would.
package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"mayfly/engine"
	"mayfly/storage/archive"
)

// A Source is what Store inspects; storage.Look opens one.
type Source interface {
	Load(ctx context.Context) iter.Seq2[engine.Record, error]
	Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error)
	Past(ctx context.Context, q engine.PastQuery) iter.Seq2[engine.PastEvent, error]
}

// A Report is what was found.
type Report struct {
	archive.Counts
	Wrong []string // sentences, the first of them
	More  int      // how many there would be besides
}

// Sound tells whether nothing is wrong.
func (r Report) Sound() bool { return len(r.Wrong) == 0 }

// mostWrong is how many sentences are worth reading.
const mostWrong = 50

// An Inspector is given records one by one.
type Inspector struct {
	report  Report
	ns      *engine.Namespace
	now     engine.Instant
	paths   map[engine.HolderID]engine.Path // of places
	kinds   map[engine.HolderID]engine.EntityKind
	names   map[string]bool          // folded paths that are taken
	rules   map[engine.RuleID]bool   // that were there
	meters  map[engine.HolderID]bool // likewise
	states  map[engine.SessionID]bool
	keys    map[string]bool            // of settings
	seen    map[engine.HolderID]uint64 // the last number at each
	bodies  map[engine.Key]int64       // sizes, of contents
	wanted  map[engine.Key]bool        // contents that messages refer to
	there   map[engine.Key]bool        // messages
	numbers map[number]bool            // that messages have
}

type number struct {
	holder engine.HolderID
	seq    engine.Seq
}

// New is an Inspector that has been given nothing.
func New() *Inspector {
	return &Inspector{
		// What an older version knew nothing of is given an identity, which no other
		// has: that of the last epoch there can be.
		ns: engine.New(engine.Options{
			Limits: engine.DefaultLimits(), Keys: engine.NewKeys(1<<24 - 1), Nonce: func() uint64 { return 0 },
		}),
		paths: map[engine.HolderID]engine.Path{}, kinds: map[engine.HolderID]engine.EntityKind{}, names: map[string]bool{},
		rules: map[engine.RuleID]bool{}, meters: map[engine.HolderID]bool{}, states: map[engine.SessionID]bool{}, keys: map[string]bool{}, seen: map[engine.HolderID]uint64{},
		bodies: map[engine.Key]int64{}, wanted: map[engine.Key]bool{}, there: map[engine.Key]bool{}, numbers: map[number]bool{},
	}
}

// Wrong adds a sentence.
func (i *Inspector) Wrong(format string, args ...any) {
	if len(i.report.Wrong) == mostWrong {
		i.report.More++
		return
	}
	i.report.Wrong = append(i.report.Wrong, fmt.Sprintf(format, args...))
}

// Record takes a record in, in Load's order. One that is wrong in itself is
// told and left out of what is found of the rest.
func (i *Inspector) Record(r engine.Record) {
	i.report.Count(r)
	var why string
	switch r := r.(type) {
	case engine.Clock:
		i.now = r.Now
	case engine.Access:
		why = wrongAccess("The namespace", r.Rules)
	case engine.Setting:
		why = i.setting(r)
	case engine.Entity:
		why = i.entity(r)
	case engine.Rule:
		why = i.rule(r)
	case engine.Meter:
		why = i.meter(r)
	case engine.Session:
		why = i.session(r)
	case engine.Seen:
		why = i.saw(r)
	case engine.StoredContent:
		why = i.content(r)
	case engine.Message:
		why = i.message(r)
	}
	if why != "" {
		i.Wrong("%s", why)
		return
	}
	i.guarded(func() error { return i.ns.Restore(r) })
}

// guarded calls into the engine, which may take offence at what no engine
// wrote.
func (i *Inspector) guarded(do func() error) {
	defer func() {
		if r := recover(); r != nil {
			i.Wrong("The rules cannot be applied to it: %v.", r)
		}
	}()
	if err := do(); err != nil {
		i.Wrong("The broker says: %v.", err)
	}
}

// Bodies reads the bodies of all messages that were there.
func (i *Inspector) Bodies(ctx context.Context, open func(context.Context, engine.Key) (io.ReadSeekCloser, error)) error {
	for _, k := range slices.Sorted(maps.Keys(i.wanted)) {
		if i.bodies[k] == 0 {
			continue
		}
		n, err := length(ctx, k, open)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, engine.ErrMessageNotFound):
			i.Wrong("Body %d of %d bytes is not there.", k, i.bodies[k])
		case err != nil:
			i.Wrong("Body %d cannot be read to its end: %v.", k, err)
		case n != i.bodies[k]:
			i.Wrong("Body %d has %d bytes and should have %d.", k, n, i.bodies[k])
		}
	}
	return nil
}

func length(ctx context.Context, k engine.Key, open func(context.Context, engine.Key) (io.ReadSeekCloser, error)) (int64, error) {
	r, err := open(ctx, k)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(io.Discard, r)
}

// Event counts an event of the history.
func (i *Inspector) Event(engine.PastEvent) { i.report.Events++ }

// End has the engine check that its indexes are what the records make them, and
// reports. The Inspector is of no use afterwards.
func (i *Inspector) End() Report {
	if i.report.Sound() { // else it would say the same in other words
		i.guarded(func() error {
			i.ns.Restored(i.now)
			return i.ns.Check()
		})
	}
	return i.report
}

// Store inspects a store: its records, the bodies of messages, and whether its
// history can be read. An error is of the reading; the report is of what was
// read until then.
func Store(ctx context.Context, from Source) (Report, error) {
	i := New()
	for r, err := range from.Load(ctx) {
		if err != nil {
			return i.report, err
		}
		i.Record(r)
	}
	if err := i.Bodies(ctx, from.Body); err != nil {
		return i.report, err
	}
	for e, err := range from.Past(ctx, engine.PastQuery{}) {
		if err != nil {
			return i.report, err
		}
		i.Event(e)
	}
	return i.End(), nil
}
