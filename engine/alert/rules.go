package alert

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

// ErrNoRule means that no rule has the given ID.
var ErrNoRule error = engine.Refuse(engine.ErrNotFound, "The alert rule does not exist.")

func noRule(id ID) error {
	return engine.Refuse(ErrNoRule, "The alert rule %d does not exist.", id)
}

// Options configure rules.
type Options struct {
	// Send sends an alert to a rule's webhook. It must not block. Nil means that alerts are not
	// sent.
	Send func(Rule, Alert)
	// AllowURL returns an error unless a rule may have a webhook at this address. Nil means that
	// all addresses are allowed.
	AllowURL func(url string) error
	Logger   *slog.Logger // zero means slog.Default
}

// A State is what a rule has done so far. It survives a restart, except the last second before
// a crash.
type State struct {
	Fired   int64          `json:"fired,omitempty"` // messages and entities
	Done    int64          `json:"done,omitempty"`  // messages that were extended or dead-lettered
	Last    engine.Instant `json:"last,omitempty"`
	Missed  int64          `json:"missed,omitempty"` // events that could not be evaluated: they came too fast, or a body could not be read
	Trouble string         `json:"trouble,omitempty"`
	Alerted []engine.Path  `json:"above,omitempty"` // for DeadLettersAbove and DeletingSoon: entities with an alert that still applies
}

// A Status is a rule and its State.
type Status struct {
	Rule
	State
}

// Rules holds the active rules of a namespace. Its methods are safe for concurrent use.
type Rules struct {
	b    *broker.Broker
	o    Options
	log  *slog.Logger
	stop context.CancelFunc
	wg   sync.WaitGroup

	editing      sync.Mutex // held while a rule changes
	rulesChanged chan struct{}
	alertPending chan struct{} // there is an alert to send

	fireRecords map[ID]*fireRecords // owned by watchExpiry

	mu            sync.Mutex
	all           map[ID]*liveRule // guarded by mu
	last          ID               // guarded by mu; the highest ID so far
	version       int              // guarded by mu; increases when all changes
	alerts        []Alert          // guarded by mu; the latest last
	changed       chan struct{}    // guarded by mu; closed at the next change
	countsChanged bool             // guarded by mu: counts of dead letters may have changed
}

// liveRule is a rule in memory.
type liveRule struct {
	rule    Rule
	state   State // guarded by Rules.mu
	stored  State // the stored state; guarded by Rules.mu
	pending Alert // not sent yet; guarded by Rules.mu
	removed bool  // guarded by Rules.mu
}

// Open loads the rules of b's namespace and starts them. Close them before b.
func Open(ctx context.Context, b *broker.Broker, o Options) (*Rules, error) {
	r := &Rules{
		b: b, o: o, log: cmp.Or(o.Logger, slog.Default()), all: map[ID]*liveRule{}, fireRecords: map[ID]*fireRecords{}, rulesChanged: make(chan struct{}, 1), alertPending: make(chan struct{}, 1),
		changed: make(chan struct{}), countsChanged: true,
	}
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	from := b.Events().Last()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.wg.Go(func() { r.watchExpiry(running) })
	r.wg.Go(func() { r.followEvents(running, from) })
	r.wg.Go(func() { r.sendAlerts(running) })
	return r, nil
}

// Close stops the rules and waits until their goroutines have ended.
func (r *Rules) Close() {
	r.stop()
	r.wg.Wait()
}

// load reads the stored rules and their records.
func (r *Rules) load(ctx context.Context) error {
	kept, err := r.b.Settings(ctx, "rescue/")
	if err != nil {
		return fmt.Errorf("read the alert rules: %w", err)
	}
	var orphans []string
	for _, s := range kept { // the rules first, since states and records belong to them
		if !strings.HasPrefix(s.Key, rulePrefix) {
			continue
		}
		rule, err := decode(s.Value)
		if err != nil || ruleKey(rule.ID) != s.Key {
			r.log.WarnContext(ctx, "an alert rule cannot be read", "key", s.Key, "err", err)
			continue
		}
		r.all[rule.ID], r.last = &liveRule{rule: rule}, max(r.last, rule.ID)
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
				r.log.WarnContext(ctx, "the history of an alert rule cannot be read", "key", s.Key, "err", err)
			}
			l.stored = l.state
		case kind == "seen":
			n, err := strconv.ParseUint(no, 10, 64)
			entries, bad := decodeChunk(s.Value)
			if err = errors.Join(err, bad); err != nil {
				r.log.WarnContext(ctx, "the records of an alert rule cannot be read", "key", s.Key, "err", err)
				continue
			}
			of := r.recordsOf(l.rule.ID)
			of.chunks = append(of.chunks, chunk{n, entries})
			of.add(entries)
		}
	}
	for _, key := range orphans {
		if err := r.b.DropSetting(ctx, key); err != nil && !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrBusy) {
			return fmt.Errorf("delete the records of an alert rule: %w", err)
		}
	}
	return nil
}

// recordsOf returns a rule's fire records.
func (r *Rules) recordsOf(id ID) *fireRecords {
	l := r.fireRecords[id]
	if l == nil {
		l = newFireRecords(id)
		r.fireRecords[id] = l
	}
	return l
}

// List returns all rules, by name.
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

// ForEntity returns the rules that may apply to an entity or its dead letters, judging by its name,
// in the order of List.
func (r *Rules) ForEntity(p engine.Path) []Status {
	return slices.DeleteFunc(r.List(), func(s Status) bool {
		a, err := s.compile()
		return err != nil || !a.query.Covers(p) && !a.query.Covers(p.DeadLetter())
	})
}

func (l *liveRule) status() Status {
	s := Status{l.rule, l.state}
	s.Fired, s.Done = s.Fired+l.pending.Count, s.Done+l.pending.Done
	return s
}

// Rule returns the rule with this ID. The error is ErrNoRule.
func (r *Rules) Rule(id ID) (Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.all[id]
	if l == nil {
		return Status{}, noRule(id)
	}
	return l.status(), nil
}

// Alerts returns the latest alerts since the server started, at most 100, newest first.
func (r *Rules) Alerts() []Alert {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.alerts)
	slices.Reverse(out)
	return out
}

// Changed returns a channel that is closed when a rule or its state changes, or when there is
// an alert.
func (r *Rules) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// notifyChanged signals a change. r.mu is held.
func (r *Rules) notifyChanged() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// activate adds or replaces a rule among the active ones and wakes the goroutines that evaluate
// them.
func (r *Rules) activate(l *liveRule) {
	r.mu.Lock()
	r.all[l.rule.ID], r.last = l, max(r.last, l.rule.ID)
	r.version++
	r.countsChanged = true
	r.notifyChanged()
	r.mu.Unlock()
	signal(r.rulesChanged)
	signal(r.alertPending)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Test sends a test alert of a rule, and waits until it is among Alerts, for two seconds at most:
// alerts are sent once a second.
func (r *Rules) Test(ctx context.Context, id ID) error {
	if err := r.queueTest(id); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*sendInterval)
	defer cancel()
	for {
		r.mu.Lock()
		l, changed := r.all[id], r.changed
		sent := l == nil || !l.pending.Test
		r.mu.Unlock()
		if sent {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil // it is sent later
		}
	}
}

func (r *Rules) queueTest(id ID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.all[id]
	if l == nil {
		return noRule(id)
	}
	r.queueAlert(l, Alert{Test: true})
	return nil
}

// queueAlert schedules the alert of a rule. r.mu is held.
func (r *Rules) queueAlert(l *liveRule, a Alert) {
	if l.removed {
		if l = r.all[l.rule.ID]; l == nil {
			return
		}
	}
	a.At = r.b.ClockTime()
	l.pending.add(a)
	signal(r.alertPending)
}

// setTrouble sets State.Trouble, the reason why a rule could not be evaluated or its action failed,
// or clears it if `why` is empty. It does nothing if the rule was removed.
func (r *Rules) setTrouble(l *liveRule, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.removed {
		if l = r.all[l.rule.ID]; l == nil {
			return
		}
	}
	if l.state.Trouble != why {
		l.state.Trouble = why
		signal(r.alertPending)
	}
}

// changedSince reports whether rules have changed since a version.
func (r *Rules) changedSince(version int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version != version
}

// activeRules returns the rules of these kinds that are on.
func (r *Rules) activeRules(kinds ...Condition) (out []*activeRule, version int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.all {
		if l.rule.Off || !slices.Contains(kinds, l.rule.Condition) {
			continue
		}
		if a, err := l.rule.compile(); err == nil { // it was checked
			out = append(out, &activeRule{a, l})
		}
	}
	slices.SortFunc(out, func(a, b *activeRule) int { return cmp.Compare(a.ID, b.ID) })
	return out, r.version
}

// activeRule is a rule that is on.
type activeRule struct {
	compiledRule
	live *liveRule
}

// auditActor returns the rule's name in the audit trail.
func (r Rule) auditActor() string { return "rule " + r.Name }

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (s State) equal(o State) bool {
	return s.Fired == o.Fired && s.Done == o.Done && s.Last == o.Last && s.Missed == o.Missed && s.Trouble == o.Trouble && slices.Equal(s.Alerted, o.Alerted)
}

func (s State) text() string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // texts and numbers
	}
	return string(raw)
}
