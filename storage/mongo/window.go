package mongo

import (
	"maps"
	"strings"

	"mayfly/engine"
)

// A window holds the commits of about a second that are not applied yet: the latest change of
// each identity. An identity that was created and dropped inside one window is not in it, and
// never reaches the collections.
type window struct {
	upTo    version // of the last commit; zero if there is none
	now     engine.Instant
	commits int
	bytes   int64 // of the journal

	access           *accessChange // nil if unchanged
	settings         map[string]settingChange
	entities         map[engine.SubqueueID]entityChange
	rules            map[engine.RuleID]ruleChange
	meters           map[engine.SubqueueID]meterChange
	sessions         map[engine.SessionID]sessionChange
	seen             map[engine.SubqueueID]*seenChange
	messages         map[engine.Key]messageChange
	contents         map[engine.Key]contentChange
	bodies           map[engine.Key][]byte
	droppedSubqueues []subqueue // deleted subqueues
	audit            []engine.HistoryEvent
	journal          []entry // the commits in it
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
	version version
	m       engine.Message
	content engine.Packed // as the sender wrote it; empty means that the store has it
	gone    bool
	first   bool // there was never a document with this key
}

type contentChange struct {
	packed  engine.Packed
	gone    bool
	hasBody bool // the body must be deleted too
}

// A subqueue holds the properties of a subqueue that its messages' documents depend on.
type subqueue struct {
	id                 engine.SubqueueID
	path               engine.Path
	deadLettersExpired bool // expired messages are dead-lettered
}

// An entry is a commit in the journal, with its parts.
type entry struct {
	at      version
	attempt uint64 // in the _ids of its parts
	parts   int
	bytes   int64
}

func newWindow() *window {
	return &window{
		settings: map[string]settingChange{},
		entities: map[engine.SubqueueID]entityChange{}, rules: map[engine.RuleID]ruleChange{}, meters: map[engine.SubqueueID]meterChange{},
		sessions: map[engine.SessionID]sessionChange{}, seen: map[engine.SubqueueID]*seenChange{},
		messages: map[engine.Key]messageChange{}, contents: map[engine.Key]contentChange{}, bodies: map[engine.Key][]byte{},
	}
}

// A storedKeys reports which keys the collections may already hold documents of.
type storedKeys interface {
	message(k engine.Key) bool
	content(k engine.Key) bool
}

// add adds a commit. It forgets a dropped identity that, according to held, the collections
// cannot contain, and keeps the drop of any other.
func (w *window) add(at version, b *engine.Batch, held storedKeys) {
	w.upTo, w.now = at, b.Now
	w.commits++
	for i := range b.Messages {
		m := messageChange{version: at, m: b.Messages[i]}
		if len(b.Written) > 0 {
			m.content = b.Written[i]
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
	w.addSeen(at, b)
	w.addDefinitions(at, b)
	w.dropSubqueues(at, b.DropSubqueues, held)
}

// addDefinitions adds the records of a commit that seldom change in a busy broker: access rules,
// settings, entities, rules, meters and sessions; and its audit events.
func (w *window) addDefinitions(at version, b *engine.Batch) {
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
		w.meters[m.Subqueue] = meterChange{at: at, m: m}
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
		w.audit = append(w.audit, engine.HistoryEvent{Epoch: at.epoch(), Event: e})
	}
}

func ruleID(r engine.Rule) engine.RuleID {
	return engine.RuleID{Subscription: r.Subscription, Name: strings.ToLower(r.Name)}
}

func (w *window) dropMessage(at version, k engine.Key, held storedKeys) {
	if !held.message(k) {
		delete(w.messages, k)
		return
	}
	w.messages[k] = messageChange{version: at, gone: true}
}

func (w *window) dropContent(c engine.DroppedContent, held storedKeys) {
	delete(w.bodies, c.Key)
	if !held.content(c.Key) {
		delete(w.contents, c.Key)
		return
	}
	w.contents[c.Key] = contentChange{gone: true, hasBody: c.HasBody}
}

// dropSubqueues removes the window's changes of deleted subqueues. Their documents in the
// collections are swept later: no entity claims them any more.
func (w *window) dropSubqueues(at version, ids []engine.SubqueueID, held storedKeys) {
	if len(ids) == 0 {
		return
	}
	gone := make(map[engine.SubqueueID]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
		w.entities[id] = entityChange{at: at, gone: true}
		w.meters[id] = meterChange{at: at, gone: true}
		delete(w.seen, id)
	}
	maps.DeleteFunc(w.sessions, func(id engine.SessionID, _ sessionChange) bool { return gone[id.Subqueue] })
	for id := range w.rules {
		if gone[id.Subscription] {
			w.rules[id] = ruleChange{at: at, gone: true}
		}
	}
	for k, c := range w.messages {
		if !c.gone && gone[c.m.Subqueue] {
			w.dropMessage(at, k, held)
		}
	}
}

// merged returns w merged with a later window, for a reader. It does not change w. Where both
// have a change, the later one wins.
func (w *window) merged(later *window) *window {
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
		out.addSeenOf(from)
		maps.Copy(out.messages, from.messages)
		maps.Copy(out.contents, from.contents)
		maps.Copy(out.bodies, from.bodies)
	}
	return out
}
