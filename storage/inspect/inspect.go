// Package inspect checks whether records make a sound namespace: one that a broker can serve,
// with nothing missing. It takes as much memory as that broker would.
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

// A Source is what Store inspects; storage.OpenSnapshot opens one.
type Source interface {
	Load(ctx context.Context) iter.Seq2[engine.Record, error]
	Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error)
	QueryEvents(ctx context.Context, q engine.HistoryQuery) iter.Seq2[engine.HistoryEvent, error]
}

// A Report is the result of an inspection.
type Report struct {
	archive.Counts
	Findings []string // the first findings, a sentence each
	Omitted  int      // number of further findings
}

// Sound reports whether there are no findings.
func (r Report) Sound() bool { return len(r.Findings) == 0 }

// maxFindings is the maximum number of Findings in a Report.
const maxFindings = 50

// An Inspector checks records one by one.
type Inspector struct {
	report             Report
	ns                 *engine.Namespace
	now                engine.Instant
	subqueuePaths      map[engine.SubqueueID]engine.Path
	kinds              map[engine.SubqueueID]engine.EntityKind
	entityPaths        map[string]bool // folded paths of entities
	rules              map[engine.RuleID]bool
	meters             map[engine.SubqueueID]bool
	sessions           map[engine.SessionID]bool
	settings           map[string]bool              // keys of settings
	seen               map[engine.SubqueueID]uint64 // last number of the recent MessageIds of each entity
	bodies             map[engine.Key]int64         // body sizes, by the key of the content
	referencedContents map[engine.Key]bool          // keys of contents that messages refer to
	messages           map[engine.Key]bool          // keys of messages
	numbers            map[number]bool              // sequence numbers of messages
}

type number struct {
	subqueue engine.SubqueueID
	seq      engine.Seq
}

// New returns an Inspector without records.
func New() *Inspector {
	return &Inspector{
		// The engine assigns no identities here. It gets the last possible epoch, in which no
		// record was created.
		ns: engine.New(engine.Options{
			Limits: engine.DefaultLimits(), Keys: engine.NewKeys(1<<24 - 1), Nonce: func() uint64 { return 0 },
		}),
		subqueuePaths: map[engine.SubqueueID]engine.Path{}, kinds: map[engine.SubqueueID]engine.EntityKind{}, entityPaths: map[string]bool{},
		rules: map[engine.RuleID]bool{}, meters: map[engine.SubqueueID]bool{}, sessions: map[engine.SessionID]bool{}, settings: map[string]bool{}, seen: map[engine.SubqueueID]uint64{},
		bodies: map[engine.Key]int64{}, referencedContents: map[engine.Key]bool{}, messages: map[engine.Key]bool{}, numbers: map[number]bool{},
	}
}

// AddFinding adds a sentence to the findings, or only counts it if there are maxFindings.
func (i *Inspector) AddFinding(format string, args ...any) {
	if len(i.report.Findings) == maxFindings {
		i.report.Omitted++
		return
	}
	i.report.Findings = append(i.report.Findings, fmt.Sprintf(format, args...))
}

// AddRecord checks a record; call it in Load's order. A record that is wrong in itself is
// reported and left out of the further checks.
func (i *Inspector) AddRecord(r engine.Record) {
	i.report.Count(r)
	var why string
	switch r := r.(type) {
	case engine.Clock:
		i.now = r.Now
	case engine.Access:
		why = checkAccessRules("The namespace", r.Rules)
	case engine.Setting:
		why = i.checkSetting(r)
	case engine.Entity:
		why = i.checkEntity(r)
	case engine.Rule:
		why = i.checkRule(r)
	case engine.Meter:
		why = i.checkMeter(r)
	case engine.SessionRecord:
		why = i.checkSession(r)
	case engine.SeenIDs:
		why = i.checkSeen(r)
	case engine.Damaged:
		why = fmt.Sprintf("Message %d, number %d of %q, is damaged: the checksum of its %s does not match.", r.Key, r.Seq, i.subqueuePaths[r.Subqueue], r.Part)
	case engine.StoredContent:
		why = i.checkContent(r)
	case engine.Message:
		why = i.checkMessage(r)
	}
	if why != "" {
		i.AddFinding("%s", why)
		return
	}
	i.recoverPanic(func() error { return i.ns.Restore(r) })
}

// recoverPanic runs do, which calls the engine, and adds a finding if it returns an error or
// panics. The engine may panic on records that no engine wrote.
func (i *Inspector) recoverPanic(do func() error) {
	defer func() {
		if r := recover(); r != nil {
			i.AddFinding("The store cannot be loaded: %v.", r)
		}
	}()
	if err := do(); err != nil {
		i.AddFinding("The loaded namespace is inconsistent: %v.", err)
	}
}

// CheckBodies reads the bodies of all messages with open, and adds a finding for each that is
// missing, cannot be read or has the wrong length. It returns an error only if ctx ends.
func (i *Inspector) CheckBodies(ctx context.Context, open func(context.Context, engine.Key) (io.ReadSeekCloser, error)) error {
	for _, k := range slices.Sorted(maps.Keys(i.referencedContents)) {
		if i.bodies[k] == 0 {
			continue
		}
		n, err := readBodyLength(ctx, k, open)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, engine.ErrMessageNotFound):
			i.AddFinding("Body %d of %d bytes is missing.", k, i.bodies[k])
		case err != nil:
			i.AddFinding("Body %d cannot be read completely: %v.", k, err)
		case n != i.bodies[k]:
			i.AddFinding("Body %d has %d bytes and should have %d.", k, n, i.bodies[k])
		}
	}
	return nil
}

func readBodyLength(ctx context.Context, k engine.Key, open func(context.Context, engine.Key) (io.ReadSeekCloser, error)) (int64, error) {
	r, err := open(ctx, k)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(io.Discard, r)
}

// AddEvent counts an event of the history.
func (i *Inspector) AddEvent(engine.HistoryEvent) { i.report.Events++ }

// Finish checks the engine's indexes against the records, unless there are findings already,
// and returns the report. The Inspector must not be used afterwards.
func (i *Inspector) Finish() Report {
	if i.report.Sound() { // otherwise Check would repeat the findings in other words
		i.recoverPanic(func() error {
			i.ns.Restored(i.now)
			return i.ns.Check()
		})
	}
	return i.report
}

// Store inspects a store: its records, the bodies of messages, and whether its history can be
// read. An error means that reading failed; the report then covers what was read.
func Store(ctx context.Context, from Source) (Report, error) {
	i := New()
	for r, err := range from.Load(ctx) {
		if err != nil {
			return i.report, err
		}
		i.AddRecord(r)
	}
	if err := i.CheckBodies(ctx, from.Body); err != nil {
		return i.report, err
	}
	for e, err := range from.QueryEvents(ctx, engine.HistoryQuery{}) {
		if err != nil {
			return i.report, err
		}
		i.AddEvent(e)
	}
	return i.Finish(), nil
}
