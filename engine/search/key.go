package search

import (
	"slices"
	"strings"
)

// A key is the field that a term is about.
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

	// Keys of entities.
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

// A grammar is a kind of query, for messages or entities. It determines the keys.
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

// called returns how error messages call a query.
func (g grammar) called() string {
	if g == ofEntities {
		return "A filter"
	}
	return "A search"
}

// A valueType is the type of a key's values.
type valueType uint8

const (
	textType     valueType = iota
	choiceType             // one of a few words
	durationType           // only for comparison
	expiryType             // a duration, or never
	endType                // a duration, or empty, which matches any end
	momentType
	integerType
	sizeType
	anyType // any type
)

// names has, for each key, its spelling, the type of its values, and an example of a term.
var names = [...]struct {
	name    string
	sort    valueType
	example string
}{
	keyWord:        {"", textType, "heartbeat"},
	keyBody:        {"body", textType, `body:"order 17"`},
	keySubject:     {"subject", textType, "subject:order*"},
	keyID:          {"id", textType, "id:a1b2"},
	keyCorrelation: {"correlation", textType, "correlation:c-17"},
	keySession:     {"session", textType, "session:abc"},
	keyTo:          {"to", textType, "to:billing"},
	keyReplyTo:     {"reply-to", textType, "reply-to:answers*"},
	keyType:        {"type", textType, "type:application/json*"},
	keyIn:          {"in", textType, "in:orders"},
	keyState:       {"state", choiceType, "state:active,dead"},
	keyReason:      {"reason", textType, "reason:TTLExpired*"},
	keyError:       {"error", textType, `error:"timeout after # ms"`},
	keySource:      {"source", textType, "source:orders"},
	keyProp:        {"prop.", anyType, "prop.region:eu"},
	keyJSON:        {"json.", anyType, "json.customer.id:42"},
	keyAge:         {"age", durationType, "age:>5m"},
	keyTTL:         {"ttl", expiryType, "ttl:<1m"},
	keyDue:         {"due", durationType, "due:<1h"},
	keyEnqueued:    {"enqueued", momentType, "enqueued:>=2026-07-14"},
	keyDelivery:    {"delivery", integerType, "delivery:>=3"},
	keySeq:         {"seq", integerType, "seq:17"},
	keySize:        {"size", sizeType, "size:>1KB"},

	keyName:           {"name", textType, "name:orders-*"},
	keyKind:           {"kind", choiceType, "kind:queue"},
	keyStatus:         {"status", choiceType, "status:disabled"},
	keyHas:            {"has", choiceType, "has:dlq"},
	keyExpiring:       {"expiring", endType, "expiring:<5m"},
	keyTemp:           {"temp", endType, "temp:<10m"},
	keyIdle:           {"idle", durationType, "idle:>1h"},
	keyMessages:       {"messages", integerType, "messages:>1000"},
	keyActiveCount:    {"active", integerType, "active:>100"},
	keyLockedCount:    {"locked", integerType, "locked:>10"},
	keyDeferredCount:  {"deferred", integerType, "deferred:>0"},
	keyScheduledCount: {"scheduled", integerType, "scheduled:>0"},
	keyDead:           {"dlq", integerType, "dlq:>100"},
	keyTransfer:       {"transfer", integerType, "transfer:>0"},
	keySubscriptions:  {"subscriptions", integerType, "subscriptions:0"},
	keySessions:       {"sessions", integerType, "sessions:>0"},
	keyReceivers:      {"receivers", integerType, "receivers:0"},
	keyBytes:          {"size", sizeType, "size:>100MB"},
}

func (k key) String() string { return names[k].name }

// A Key describes a key of the grammar, for pages that propose keys.
type Key struct {
	Name    string // as it is written before the colon; "prop." and "json." need a name after them
	Example string // a term with the key
}

// Keys returns all keys for messages, in the order of the package's grammar.
func Keys() []Key { return ofMessages.keys() }

// EntityKeys returns all keys for entities, in the order of the package's grammar.
func EntityKeys() []Key { return ofEntities.keys() }

func (g grammar) keys() []Key {
	var out []Key
	first, last := g.bounds()
	for _, n := range names[first : last+1] {
		out = append(out, Key{Name: n.name, Example: n.example})
	}
	return out
}

// counts are the keys of numbers that are also values of has:.
var counts = []key{
	keyMessages, keyActiveCount, keyLockedCount, keyDeferredCount, keyScheduledCount, keyDead, keyTransfer, keySessions, keyReceivers, keySubscriptions,
}

// choices returns the values of a key of choiceType.
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
		for _, k := range counts {
			all = append(all, k.String())
		}
		return all
	default:
		return nil
	}
}

// States returns the values of state:.
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

// keyNamed returns the key with a name, ignoring case; for properties and JSON, rest is the name or
// path that follows.
func (g grammar) keyNamed(name string) (k key, rest string, ok bool) {
	first, last := g.bounds()
	for k := first; k <= last; k++ {
		if strings.EqualFold(name, names[k].name) && names[k].sort != anyType {
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

// known returns the names of all keys, separated by commas, for use in an error.
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
