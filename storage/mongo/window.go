package mongo

import (
	"maps"
	"strings"

	"mayfly/engine"
)

// A window is what was committed in about a second and is not applied yet: for
// each identity what the last commit made of it. What came and went inside one
// window is not in it, and never reaches the collections.
type window struct {
	upTo    version // of the last commit; zero: there is none
	now     engine.Instant
	commits int
	bytes   int64 // of the journal

	access   *accessChange // nil: there is none
	settings map[string]settingChange
	entities map[engine.HolderID]entityChange
	rules    map[engine.RuleID]ruleChange
	meters   map[engine.HolderID]meterChange
	sessions map[engine.SessionID]sessionChange
	seen     map[engine.HolderID]*seenChange
	messages map[engine.Key]messageChange
	contents map[engine.Key]contentChange
	bodies   map[engine.Key][]byte
	dropped  []place // holders that are no more
	audit    []engine.PastEvent
	journal  []entry // what it was made of
}

type entityChange struct {
	at   version
	e    engine.Entity
	gone bool
}

type ruleChange struct {
	at   version
	r    engine.Rule
	gone bool
}

type meterChange struct {
	at   version
	m    engine.Meter
	gone bool
}

type messageChange struct {
	at      version
	m       engine.Message
	written engine.Packed // what its sender wrote; empty: the store has it
	gone    bool
	first   bool // there was never a document of it
}

type contentChange struct {
	packed  engine.Packed
	gone    bool
	hasBody bool // that goes too
}

// A place is a holder as documents name it.
type place struct {
	id    engine.HolderID
	path  engine.Path
	keeps bool // messages that expire become dead letters here
}

// An entry is a document of journal with its parts.
type entry struct {
	at      version
	attempt uint64 // in the names of its parts
	parts   int
	bytes   int64
}

func newWindow() *window {
	return &window{
		settings: map[string]settingChange{},
		entities: map[engine.HolderID]entityChange{}, rules: map[engine.RuleID]ruleChange{}, meters: map[engine.HolderID]meterChange{},
		sessions: map[engine.SessionID]sessionChange{}, seen: map[engine.HolderID]*seenChange{},
		messages: map[engine.Key]messageChange{}, contents: map[engine.Key]contentChange{}, bodies: map[engine.Key][]byte{},
	}
}

// holding tells of what the collections may hold documents already.
type holding interface {
	message(k engine.Key) bool
	content(k engine.Key) bool
}

// add takes in a commit. Identities that the collections cannot hold, by held,
// are forgotten when they go; of others it is kept that they went.
func (w *window) add(at version, b *engine.Batch, held holding) {
	w.upTo, w.now = at, b.Now
	w.commits++
	for i := range b.Messages {
		m := messageChange{at: at, m: b.Messages[i]}
		if len(b.Written) > 0 {
			m.written = b.Written[i]
		}
		w.messages[m.m.Key] = m
	}
	for _, c := range b.Contents {
		w.contents[c.Key] = contentChange{packed: c.Content}
	}
	for _, body := range b.Bodies {
		w.bodies[body.Key] = body.Bytes
	}
	for _, k := range b.DropMessages {
		w.dropMessage(at, k, held)
	}
	for _, c := range b.DropContents {
		w.dropContent(c, held)
	}
	w.see(at, b)
	w.addRare(at, b)
	w.dropHolders(at, b.DropHolders, held)
}

// addRare is add for what a busy broker seldom changes.
func (w *window) addRare(at version, b *engine.Batch) {
	if b.Access != nil {
		w.access = &accessChange{at: at, a: *b.Access}
	}
	for _, v := range b.Settings {
		w.settings[v.Key] = settingChange{at: at, s: v}
	}
	for _, key := range b.DropSettings {
		w.settings[key] = settingChange{at: at, gone: true}
	}
	for _, e := range b.Entities {
		w.entities[e.ID] = entityChange{at: at, e: e}
	}
	for _, r := range b.Rules {
		w.rules[ruleID(r)] = ruleChange{at: at, r: r}
	}
	for _, m := range b.Meters {
		w.meters[m.Holder] = meterChange{at: at, m: m}
	}
	for _, v := range b.Sessions {
		w.sessions[sessionID(v)] = sessionChange{at: at, s: v}
	}
	for _, id := range b.DropSessions {
		w.sessions[id] = sessionChange{at: at, gone: true}
	}
	for _, id := range b.DropRules {
		w.rules[engine.RuleID{Subscription: id.Subscription, Name: strings.ToLower(id.Name)}] = ruleChange{at: at, gone: true}
	}
	for _, e := range b.Audit {
		w.audit = append(w.audit, engine.PastEvent{Epoch: at.epoch(), Event: e})
	}
}

func ruleID(r engine.Rule) engine.RuleID {
	return engine.RuleID{Subscription: r.Subscription, Name: strings.ToLower(r.Name)}
}

func (w *window) dropMessage(at version, k engine.Key, held holding) {
	if !held.message(k) {
		delete(w.messages, k)
		return
	}
	w.messages[k] = messageChange{at: at, gone: true}
}

func (w *window) dropContent(c engine.DroppedContent, held holding) {
	delete(w.bodies, c.Key)
	if !held.content(c.Key) {
		delete(w.contents, c.Key)
		return
	}
	w.contents[c.Key] = contentChange{gone: true, hasBody: c.HasBody}
}

// dropHolders drops what the window holds of them. What the collections hold of
// them is swept later: nothing claims it any more.
func (w *window) dropHolders(at version, ids []engine.HolderID, held holding) {
	if len(ids) == 0 {
		return
	}
	gone := make(map[engine.HolderID]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
		w.entities[id] = entityChange{at: at, gone: true}
		w.meters[id] = meterChange{at: at, gone: true}
		delete(w.seen, id)
	}
	maps.DeleteFunc(w.sessions, func(id engine.SessionID, _ sessionChange) bool { return gone[id.Holder] })
	for id := range w.rules {
		if gone[id.Subscription] {
			w.rules[id] = ruleChange{at: at, gone: true}
		}
	}
	for k, c := range w.messages {
		if !c.gone && gone[c.m.Holder] {
			w.dropMessage(at, k, held)
		}
	}
}

// over is what w and a later window make together, for a reader: w is not
// changed, and where both have something to say the later one is right.
func (w *window) over(later *window) *window {
	out := newWindow()
	for _, from := range []*window{w, later} {
		if from == nil {
			continue
		}
		if from.upTo >= out.upTo {
			out.upTo, out.now = from.upTo, from.now
		}
		if from.access != nil {
			out.access = from.access
		}
		maps.Copy(out.settings, from.settings)
		maps.Copy(out.entities, from.entities)
		maps.Copy(out.rules, from.rules)
		maps.Copy(out.meters, from.meters)
		maps.Copy(out.sessions, from.sessions)
		out.seeAfter(from)
		maps.Copy(out.messages, from.messages)
		maps.Copy(out.contents, from.contents)
		maps.Copy(out.bodies, from.bodies)
	}
	return out
}
