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
	seen    map[engine.HolderID]engine.Seen // the last one at each
	bodies  map[engine.Key]int64            // sizes, of contents
	wanted  map[engine.Key]bool             // contents that messages refer to
	there   map[engine.Key]bool             // messages
	numbers map[number]bool                 // that messages have
}

type number struct {
	holder engine.HolderID
	seq    engine.Seq
}

// New is an Inspector that has been given nothing.
func New() *Inspector {
	return &Inspector{
		ns: engine.New(engine.Options{
			Limits: engine.DefaultLimits(), Keys: engine.NewKeys(0), Nonce: func() uint64 { return 0 },
		}),
		paths: map[engine.HolderID]engine.Path{}, kinds: map[engine.HolderID]engine.EntityKind{}, names: map[string]bool{},
		rules: map[engine.RuleID]bool{}, meters: map[engine.HolderID]bool{}, states: map[engine.SessionID]bool{}, seen: map[engine.HolderID]engine.Seen{},
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
	switch r.(type) {
	case engine.Session, engine.Seen: // the engine keeps nothing of them that could be wrong besides
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

func (i *Inspector) entity(e engine.Entity) string {
	_, _, sub := e.Path.Subscription()
	switch {
	case e.Kind == engine.Unfinished:
		return "A backup was not restored to its end here: restore it once more."
	case e.Kind < engine.Queue || e.Kind > engine.Subscription:
		return fmt.Sprintf("%q is of kind %d, and there is none.", e.Path, e.Kind)
	case e.Path == "" || e.ID == 0:
		return fmt.Sprintf("Entity %d is called %q.", e.ID, e.Path)
	case sub != (e.Kind == engine.Subscription):
		return fmt.Sprintf("%q is called so, and is a %s.", e.Path, e.Kind)
	case (e.DeadLetterID == 0) != (e.Kind == engine.Topic):
		return fmt.Sprintf("%q is a %s with dead-letter queue %d.", e.Path, e.Kind, e.DeadLetterID)
	case i.names[e.Path.Fold()]:
		return fmt.Sprintf("%q is there twice.", e.Path)
	case !i.fresh(e):
		return fmt.Sprintf("%q has an identity that another one has: %d, %d or %d.", e.Path, e.ID, e.DeadLetterID, e.TransferID)
	}
	i.names[e.Path.Fold()] = true
	i.paths[e.ID], i.kinds[e.ID] = e.Path, e.Kind
	if e.DeadLetterID != 0 {
		i.paths[e.DeadLetterID] = e.Path.DeadLetter()
	}
	if e.TransferID != 0 {
		i.paths[e.TransferID] = (e.Path + "/$Transfer").DeadLetter()
	}
	return ""
}

// fresh tells whether no two places have the same identity, of which older
// versions gave none to that of transfers.
func (i *Inspector) fresh(e engine.Entity) bool {
	own := map[engine.HolderID]bool{}
	for _, id := range []engine.HolderID{e.ID, e.DeadLetterID, e.TransferID} {
		if id != 0 && (i.paths[id] != "" || own[id]) {
			return false
		}
		own[id] = true
	}
	return true
}

func (i *Inspector) rule(r engine.Rule) string {
	id := engine.RuleID{Subscription: r.Subscription, Name: engine.Path(r.Name).Fold()}
	switch {
	case i.kinds[r.Subscription] != engine.Subscription:
		return fmt.Sprintf("Rule %q is of %d, which is no subscription.", r.Name, r.Subscription)
	case r.Filter.Kind > engine.SQLFilter:
		return fmt.Sprintf("Rule %q of %q has a filter of kind %d, and there is none.", r.Name, i.paths[r.Subscription], r.Filter.Kind)
	case i.rules[id]:
		return fmt.Sprintf("Rule %q of %q is there twice.", r.Name, i.paths[r.Subscription])
	}
	i.rules[id] = true
	return ""
}

func (i *Inspector) meter(m engine.Meter) string {
	switch {
	case i.paths[m.Holder] == "":
		return fmt.Sprintf("A meter is of %d, which is no place.", m.Holder)
	case i.meters[m.Holder]:
		return fmt.Sprintf("The meter of %q is there twice.", i.paths[m.Holder])
	}
	i.meters[m.Holder] = true
	return ""
}

func (i *Inspector) session(s engine.Session) string {
	id := engine.SessionID{Holder: s.Holder, ID: s.ID}
	switch kind := i.kinds[s.Holder]; {
	case kind != engine.Queue && kind != engine.Subscription:
		return fmt.Sprintf("The state of session %q is of %d, which is no queue or subscription.", s.ID, s.Holder)
	case i.states[id]:
		return fmt.Sprintf("The state of session %q of %q is there twice.", s.ID, i.paths[s.Holder])
	}
	i.states[id] = true
	return ""
}

// saw checks that numbers rise with time: what is forgotten is what has numbers
// up to some one.
func (i *Inspector) saw(s engine.Seen) string {
	last, more := i.seen[s.Holder]
	switch kind := i.kinds[s.Holder]; {
	case kind != engine.Queue && kind != engine.Topic:
		return fmt.Sprintf("MessageIds are remembered for %d, which is no queue or topic.", s.Holder)
	case s.N == 0 || more && s.N <= last.N:
		return fmt.Sprintf("What %q remembers of MessageIds has number %d after number %d.", i.paths[s.Holder], s.N, last.N)
	case more && s.At < last.At:
		return fmt.Sprintf("What %q remembers of MessageIds as number %d is older than what it has as number %d.", i.paths[s.Holder], s.N, last.N)
	}
	i.seen[s.Holder] = s
	return ""
}

func (i *Inspector) content(c engine.StoredContent) string {
	if _, twice := i.bodies[c.Key]; twice {
		return fmt.Sprintf("Content %d is there twice.", c.Key)
	}
	read, err := c.Content.Content()
	if err != nil {
		return fmt.Sprintf("Content %d cannot be read: %v.", c.Key, err)
	}
	if read.BodySize < 0 {
		return fmt.Sprintf("Content %d has a body of %d bytes.", c.Key, read.BodySize)
	}
	i.bodies[c.Key] = read.BodySize
	return ""
}

func (i *Inspector) message(m engine.Message) string {
	at := number{m.Holder, m.Seq}
	_, known := i.bodies[m.Content]
	switch {
	case i.paths[m.Holder] == "":
		return fmt.Sprintf("Message %d is at %d, which is no place.", m.Key, m.Holder)
	case i.there[m.Key]:
		return fmt.Sprintf("Message %d is there twice.", m.Key)
	case m.Key == 0 || m.Seq < 1:
		return fmt.Sprintf("Message %d of %q has number %d.", m.Key, i.paths[m.Holder], m.Seq)
	case i.numbers[at]:
		return fmt.Sprintf("Number %d of %q is there twice.", m.Seq, i.paths[m.Holder])
	case m.State > engine.Scheduled:
		return fmt.Sprintf("Message #%d of %q is in state %d, and there is none.", m.Seq, i.paths[m.Holder], m.State)
	case !known:
		return fmt.Sprintf("What message #%d of %q says is not there: content %d.", m.Seq, i.paths[m.Holder], m.Content)
	}
	i.there[m.Key], i.numbers[at], i.wanted[m.Content] = true, true, true
	return ""
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
