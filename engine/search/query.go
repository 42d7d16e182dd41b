package search

import (
	"slices"
	"strings"
	"unicode"

	"mayfly/engine"
)

// A Query has terms that must all be true of a message. It is immutable, and may be used by
// many goroutines at once. The zero Query and a nil one have no terms, and match every
// message.
type Query struct{ terms terms }

// Empty reports whether the query has no terms, so that every message matches.
func (q *Query) Empty() bool { return q == nil || len(q.terms) == 0 }

// String returns the query in the form that Parse parses. It is the same for all texts with the
// same terms in the same order.
func (q *Query) String() string { return strings.Join(q.Terms(), " ") }

// Terms returns each term in the form of String.
func (q *Query) Terms() []string {
	if q == nil {
		return nil
	}
	return q.terms.texts()
}

// Without returns q without its i-th term.
func (q *Query) Without(i int) *Query { return &Query{q.terms.without(i)} }

// terms are conditions that must all be true.
type terms []term

func (all terms) texts() []string {
	out := make([]string, len(all))
	for i, t := range all {
		out[i] = t.String()
	}
	return out
}

func (all terms) without(i int) terms { return slices.Delete(slices.Clone(all), i, i+1) }

// Within returns q with another term in:path, which restricts it to an entity, a topic or a pattern
// of paths.
func (q *Query) Within(path string) *Query {
	return &Query{append(slices.Clone(q.terms), term{key: keyIn, vals: []operand{{text: path, quoted: !strings.Contains(path, "*"), glob: newGlob(path, false)}}})}
}

func (t term) String() string {
	var b strings.Builder
	if t.not {
		b.WriteByte('-')
	}
	switch {
	case t.key == keyWord:
	case t.key == keyProp && t.any:
		b.WriteString("prop.*:")
	case t.key == keyProp && (t.name == "*" || strings.ContainsAny(t.name, `":\`) || !plainWord(t.name)):
		b.WriteString("prop." + quote(t.name) + ":")
	case t.key == keyProp:
		b.WriteString("prop." + t.name + ":")
	case t.key == keyJSON && t.path[0].list:
		b.WriteString("json" + pathText(t.path) + ":")
	case t.key == keyJSON:
		b.WriteString("json." + pathText(t.path) + ":")
	default:
		b.WriteString(t.key.String() + ":")
	}
	for i, v := range t.vals {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(v.String())
	}
	return b.String()
}

// plainWord reports whether s has no spaces.
func plainWord(s string) bool { return !strings.ContainsFunc(s, unicode.IsSpace) }

// Covers reports whether messages in the subqueue p can match at all, judging by its path. A scan
// can skip the subqueues that are not covered.
func (q *Query) Covers(p engine.Path) bool {
	if q == nil {
		return true
	}
	for i := range q.terms {
		t := &q.terms[i]
		switch {
		case t.key == keyIn:
			if t.in(p) == t.not {
				return false
			}
		case t.key == keyState && !t.not && t.only(stateDead) && !p.IsDeadLetter(),
			t.key == keyState && !t.not && t.only(stateActive, stateScheduled) && p.IsDeadLetter():
			return false
		}
	}
	return true
}

// Class returns a class of messages that contains all matches: ClassScheduled if only scheduled
// messages can match, else ClassAll.
func (q *Query) Class() engine.Class {
	if q != nil {
		for i := range q.terms {
			if t := &q.terms[i]; t.key == keyState && !t.not && t.only(stateScheduled) {
				return engine.ClassScheduled
			}
		}
	}
	return engine.ClassAll
}

// only reports whether all values of t, a term with the key state, are among the given states.
func (t *term) only(states ...int) bool {
	for i := range t.vals {
		if !slices.Contains(states, t.vals[i].choice) {
			return false
		}
	}
	return true
}

// in reports whether t, a term with the key in, matches p, or the entity or topic to which p
// belongs.
func (t *term) in(p engine.Path) bool {
	topic, _, _ := p.Subscription()
	for i := range t.vals {
		g := t.vals[i].glob
		if g.whole(string(p)) || g.whole(string(p.Entity())) || topic != "" && g.whole(topic) {
			return true
		}
	}
	return false
}
