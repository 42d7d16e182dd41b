package rescue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// ErrNoRule says that there is no rule with a number, or none any more.
var ErrNoRule error = &engine.Refusal{Kind: engine.ErrNotFound, Text: "There is no such rule for rescue and alerts."}

func noRule(id ID) error {
	return &engine.Refusal{Kind: ErrNoRule, Text: fmt.Sprintf("There is no rule %d for rescue and alerts.", id)}
}

// Options are how rules work.
type Options struct {
	// Offer is given what a rule with a webhook has to tell. It must not wait. Zero:
	// nobody is told.
	Offer func(Rule, Alert)
	// Admit says whether a rule may have a webhook at this address. Zero: any.
	Admit  func(url string) error
	Logger *slog.Logger // zero: slog.Default
}

// A State is what a rule has done so far. It survives a restart, but for the last
// second of a server that crashed.
type State struct {
	Fired   int64          `json:"fired,omitempty"` // messages and entities
	Done    int64          `json:"done,omitempty"`  // messages that were extended or dead-lettered
	Last    engine.Instant `json:"last,omitempty"`
	Missed  int64          `json:"missed,omitempty"` // events that could not be looked at: they came too fast, or a body could not be read
	Trouble string         `json:"trouble,omitempty"`
	Above   []engine.Path  `json:"above,omitempty"` // of DeadOver and Deleting: what it has told of and still is so
}

// A Status is a rule and what it has done.
type Status struct {
	Rule
	State
}

// Rules are those of a namespace, at work. Its methods are safe for concurrent use.
type Rules struct {
	b    *broker.Broker
	o    Options
	log  *slog.Logger
	stop context.CancelFunc
	wg   sync.WaitGroup

	editing sync.Mutex // one rule changes at a time
	edited  chan struct{}
	nudged  chan struct{} // somebody has something to tell

	ledgers map[ID]*ledger // owned by watch

	mu      sync.Mutex
	all     map[ID]*live  // guarded by mu
	last    ID            // guarded by mu: no number is given twice
	version int           // guarded by mu: of all
	alerts  []Alert       // guarded by mu; the latest last
	changed chan struct{} // guarded by mu; closed at the next change
	dirty   bool          // guarded by mu: dead letters may be more or fewer
}

// live is a rule in memory.
type live struct {
	rule  Rule
	state State // guarded by Rules.mu
	told  State // as it is kept; guarded by Rules.mu
	due   Alert // not told yet; guarded by Rules.mu
	gone  bool  // guarded by Rules.mu
}

// Open finds the rules of b's namespace and sets them to work. Close before b.
func Open(ctx context.Context, b *broker.Broker, o Options) (*Rules, error) {
	r := &Rules{
		b: b, o: o, log: cmp.Or(o.Logger, slog.Default()), all: map[ID]*live{}, ledgers: map[ID]*ledger{}, edited: make(chan struct{}, 1), nudged: make(chan struct{}, 1),
		changed: make(chan struct{}), dirty: true,
	}
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	from := b.Events().Last()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.wg.Go(func() { r.watch(running) })
	r.wg.Go(func() { r.follow(running, from) })
	r.wg.Go(func() { r.tell(running) })
	return r, nil
}

// Close ends the rules' work, and waits for that.
func (r *Rules) Close() {
	r.stop()
	r.wg.Wait()
}

// load reads what is kept.
func (r *Rules) load(ctx context.Context) error {
	kept, err := r.b.Settings(ctx, "rescue/")
	if err != nil {
		return fmt.Errorf("read the rules for rescue and alerts: %w", err)
	}
	var orphans []string
	for _, s := range kept { // rules come before states, and these after what was seen: two rounds
		if !strings.HasPrefix(s.Key, rulePrefix) {
			continue
		}
		rule, err := decode(s.Value)
		if err != nil || ruleKey(rule.ID) != s.Key {
			r.log.WarnContext(ctx, "a rule for rescue and alerts cannot be read", "key", s.Key, "err", err)
			continue
		}
		r.all[rule.ID], r.last = &live{rule: rule}, max(r.last, rule.ID)
	}
	for _, s := range kept {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(s.Key, "rescue/"), "/")
		number, no, _ := strings.Cut(rest, "/")
		id, _ := strconv.ParseInt(number, 10, 64) //nolint:errcheck // no rule has the number zero
		l := r.all[ID(id)]
		switch {
		case kind == "rule":
		case l == nil:
			orphans = append(orphans, s.Key)
		case kind == "state":
			if err := json.Unmarshal([]byte(s.Value), &l.state); err != nil {
				r.log.WarnContext(ctx, "what a rule has done cannot be read", "key", s.Key, "err", err)
			}
			l.told = l.state
		case kind == "seen":
			n, err := strconv.ParseUint(no, 10, 64)
			entries, bad := decodeChunk(s.Value)
			if err = errors.Join(err, bad); err != nil {
				r.log.WarnContext(ctx, "what a rule remembers cannot be read", "key", s.Key, "err", err)
				continue
			}
			of := r.ledger(l.rule.ID)
			of.chunks = append(of.chunks, chunk{n, entries})
			of.remember(entries)
		}
	}
	for _, key := range orphans {
		if err := r.b.DropSetting(ctx, key); err != nil && !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrBusy) {
			return fmt.Errorf("forget what a rule remembered: %w", err)
		}
	}
	return nil
}

// ledger is what a rule remembers.
func (r *Rules) ledger(id ID) *ledger {
	l := r.ledgers[id]
	if l == nil {
		l = newLedger(id)
		r.ledgers[id] = l
	}
	return l
}

// List are all rules, by name.
func (r *Rules) List() []Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Status, 0, len(r.all))
	for _, l := range r.all {
		out = append(out, l.status())
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// About are those that may concern an entity or its dead letters, as far as its name
// tells, as List has them.
func (r *Rules) About(p engine.Path) []Status {
	return slices.DeleteFunc(r.List(), func(s Status) bool {
		a, err := s.compile()
		return err != nil || !a.query.Covers(p) && !a.query.Covers(p.DeadLetter())
	})
}

func (l *live) status() Status {
	s := Status{l.rule, l.state}
	s.Fired, s.Done = s.Fired+l.due.Count, s.Done+l.due.Done
	return s
}

// Rule is one of them. The error is ErrNoRule.
func (r *Rules) Rule(id ID) (Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.all[id]
	if l == nil {
		return Status{}, noRule(id)
	}
	return l.status(), nil
}

// Alerts are the latest hundred since the server was started, the latest first.
func (r *Rules) Alerts() []Alert {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.alerts)
	slices.Reverse(out)
	return out
}

// Changed is closed when a rule, or what it has done, is another than it is now, or
// when there is an alert.
func (r *Rules) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// news has everybody know that something changed. r.mu is held.
func (r *Rules) news() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// put has everybody work with a rule as it is now.
func (r *Rules) put(l *live) {
	r.mu.Lock()
	r.all[l.rule.ID], r.last = l, max(r.last, l.rule.ID)
	r.version++
	r.dirty = true
	r.news()
	r.mu.Unlock()
	wake(r.edited)
	wake(r.nudged)
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Test has a rule's alert arrive, without any reason.
func (r *Rules) Test(id ID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.all[id]
	if l == nil {
		return noRule(id)
	}
	r.note(l, Alert{Test: true})
	return nil
}

// note has what a rule found told soon. r.mu is held.
func (r *Rules) note(l *live, a Alert) {
	if l.gone {
		if l = r.all[l.rule.ID]; l == nil {
			return
		}
	}
	a.At = r.b.Clock()
	l.due.add(a)
	wake(r.nudged)
}

// trouble has it known that a rule could not do what it should; empty: it could.
func (r *Rules) trouble(l *live, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.gone {
		if l = r.all[l.rule.ID]; l == nil {
			return
		}
	}
	if l.state.Trouble != why {
		l.state.Trouble = why
		wake(r.nudged)
	}
}

// since tells whether rules are others than in a version.
func (r *Rules) since(version int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version != version
}

// actives are the rules of these kinds that are on.
func (r *Rules) actives(kinds ...When) (out []*working, version int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.all {
		if l.rule.Off || !slices.Contains(kinds, l.rule.When) {
			continue
		}
		if a, err := l.rule.compile(); err == nil { // it was checked
			out = append(out, &working{a, l})
		}
	}
	slices.SortFunc(out, func(a, b *working) int { return cmp.Compare(a.ID, b.ID) })
	return out, r.version
}

// working is a rule that is on.
type working struct {
	active
	live *live
}

// actor is who a rule is, to those who read what was done.
func (r Rule) actor() string { return "rule " + r.Name }

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (s State) equal(o State) bool {
	return s.Fired == o.Fired && s.Done == o.Done && s.Last == o.Last && s.Missed == o.Missed && s.Trouble == o.Trouble && slices.Equal(s.Above, o.Above)
}

func (s State) text() string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // texts and numbers
	}
	return string(raw)
}
