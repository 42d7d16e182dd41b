package alert

import (
	"cmp"
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

// An ID is a rule's number, from 1 in the order of creation.
type ID int64

// A Condition is a rule's condition.
type Condition string

const (
	ExpiringSoon     Condition = "expiring"          // a message has no more than Within left to live
	Expired          Condition = "expired"           // a message expired and is lost
	DeadLettered     Condition = "dead-lettered"     // a message became a dead letter
	DeadLettersAbove Condition = "dead-letter-count" // an entity has more than Threshold dead letters
	DeletingSoon     Condition = "auto-deleting"     // an entity deletes itself within Within
	Deleted          Condition = "auto-deleted"      // an entity has deleted itself
)

// formerConditions maps the conditions of rules that earlier versions stored to the present ones.
var formerConditions = map[Condition]Condition{
	"running-out": ExpiringSoon, "dead-over": DeadLettersAbove, "deleting": DeletingSoon, "deleted": Deleted,
}

// Conditions returns all conditions.
func Conditions() []Condition {
	return []Condition{ExpiringSoon, Expired, DeadLettered, DeadLettersAbove, DeletingSoon, Deleted}
}

// An Action is a rule's action, besides the alert.
type Action string

const (
	Notify     Action = "notify"      // only the alert
	Extend     Action = "extend"      // the message gets ExtendBy more, at most MaxExtensions times
	DeadLetter Action = "dead-letter" // the message becomes a dead letter, with its body
)

// Actions returns all actions.
func Actions() []Action { return []Action{Notify, Extend, DeadLetter} }

const (
	MaxRules       = 50
	MaxNameLength  = 60 // characters
	MinWithin      = time.Second
	MaxWithin      = 7 * 24 * time.Hour
	MaxExtendBy    = 30 * 24 * time.Hour
	MaxExtensions  = 100
	maxQueryBytes  = 1000 // also of Scope and Reason
	maxURLBytes    = 1000
	minSecretBytes = 8
	maxSecretBytes = 200
)

// A Rule is a condition, where it applies, and an action.
type Rule struct {
	ID            ID            `json:"id"`
	Name          string        `json:"name"`
	Off           bool          `json:"off,omitempty"`
	Condition     Condition     `json:"when"`
	Scope         string        `json:"in,omitempty"`     // an entity, or a pattern such as orders*; empty means everywhere
	Query         string        `json:"query,omitempty"`  // for ExpiringSoon and DeadLettered: which messages
	Reason        string        `json:"reason,omitempty"` // for DeadLettered: a pattern; empty means any reason
	Within        time.Duration `json:"within,omitempty"` // for ExpiringSoon and DeletingSoon
	Threshold     int64         `json:"over,omitempty"`   // for DeadLettersAbove
	Action        Action        `json:"then"`             // only Notify except for ExpiringSoon
	ExtendBy      time.Duration `json:"by,omitempty"`     // for Extend
	MaxExtensions int           `json:"times,omitempty"`  // for Extend
	URL           string        `json:"url,omitempty"`    // a webhook for alerts; empty means none
	Secret        string        `json:"secret,omitempty"` // signs the webhook's requests; empty means that they are not signed
}

// A FieldError names the invalid field of a rule. It unwraps to engine.ErrArgument or
// engine.ErrOutOfRange.
type FieldError struct {
	Field string // as in the JSON API
	Err   error
}

func (e *FieldError) Error() string { return e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

func fieldError(field string, kind error, format string, args ...any) error {
	return &FieldError{field, engine.Refuse(kind, format, args...)}
}

// normalized clears the fields that the rule's condition and action do not use, so that a form may
// send all its fields.
func (r Rule) normalized() Rule {
	r.Name, r.Scope, r.Query, r.Reason, r.URL = strings.TrimSpace(r.Name), strings.TrimSpace(r.Scope), strings.TrimSpace(r.Query), strings.TrimSpace(r.Reason), strings.TrimSpace(r.URL)
	if r.Condition != ExpiringSoon && r.Condition != DeadLettered {
		r.Query = ""
	}
	if r.Condition != DeadLettered {
		r.Reason = ""
	}
	if r.Condition != ExpiringSoon && r.Condition != DeletingSoon {
		r.Within = 0
	}
	if r.Condition != DeadLettersAbove {
		r.Threshold = 0
	}
	if r.Condition != ExpiringSoon || r.Action == "" {
		r.Action = Notify
	}
	if r.Action != Extend {
		r.ExtendBy, r.MaxExtensions = 0, 0
	}
	if r.URL == "" {
		r.Secret = ""
	}
	return r
}

// CheckFields returns a FieldError for a field that the rule's condition or action does not use.
// Add and Replace ignore such fields, so that a form may send all its fields. A secret is always
// allowed: commands take it from the environment.
func (r Rule) CheckFields() error {
	kept := r.normalized()
	if !slices.Contains(Conditions(), r.Condition) || !slices.Contains(Actions(), kept.Action) {
		return nil // other checks refuse this
	}
	if r.Action != "" && r.Action != kept.Action {
		return fieldError("then", engine.ErrArgument, "'then' must be %s if 'when' is %s, not '%.64s'.", kept.Action, r.Condition, r.Action)
	}
	for _, f := range []struct {
		name, goes string
		cut        bool
	}{
		{"query", "expiring or dead-lettered", strings.TrimSpace(r.Query) != kept.Query},
		{"reason", "dead-lettered", strings.TrimSpace(r.Reason) != kept.Reason},
		{"within", "expiring or auto-deleting", r.Within != kept.Within},
		{"threshold", "dead-letter-count", r.Threshold != kept.Threshold},
	} {
		if f.cut {
			return fieldError(f.name, engine.ErrArgument, "'%s' is only valid if 'when' is %s, not %s.", f.name, f.goes, r.Condition)
		}
	}
	if r.ExtendBy != kept.ExtendBy {
		return fieldError("extendBy", engine.ErrArgument, "'extendBy' is only valid if 'then' is extend, not %s.", kept.Action)
	}
	if r.MaxExtensions != kept.MaxExtensions {
		return fieldError("maxExtensions", engine.ErrArgument, "'maxExtensions' is only valid if 'then' is extend, not %s.", kept.Action)
	}
	return nil
}

// check returns nil for a rule that can be stored. Options.AllowURL checks its webhook URL.
func (r Rule) check() error {
	switch n := utf8.RuneCountInString(r.Name); {
	case n == 0 || n > MaxNameLength || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsPrint(c) }):
		return fieldError("name", engine.ErrArgument, "The name of a rule must have 1 to %d printable characters.", MaxNameLength)
	case !slices.Contains(Conditions(), r.Condition):
		return fieldError("when", engine.ErrArgument, "The condition of a rule must be one of %q.", Conditions())
	case !slices.Contains(Actions(), r.Action):
		return fieldError("then", engine.ErrArgument, "The action of a rule must be one of %q.", Actions())
	case len(r.Scope) > maxQueryBytes || strings.ContainsFunc(r.Scope, unicode.IsControl):
		return fieldError("in", engine.ErrArgument, "The name or pattern of entities must not be longer than %d bytes.", maxQueryBytes)
	case len(r.Reason) > maxQueryBytes:
		return fieldError("reason", engine.ErrArgument, "The reason must not be longer than %d bytes.", maxQueryBytes)
	case len(r.Query) > maxQueryBytes:
		return fieldError("query", engine.ErrArgument, "The query must not be longer than %d bytes.", maxQueryBytes)
	case (r.Condition == ExpiringSoon || r.Condition == DeletingSoon) && (r.Within < MinWithin || r.Within > MaxWithin):
		return fieldError("within", engine.ErrOutOfRange, "'within' must be between %v and %v.", MinWithin, "7d")
	case r.Condition == DeadLettersAbove && r.Threshold < 0:
		return fieldError("threshold", engine.ErrOutOfRange, "'threshold' must be 0 or more.")
	case r.Action == Extend && (r.ExtendBy < time.Second || r.ExtendBy > MaxExtendBy):
		return fieldError("extendBy", engine.ErrOutOfRange, "'extendBy' must be between %v and %v.", time.Second, "30d")
	case r.Action == Extend && (r.MaxExtensions < 1 || r.MaxExtensions > MaxExtensions):
		return fieldError("maxExtensions", engine.ErrOutOfRange, "'maxExtensions' must be between 1 and %d.", MaxExtensions)
	case len(r.URL) > maxURLBytes:
		return fieldError("url", engine.ErrArgument, "The URL of a webhook must not be longer than %d bytes.", maxURLBytes)
	case r.Secret != "" && (len(r.Secret) < minSecretBytes || len(r.Secret) > maxSecretBytes):
		return fieldError("secret", engine.ErrArgument, "The secret of a webhook must have %d to %d bytes.", minSecretBytes, maxSecretBytes)
	}
	if _, err := search.Parse(r.Query); err != nil {
		return &FieldError{"query", err}
	}
	return nil
}

// A storedRule is the JSON form in which a rule is stored.
type storedRule struct {
	V    int  `json:"v"`
	Rule Rule `json:"rule"`
}

const recordVersion = 1

func encode(r Rule) string {
	raw, err := json.Marshal(storedRule{recordVersion, r})
	if err != nil {
		panic(err) // texts and numbers
	}
	return string(raw)
}

func decode(text string) (Rule, error) {
	var is storedRule
	if err := json.Unmarshal([]byte(text), &is); err != nil {
		return Rule{}, fmt.Errorf("read an alert rule: %w", err)
	}
	if is.V != recordVersion {
		return Rule{}, fmt.Errorf("the alert rule has version %d, which this version of Mayfly does not support", is.V)
	}
	is.Rule.Condition = cmp.Or(formerConditions[is.Rule.Condition], is.Rule.Condition)
	return is.Rule, is.Rule.check()
}

// compiledRule is a rule with its query compiled.
type compiledRule struct {
	Rule
	query *search.Query // limited to Scope
}

func (r Rule) compile() (a compiledRule, err error) {
	a.Rule = r
	if a.query, err = search.Parse(r.Query); err != nil {
		return a, err
	}
	if r.Scope != "" {
		a.query = a.query.Within(r.Scope)
	}
	return a, nil
}

// covers reports whether a rule applies to messages at p, judging by the name. Messages in a
// dead-letter queue do not expire.
func (a *compiledRule) covers(p engine.Path) bool {
	return (a.Condition != ExpiringSoon || !p.IsDeadLetter()) && a.query.Covers(p)
}

// matchesReason reports whether a dead letter's reason matches the rule's pattern: a star stands for
// any text, and case does not matter.
func (a *compiledRule) matchesReason(reason string) bool {
	return a.Reason == "" || matchPattern(strings.ToLower(a.Reason), strings.ToLower(reason))
}

func matchPattern(pattern, text string) bool {
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
