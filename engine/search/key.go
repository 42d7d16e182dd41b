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
)

// A sort is what the values of a key are.
type sort uint8

const (
	textSort sort = iota
	stateSort
	durationSort // compared only
	expirySort   // durationSort, or never
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
	keyState:       {"state", stateSort, "state:active,dead"},
	keyReason:      {"reason", textSort, "reason:TTLExpired*"},
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
}

func (k key) String() string { return names[k].name }

// A Key is one that a term may have, for pages that propose them.
type Key struct {
	Name    string // as it is written before the colon; "prop." and "json." want a name after them
	Example string // a term with it
}

// Keys are all there are, in the order of the package's grammar.
func Keys() []Key {
	out := make([]Key, 0, len(names)-1)
	for _, n := range names[1:] {
		out = append(out, Key{Name: n.name, Example: n.example})
	}
	return out
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
func keyNamed(name string) (k key, rest string, ok bool) {
	for i, n := range names[1:] {
		if strings.EqualFold(name, n.name) && n.sort != anySort {
			return key(i + 1), "", true
		}
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
func known() string {
	var b strings.Builder
	for i, k := range Keys() {
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
