package rescue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/search"
)

// An ID is a rule's number, from 1 in the order in which rules were made.
type ID int64

// A When is what a rule waits for.
type When string

// What rules wait for.
const (
	RunningOut   When = "running-out"   // a message has no more than Within left to live
	Expired      When = "expired"       // a message ran out and is lost
	DeadLettered When = "dead-lettered" // a message became a dead letter
	DeadOver     When = "dead-over"     // a place has more than Over dead letters
	Deleting     When = "deleting"      // an entity deletes itself within Within
	Deleted      When = "deleted"       // an entity has deleted itself
)

// Whens are all there are.
func Whens() []When { return []When{RunningOut, Expired, DeadLettered, DeadOver, Deleting, Deleted} }

// A Then is what a rule does, beside telling.
type Then string

// What rules do.
const (
	Notify     Then = "notify"      // nothing else
	Extend     Then = "extend"      // the message gets By more, Times times at the most
	DeadLetter Then = "dead-letter" // the message becomes a dead letter, with its body
)

// Thens are all there are.
func Thens() []Then { return []Then{Notify, Extend, DeadLetter} }

// Bounds of rules.
const (
	RulesMost   = 50
	NameMost    = 60 // characters
	WithinLeast = time.Second
	WithinMost  = 7 * 24 * time.Hour
	ByMost      = 30 * 24 * time.Hour
	TimesMost   = 100
	queryMost   = 1000 // bytes; of a pattern and a reason too
	urlMost     = 1000
	secretLeast = 8
	secretMost  = 200
)

// A Rule is what is waited for, where, and what is done then.
type Rule struct {
	ID     ID            `json:"id"`
	Name   string        `json:"name"`
	Off    bool          `json:"off,omitempty"`
	When   When          `json:"when"`
	In     string        `json:"in,omitempty"`     // an entity, or a pattern such as orders*; empty: everywhere
	Query  string        `json:"query,omitempty"`  // of RunningOut and DeadLettered: which messages
	Reason string        `json:"reason,omitempty"` // of DeadLettered: a pattern; empty: whatever the reason
	Within time.Duration `json:"within,omitempty"` // of RunningOut and Deleting
	Over   int64         `json:"over,omitempty"`   // of DeadOver
	Then   Then          `json:"then"`             // only Notify but for RunningOut
	By     time.Duration `json:"by,omitempty"`     // of Extend
	Times  int           `json:"times,omitempty"`  // of Extend
	URL    string        `json:"url,omitempty"`    // a webhook that is told too; empty: none
	Secret string        `json:"secret,omitempty"` // by which the webhook's requests are signed; empty: they are not
}

// A FieldError says which field of a rule is wrong. It unwraps to
// engine.ErrArgument or engine.ErrOutOfRange.
type FieldError struct {
	Field string // as in JSON
	Err   error
}

func (e *FieldError) Error() string { return e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

func wrong(field string, kind error, format string, args ...any) error {
	return &FieldError{field, &engine.Refusal{Kind: kind, Text: fmt.Sprintf(format, args...)}}
}

// plain cuts what is not of a rule's kind, so that a form may send all its fields.
func (r Rule) plain() Rule {
	r.Name, r.In, r.Query, r.Reason, r.URL = strings.TrimSpace(r.Name), strings.TrimSpace(r.In), strings.TrimSpace(r.Query), strings.TrimSpace(r.Reason), strings.TrimSpace(r.URL)
	if r.When != RunningOut && r.When != DeadLettered {
		r.Query = ""
	}
	if r.When != DeadLettered {
		r.Reason = ""
	}
	if r.When != RunningOut && r.When != Deleting {
		r.Within = 0
	}
	if r.When != DeadOver {
		r.Over = 0
	}
	if r.When != RunningOut || r.Then == "" {
		r.Then = Notify
	}
	if r.Then != Extend {
		r.By, r.Times = 0, 0
	}
	if r.URL == "" {
		r.Secret = ""
	}
	return r
}

// Fits is a FieldError where something is said that does not go with what the rule
// waits for or does. Add and Replace leave that out, so that a form may send all its
// fields. A secret goes with every rule: commands have it of the environment.
func (r Rule) Fits() error {
	kept := r.plain()
	if !slices.Contains(Whens(), r.When) || !slices.Contains(Thens(), kept.Then) {
		return nil // which is refused by itself
	}
	if r.Then != "" && r.Then != kept.Then {
		return wrong("then", engine.ErrArgument, "'then' is %s where 'when' is %s, not '%.64s'.", kept.Then, r.When, r.Then)
	}
	for _, f := range []struct {
		name, goes string
		cut        bool
	}{
		{"query", "running-out and dead-lettered", strings.TrimSpace(r.Query) != kept.Query},
		{"reason", "dead-lettered", strings.TrimSpace(r.Reason) != kept.Reason},
		{"within", "running-out and deleting", r.Within != kept.Within},
		{"over", "dead-over", r.Over != kept.Over},
	} {
		if f.cut {
			return wrong(f.name, engine.ErrArgument, "'%s' goes with 'when' %s, not with %s.", f.name, f.goes, r.When)
		}
	}
	if r.By != kept.By {
		return wrong("by", engine.ErrArgument, "'by' goes with 'then' extend, not with %s.", kept.Then)
	}
	if r.Times != kept.Times {
		return wrong("times", engine.ErrArgument, "'times' goes with 'then' extend, not with %s.", kept.Then)
	}
	return nil
}

// check is nil for a rule that can be kept. Whether its webhook may be asked is for
// others to say.
func (r Rule) check() error {
	switch n := utf8.RuneCountInString(r.Name); {
	case n == 0 || n > NameMost || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsPrint(c) }):
		return wrong("name", engine.ErrArgument, "The name of a rule has 1 to %d characters that can be printed.", NameMost)
	case !slices.Contains(Whens(), r.When):
		return wrong("when", engine.ErrArgument, "A rule waits for one of %q.", Whens())
	case !slices.Contains(Thens(), r.Then):
		return wrong("then", engine.ErrArgument, "A rule does one of %q.", Thens())
	case len(r.In) > queryMost || strings.ContainsFunc(r.In, unicode.IsControl):
		return wrong("in", engine.ErrArgument, "The name or pattern of entities has at most %d bytes.", queryMost)
	case len(r.Reason) > queryMost:
		return wrong("reason", engine.ErrArgument, "The reason has at most %d bytes.", queryMost)
	case len(r.Query) > queryMost:
		return wrong("query", engine.ErrArgument, "The query has at most %d bytes.", queryMost)
	case (r.When == RunningOut || r.When == Deleting) && (r.Within < WithinLeast || r.Within > WithinMost):
		return wrong("within", engine.ErrOutOfRange, "'within' is from %v to %v.", WithinLeast, "7d")
	case r.When == DeadOver && r.Over < 0:
		return wrong("over", engine.ErrOutOfRange, "'over' is not below 0.")
	case r.Then == Extend && (r.By < time.Second || r.By > ByMost):
		return wrong("by", engine.ErrOutOfRange, "'by' is from %v to %v.", time.Second, "30d")
	case r.Then == Extend && (r.Times < 1 || r.Times > TimesMost):
		return wrong("times", engine.ErrOutOfRange, "'times' is from 1 to %d.", TimesMost)
	case len(r.URL) > urlMost:
		return wrong("url", engine.ErrArgument, "The address of a webhook has at most %d bytes.", urlMost)
	case r.Secret != "" && (len(r.Secret) < secretLeast || len(r.Secret) > secretMost):
		return wrong("secret", engine.ErrArgument, "The secret of a webhook has %d to %d bytes.", secretLeast, secretMost)
	}
	if _, err := search.Parse(r.Query); err != nil {
		return &FieldError{"query", err}
	}
	return nil
}

// A record is a rule as it is kept.
type record struct {
	V    int  `json:"v"`
	Rule Rule `json:"rule"`
}

const recordVersion = 1

func encode(r Rule) string {
	raw, err := json.Marshal(record{recordVersion, r})
	if err != nil {
		panic(err) // texts and numbers
	}
	return string(raw)
}

func decode(text string) (Rule, error) {
	var is record
	if err := json.Unmarshal([]byte(text), &is); err != nil {
		return Rule{}, fmt.Errorf("read a rule: %w", err)
	}
	if is.V != recordVersion {
		return Rule{}, fmt.Errorf("a rule of version %d, of which this program knows nothing", is.V)
	}
	return is.Rule, is.Rule.check()
}

// active is a rule that is on, ready to be asked.
type active struct {
	Rule
	query *search.Query // and In
}

func (r Rule) compile() (a active, err error) {
	a.Rule = r
	if a.query, err = search.Parse(r.Query); err != nil {
		return a, err //nolint:wrapcheck // it says where
	}
	if r.In != "" {
		a.query = a.query.In(r.In)
	}
	return a, nil
}

// covers tells whether a rule is about messages at p, as far as its name tells. In
// a dead-letter queue nothing runs out.
func (a *active) covers(p engine.Path) bool {
	return (a.When != RunningOut || !p.IsDeadLetter()) && a.query.Covers(p)
}

// because tells whether a dead letter's reason is one that the rule is about: in it
// a star stands for any text, and case does not matter.
func (a *active) because(reason string) bool {
	return a.Reason == "" || like(strings.ToLower(a.Reason), strings.ToLower(reason))
}

func like(pattern, text string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	text, ok := strings.CutPrefix(text, head)
	if !ok || !star {
		return ok && text == ""
	}
	for {
		piece, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, piece)
		}
		_, text, ok = strings.Cut(text, piece)
		if !ok {
			return false
		}
		rest = after
	}
}
