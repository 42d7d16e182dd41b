package search

import (
	"slices"
	"strings"
)

// A key is what a term is about.
type key uint8

const (
	keyWord key = iota // subject, message id or body
	keyBody
	keySubject
	keyID
	keyCorrelation
	keySession
	keyTo
	keyReplyTo
	keyType
	keyIn
	keyState
	keyReason
	keyError
	keySource
	keyProp
	keyJSON
	keyAge
	keyTTL
	keyDue
	keyEnqueued
	keyDelivery
	keySeq
	keySize

	// Of entities.
	keyName
	keyKind
	keyStatus
	keyHas
	keyExpiring
	keyTemp
	keyIdle
	keyMessages
	keyActiveCount
	keyLockedCount
	keyDeferredCount
	keyScheduledCount
	keyDead
	keyTransfer
	keySubscriptions
	keySessions
	keyReceivers
	keyBytes
)

// A grammar is what a text may ask for: words, and the keys from one to another.
type grammar uint8

const (
	ofMessages grammar = iota
	ofEntities
)

func (g grammar) bounds() (first, last key) {
	if g == ofEntities {
		return keyName, keyBytes
	}
	return keyBody, keySize
}

// called is what a text is, for a sentence.
func (g grammar) called() string {
	if g == ofEntities {
		return "A filter"
	}
	return "A search"
}

// A sort is what the values of a key are.
type sort uint8

const (
	textSort     sort = iota
	choiceSort        // one of a few
	durationSort      // compared only
	expirySort        // durationSort, or never
	endSort           // durationSort, or nothing at all: that there is an end
	momentSort
	wholeSort
	sizeSort
	anySort // whatever the message has there
)

// names says per key how it is written, what its values are, and a term as an
// example.
var names = [...]struct {
	name    string
	sort    sort
	example string
}{
	keyWord:        {"", textSort, "heartbeat"},
	keyBody:        {"body", textSort, `body:"order 17"`},
	keySubject:     {"subject", textSort, "subject:order*"},
	keyID:          {"id", textSort, "id:a1b2"},
	keyCorrelation: {"correlation", textSort, "correlation:c-17"},
	keySession:     {"session", textSort, "session:abc"},
	keyTo:          {"to", textSort, "to:billing"},
	keyReplyTo:     {"reply-to", textSort, "reply-to:answers*"},
	keyType:        {"type", textSort, "type:application/json*"},
	keyIn:          {"in", textSort, "in:orders"},
	keyState:       {"state", choiceSort, "state:active,dead"},
	keyReason:      {"reason", textSort, "reason:TTLExpired*"},
	keyError:       {"error", textSort, `error:"timeout after # ms"`},
	keySource:      {"source", textSort, "source:orders"},
	keyProp:        {"prop.", anySort, "prop.region:eu"},
	keyJSON:        {"json.", anySort, "json.customer.id:42"},
	keyAge:         {"age", durationSort, "age:>5m"},
	keyTTL:         {"ttl", expirySort, "ttl:<1m"},
	keyDue:         {"due", durationSort, "due:<1h"},
	keyEnqueued:    {"enqueued", momentSort, "enqueued:>=2026-07-14"},
	keyDelivery:    {"delivery", wholeSort, "delivery:>=3"},
	keySeq:         {"seq", wholeSort, "seq:17"},
	keySize:        {"size", sizeSort, "size:>1KB"},

	keyName:           {"name", textSort, "name:orders-*"},
	keyKind:           {"kind", choiceSort, "kind:queue"},
	keyStatus:         {"status", choiceSort, "status:disabled"},
	keyHas:            {"has", choiceSort, "has:dlq"},
	keyExpiring:       {"expiring", endSort, "expiring:<5m"},
	keyTemp:           {"temp", endSort, "temp:<10m"},
	keyIdle:           {"idle", durationSort, "idle:>1h"},
	keyMessages:       {"messages", wholeSort, "messages:>1000"},
	keyActiveCount:    {"active", wholeSort, "active:>100"},
	keyLockedCount:    {"locked", wholeSort, "locked:>10"},
	keyDeferredCount:  {"deferred", wholeSort, "deferred:>0"},
	keyScheduledCount: {"scheduled", wholeSort, "scheduled:>0"},
	keyDead:           {"dlq", wholeSort, "dlq:>100"},
	keyTransfer:       {"transfer", wholeSort, "transfer:>0"},
	keySubscriptions:  {"subscriptions", wholeSort, "subscriptions:0"},
	keySessions:       {"sessions", wholeSort, "sessions:>0"},
	keyReceivers:      {"receivers", wholeSort, "receivers:0"},
	keyBytes:          {"size", sizeSort, "size:>100MB"},
}

func (k key) String() string { return names[k].name }

// A Key is one that a term may have, for pages that propose them.
type Key struct {
	Name    string // as it is written before the colon; "prop." and "json." want a name after them
	Example string // a term with it
}

// Keys are all there are of messages, in the order of the package's grammar.
func Keys() []Key { return ofMessages.keys() }

// EntityKeys are all there are of entities, in the order of the package's grammar.
func EntityKeys() []Key { return ofEntities.keys() }

func (g grammar) keys() []Key {
	var out []Key
	first, last := g.bounds()
	for _, n := range names[first : last+1] {
		out = append(out, Key{Name: n.name, Example: n.example})
	}
	return out
}

// counts are the keys of numbers that has: asks for too.
func counts() []key {
	return []key{
		keyMessages, keyActiveCount, keyLockedCount, keyDeferredCount, keyScheduledCount, keyDead, keyTransfer, keySessions, keyReceivers, keySubscriptions,
	}
}

// choices are the values of a key of that sort.
func (k key) choices() []string {
	switch k {
	case keyState:
		return states[:]
	case keyKind:
		return []string{"queue", "topic", "subscription"}
	case keyStatus:
		return []string{"active", "disabled", "senddisabled", "receivedisabled"}
	case keyHas:
		var all []string
		for _, k := range counts() {
			all = append(all, k.String())
		}
		return all
	default:
		return nil
	}
}

// States are the values of state:, in the order a message may go through them.
func States() []string { return slices.Clone(states[:]) }

var states = [...]string{
	stateActive:    "active",
	stateLocked:    "locked",
	stateDeferred:  "deferred",
	stateScheduled: "scheduled",
	stateDead:      "dead",
}

const (
	stateActive = iota
	stateLocked
	stateDeferred
	stateScheduled
	stateDead
)

// keyNamed is the key that is written name, in any case, and for properties and
// JSON what follows it.
func (g grammar) keyNamed(name string) (k key, rest string, ok bool) {
	first, last := g.bounds()
	for k := first; k <= last; k++ {
		if strings.EqualFold(name, names[k].name) && names[k].sort != anySort {
			return k, "", true
		}
	}
	if g != ofMessages {
		return 0, "", false
	}
	for _, k := range [...]key{keyProp, keyJSON} {
		if p := k.String(); len(name) > len(p) && strings.EqualFold(name[:len(p)], p) {
			return k, name[len(p):], true
		}
	}
	if len(name) > 4 && strings.EqualFold(name[:4], "json") && name[4] == '[' {
		return keyJSON, name[4:], true
	}
	return 0, "", false
}

// known are the names of all keys for a sentence.
func (g grammar) known() string {
	var b strings.Builder
	for i, k := range g.keys() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(k.Name)
		switch k.Name {
		case "prop.":
			b.WriteString("NAME")
		case "json.":
			b.WriteString("PATH")
		}
	}
	return b.String()
}
