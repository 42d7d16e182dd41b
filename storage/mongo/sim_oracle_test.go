package mongo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"mayfly/engine"
)

// A truth is the content of a store, as text by name. It is an independent implementation of
// the specification of engine.Batch, and shares no code with the store.
type truth map[string]string

func messageName(k engine.Key) string                   { return fmt.Sprintf("message %d", k) }
func contentName(k engine.Key) string                   { return fmt.Sprintf("content %d", k) }
func entityName(id engine.SubqueueID) string            { return fmt.Sprintf("entity %d", id) }
func meterName(id engine.SubqueueID) string             { return fmt.Sprintf("meter %d", id) }
func ruleName(id engine.RuleID) string                  { return fmt.Sprintf("rule %d %s", id.Subscription, id.Name) }
func sessionName(h engine.SubqueueID, id string) string { return fmt.Sprintf("session %d %s", h, id) }
func settingName(key string) string                     { return "setting " + key }
func seenName(h engine.SubqueueID, n uint64) string     { return fmt.Sprintf("seen %d %d", h, n) }
func holderOf(message string) (holder string) {
	_, err := fmt.Sscan(message, &holder)
	must(err)
	return holder
}
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// put adds or replaces a record. The text of a message begins with its subqueue and its content.
func (t truth) put(r engine.Record) {
	switch r := r.(type) {
	case engine.Clock: // the judge checks it
	case engine.Setting:
		t[settingName(r.Key)] = fmt.Sprintf("%+v", r)
	case engine.Entity:
		t[entityName(r.ID)] = fmt.Sprintf("%+v", r)
	case engine.Rule:
		t[ruleName(engine.RuleID{Subscription: r.Subscription, Name: strings.ToLower(r.Name)})] = fmt.Sprintf("%+v", r)
	case engine.Meter:
		t[meterName(r.Subqueue)] = fmt.Sprintf("%+v", r)
	case engine.SessionRecord:
		t[sessionName(r.Subqueue, r.ID)] = fmt.Sprintf("%+v", r)
	case engine.SeenIDs:
		t[seenName(r.Subqueue, r.N)] = fmt.Sprintf("%+v", r)
	case engine.StoredContent:
		t[contentName(r.Key)] = fmt.Sprintf("%x", r.Content)
	case engine.Message:
		extra := engine.Extra{}
		if r.Extra != nil {
			extra = *r.Extra
			r.Extra = nil
		}
		t[messageName(r.Key)] = fmt.Sprintf("%d %d %+v %+v", r.Subqueue, r.Content, r, extra)
	default:
		panic(fmt.Sprintf("unknown record %T", r))
	}
}

func (t truth) apply(b *engine.Batch) {
	for _, v := range b.Settings {
		t.put(v)
	}
	for _, key := range b.DropSettings {
		delete(t, settingName(key))
	}
	for _, e := range b.Entities {
		t.put(e)
	}
	for _, r := range b.Rules {
		t.put(r)
	}
	for _, m := range b.Meters {
		t.put(m)
	}
	for _, id := range b.DropSessions {
		delete(t, sessionName(id.Subqueue, id.ID))
	}
	for _, through := range b.DropSeen {
		maps.DeleteFunc(t, func(name, _ string) bool {
			var h engine.SubqueueID
			var n uint64
			read, err := fmt.Sscanf(name, "seen %d %d", &h, &n)
			return read == 2 && err == nil && h == through.Subqueue && n <= through.N
		})
	}
	for _, s := range b.Sessions {
		t.put(s)
	}
	for _, s := range b.Seen {
		t.put(s)
	}
	for _, c := range b.Contents {
		t.put(c)
	}
	for _, m := range b.Messages {
		t.put(m)
	}
	for _, k := range b.DropMessages {
		delete(t, messageName(k))
	}
	for _, c := range b.DropContents {
		delete(t, contentName(c.Key))
	}
	for _, id := range b.DropRules {
		delete(t, ruleName(id))
	}
	for _, id := range b.DropSubqueues {
		delete(t, entityName(id))
		delete(t, meterName(id))
		holder := fmt.Sprint(id)
		maps.DeleteFunc(t, func(name, is string) bool {
			for _, of := range []string{"rule", "session", "seen"} {
				if strings.HasPrefix(name, of+" "+holder+" ") {
					return true
				}
			}
			return strings.HasPrefix(name, "message ") && holderOf(is) == holder
		})
	}
}

// visible returns t without contents that no message refers to, because a store may drop them.
func (t truth) visible() truth {
	used := map[string]bool{}
	for name, is := range t {
		if strings.HasPrefix(name, "message ") {
			var holder, content string
			_, err := fmt.Sscan(is, &holder, &content)
			must(err)
			used["content "+content] = true
		}
	}
	v := maps.Clone(t)
	maps.DeleteFunc(v, func(name, _ string) bool { return strings.HasPrefix(name, "content ") && !used[name] })
	return v
}

// differ describes what is additional, missing or different in got.
func differ(want, got truth) string {
	var d []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch is, ok := got[name]; {
		case !ok:
			d = append(d, "lost: "+name)
		case is != want[name]:
			d = append(d, fmt.Sprintf("%s is %s, want %s", name, is, want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			d = append(d, "risen: "+name)
		}
	}
	return strings.Join(d, "\n\t")
}

// An outcome is the result of a commit.
type outcome int

const (
	pending outcome = iota // no answer yet, or an uncertain one
	acknowledged
	void // nothing was applied
)

// A committed is a batch that an owner gave to its store.
type committed struct {
	epoch    uint64
	serial   int
	batch    *engine.Batch
	outcome  outcome
	read     bool // a later owner has loaded the namespace
	included bool // and the batch was in it
}

func (c *committed) String() string { return fmt.Sprintf("batch %d of epoch %d", c.serial, c.epoch) }

// A judge records what was acknowledged to which owner, and reports violations.
type judge struct {
	mu      sync.Mutex
	base    truth  // the records that the latest owner loaded
	epoch   uint64 // the latest owner's epoch
	log     []*committed
	safe    int // how many of log must be found: all up to the latest hard batch that was acknowledged
	settled map[engine.Key]uint64
	clock   engine.Instant // of the latest hard batch that was acknowledged
	latest  engine.Instant // of any batch
	serial  int            // of the latest batch
	durable int            // of the latest hard one that was acknowledged
	history []*committed   // all batches that survived, in order
	glances []glance
	wrongs  []string
	tally   tally
	// clocks means that clocks may be arbitrarily wrong: then two processes may believe that
	// they own the namespace, and yet at most one of them can commit.
	clocks bool
}

// A tally counts what happened in a schedule, or in many.
type tally struct{ owners, acknowledged, refused, doubtful, glances int }

func (t *tally) add(one tally) {
	t.owners += one.owners
	t.acknowledged += one.acknowledged
	t.refused += one.refused
	t.doubtful += one.doubtful
	t.glances += one.glances
}

func (t tally) String() string {
	return fmt.Sprintf("%d owners, %d commits acknowledged, %d refused, %d in doubt, %d looks",
		t.owners, t.acknowledged, t.refused, t.doubtful, t.glances)
}

func (j *judge) wrong(format string, args ...any) {
	j.wrongs = append(j.wrongs, fmt.Sprintf(format, args...))
}

// loaded checks the records that a new owner loaded, at a moment at which it owns the
// namespace.
func (j *judge) loaded(epoch uint64, got truth, clock engine.Instant) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.epoch >= epoch {
		if !j.clocks {
			j.wrong("epoch %d has loaded and owns after epoch %d did", epoch, j.epoch)
		}
		return
	}
	n := j.match(got)
	if n < 0 {
		return
	}
	if clock < j.clock || clock > j.latest {
		j.wrong("epoch %d loaded the clock %d, and it must be from %d to %d", epoch, clock, j.clock, j.latest)
	}
	for i, c := range j.log {
		c.read, c.included = true, i < n
	}
	j.history = append(j.history, j.log[:n]...)
	j.tally.owners++
	j.base, j.epoch, j.log, j.safe, j.clock = got, epoch, nil, 0, max(j.clock, clock)
}

// reloaded checks the records that an owner loaded again while it committed nothing.
func (j *judge) reloaded(epoch uint64, got truth) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.epoch != epoch {
		return
	}
	state := maps.Clone(j.base)
	for _, c := range j.log {
		state.apply(c.batch)
	}
	if d := differ(state.visible(), got); d != "" {
		j.wrong("epoch %d found something else when it loaded again:\n\t%s", epoch, d)
	}
}

// match returns how many of the commits since the last load are in got, or a negative number if
// got is not a possible state.
func (j *judge) match(got truth) int {
	state := maps.Clone(j.base)
	best := ""
	for n := 0; ; n++ {
		if n >= j.safe {
			d := differ(state.visible(), got)
			if d == "" {
				return n
			}
			if best == "" || len(d) < len(best) {
				best = fmt.Sprintf("with %d of %d commits of epoch %d, of which %d must be:\n\t%s", n, len(j.log), j.epoch, j.safe, d)
			}
		}
		if n == len(j.log) {
			break
		}
		if state == nil {
			state = truth{}
		}
		state.apply(j.log[n].batch)
	}
	j.wrong("a load found a state that never existed; the nearest differs by %s", best)
	return -1
}

// commits records a batch that is about to be committed.
func (j *judge) commits(epoch uint64, b *engine.Batch) *committed {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.serial++
	j.latest = max(j.latest, b.Now)
	c := &committed{epoch: epoch, serial: j.serial, batch: b}
	if epoch == j.epoch {
		j.log = append(j.log, c)
	} else {
		c.read = true // the later owner did not load it
	}
	return c
}

// answered records the store's answer.
func (j *judge) answered(c *committed, o outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c.outcome = o
	switch o {
	case pending:
		j.tally.doubtful++
	case acknowledged:
		j.tally.acknowledged++
		if c.batch.Hard && c.read && !c.included {
			j.wrong("%v was acknowledged, and a later owner did not find it", c)
		}
		for _, k := range c.batch.DropMessages {
			if by, ok := j.settled[k]; ok && c.batch.Hard {
				j.wrong("message %d was settled in epoch %d and again in epoch %d", k, by, c.epoch)
			}
			if c.batch.Hard {
				j.settled[k] = c.epoch
			}
		}
		if i := slices.Index(j.log, c); i >= 0 && c.batch.Hard {
			j.safe = i + 1
			j.durable = max(j.durable, c.serial)
			j.clock = max(j.clock, c.batch.Now)
		}
	case void:
		j.tally.refused++
		if c.read && c.included {
			j.wrong("%v was refused, and a later owner found it", c)
		}
		j.log = slices.DeleteFunc(j.log, func(l *committed) bool { return l == c })
	}
}

// parted records that an owner has closed its store without an error.
func (j *judge) parted(epoch uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if epoch != j.epoch {
		return
	}
	for i, c := range j.log {
		if c.outcome == acknowledged {
			j.safe = max(j.safe, i+1)
		}
	}
}

// acts reports a violation if Owned has just returned true for the owner of this epoch although
// another process owns a later one. It does nothing if clocks may be wrong.
func (j *judge) acts(epoch uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.epoch > epoch && !j.clocks {
		j.wrong("epoch %d acts while epoch %d does", epoch, j.epoch)
	}
}

// past returns the audit events that survived.
func (j *judge) past() truth {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := truth{}
	for _, c := range j.history {
		for _, e := range c.batch.Audit {
			t[eventName(engine.HistoryEvent{Epoch: c.epoch, Event: e})] = ""
		}
	}
	return t
}

func eventName(e engine.HistoryEvent) string {
	return fmt.Sprintf("event %d of epoch %d at %d by %s", e.N, e.Epoch, e.At, e.Actor)
}

// failed records an error that must not occur.
func (j *judge) failed(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.wrong("%v", err)
}

// lost records that an owner did not find something that must exist.
func (j *judge) lost(epoch uint64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.epoch == epoch {
		j.wrong("epoch %d: %v", epoch, err)
	}
}

// verdict returns the first violation, or nil if there was none.
func (j *judge) verdict() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.wrongs) == 0 {
		return nil
	}
	return errors.New(j.wrongs[0])
}
