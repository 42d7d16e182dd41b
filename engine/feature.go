package engine

import (
	"cmp"
	"fmt"
	"strings"
)

// Features are what a tier may lack (semantics §1.5), a set of bits.
type Features uint8

// The features.
const (
	TopicFeature       Features = 1 << iota // and subscriptions
	SessionFeature                          // RequiresSession
	DuplicateFeature                        // RequiresDuplicateDetection
	TransactionFeature                      //
	ForwardFeature                          // ForwardTo, ForwardDeadLetteredMessagesTo
	IdleFeature                             // AutoDeleteOnIdle
)

// featureNames are how the features are called in a limit, in their order.
func featureNames() []string {
	return []string{"topics", "sessions", "duplicate-detection", "transactions", "auto-forward", "auto-delete-on-idle"}
}

// String is the features' names with commas between, as Limits.Set reads them.
func (f Features) String() string {
	var names []string
	for i, name := range featureNames() {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

func parseFeatures(text string) (f Features, err error) {
next:
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		for i, known := range featureNames() {
			if name == known {
				f |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("there is no feature called %q; there are %s: %w", cut(name, 64), strings.Join(featureNames(), ", "), ErrArgument)
	}
	return f, nil
}

// Lacking is what an entity is asked to have although the namespace does without
// it: an error each, nil if there is none. was is its description so far, nil for
// a new entity; what it has it may keep.
func (l Limits) Lacking(kind EntityKind, was *Config, is Config) (missing []error) {
	if l.Without == 0 {
		return nil
	}
	if l.Without&TopicFeature != 0 && kind != Queue && was == nil {
		missing = append(missing, refuseCode(ErrArgument, 40000, "Cannot operate on type %s because %s.", title(kind), l.because(TopicFeature)))
	}
	for _, p := range Properties(kind) {
		f := p.feature()
		text := p.Text(is)
		if l.Without&f == 0 || text == p.Text(Config{}) {
			continue
		}
		switch {
		case was == nil:
			missing = append(missing, p.refuse(text, ErrArgument, "The property '%s' cannot be set when creating a %s because %s.", p.Name, title(kind), l.because(f)))
		case text != p.Text(*was):
			missing = append(missing, p.refuse(text, ErrArgument, "The property '%s' cannot be changed because %s.", p.Name, l.because(f)))
		}
	}
	return missing
}

// lacks is the first of Lacking.
func (l Limits) lacks(kind EntityKind, was *Config, is Config) error {
	if missing := l.Lacking(kind, was, is); len(missing) > 0 {
		return missing[0]
	}
	return nil
}

// CheckTransactions tells whether a transaction may begin; the error is
// ErrNotAllowed.
func (l Limits) CheckTransactions() error {
	if l.Without&TransactionFeature == 0 {
		return nil
	}
	return refuseCode(ErrNotAllowed, 40301, "Transaction is unsupported because %s.", l.because(TransactionFeature))
}

// because says why a feature is missing: for the tier's sake, or because
// somebody wanted to do without.
func (l Limits) because(f Features) string {
	tier, err := Profile(strings.ToLower(l.Tier))
	if err != nil || tier.Without&f == 0 {
		return fmt.Sprintf("the namespace '%s' is set to do without %s ('%s' tier)", l.namespace(), f, l.Tier)
	}
	return fmt.Sprintf("the namespace '%s' is using '%s' tier", l.namespace(), l.Tier)
}

// Offers tells whether anything but its default can be chosen for a property.
func (l Limits) Offers(p Property) bool { return l.Without&p.feature() == 0 }

func (l Limits) namespace() string { return cmp.Or(l.Namespace, "default") }

// feature is what a property needs; zero for one that every tier has.
func (p Property) feature() Features {
	switch p.Name {
	case "RequiresSession":
		return SessionFeature
	case "RequiresDuplicateDetection":
		return DuplicateFeature
	case "ForwardTo", "ForwardDeadLetteredMessagesTo":
		return ForwardFeature
	case "AutoDeleteOnIdle":
		return IdleFeature
	default:
		return 0
	}
}

// title is a kind as it begins a name: Queue.
func title(kind EntityKind) string {
	s := kind.String()
	return strings.ToUpper(s[:1]) + s[1:]
}
