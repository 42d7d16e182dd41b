package engine

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/engine/shorten"
)

// A Path names an entity or subqueue: "orders", "prices/Subscriptions/eu",
// "orders/$DeadLetterQueue". It is shown in its own case, and looked up without regard to case
// (NAME-6). ParsePath returns the reserved parts in their canonical case (NAME-8).
type Path string

const (
	deadLetterSuffix     = "/$DeadLetterQueue"
	transferSuffix       = "/$Transfer" + deadLetterSuffix
	subscriptionsSegment = "/Subscriptions/"
)

// ParsePath parses the path of a queue, topic, subscription, dead-letter subqueue or transfer
// dead-letter subqueue as a client writes it. It checks the names in it against limits
// (NAME-1 … NAME-5). Rules, $management and other reserved paths hold no messages and are
// errors.
func ParsePath(s string, limits Limits) (Path, error) {
	rest, suffix := splitSuffix(s)
	p := Path(rest)
	if topic, sub, ok := splitSubscription(rest); ok {
		if err := CheckName(Topic, topic, limits); err != nil {
			return "", err
		}
		if err := CheckName(Subscription, sub, limits); err != nil {
			return "", err
		}
		p = SubscriptionPath(topic, sub)
	} else if err := checkDestination(rest, limits); err != nil {
		return "", err
	}
	return p + Path(suffix), nil
}

// CanonicalPath returns s as ParsePath would, without checking its names: for look-ups, and
// for errors about paths that were not found.
func CanonicalPath(s string) Path {
	rest, suffix := splitSuffix(s)
	if topic, sub, ok := splitSubscription(rest); ok {
		return SubscriptionPath(topic, sub) + Path(suffix)
	}
	return Path(rest + suffix)
}

// splitSuffix cuts off the suffix of a dead-letter subqueue, and returns it in its canonical
// case.
func splitSuffix(s string) (rest, suffix string) {
	for _, sub := range [...]string{transferSuffix, deadLetterSuffix} {
		if n := len(s) - len(sub); n > 0 && strings.EqualFold(s[n:], sub) {
			return s[:n], sub
		}
	}
	return s, ""
}

// SubscriptionPath returns the path of a topic's subscription.
func SubscriptionPath(topic, subscription string) Path {
	return Path(topic + subscriptionsSegment + subscription)
}

// CheckName returns an error unless an entity of this kind may have name. Names have
// letters, digits, '.', '-', '_' and '~', those of queues and topics also '/' between
// segments, of which none is empty, "." or ".." (NAME-1 … NAME-5, NAME-8).
func CheckName(kind EntityKind, name string, limits Limits) error {
	if kind != Subscription {
		return checkName(kind.String(), name, limits.NameLength)
	}
	if err := checkName(kind.String(), name, limits.SubscriptionNameLength); err != nil || !strings.Contains(name, "/") {
		return err
	}
	return RefuseCode(ErrArgument, 40000, "The name of a subscription must not contain '/': '%s'.", name)
}

// checkDestination checks the name of a queue or topic.
func checkDestination(name string, limits Limits) error {
	return checkName("queue or topic", name, limits.NameLength)
}

// checkName returns an error unless entities of a kind may have name. `longest` is the
// maximum length in characters.
func checkName(kind, name string, longest int64) error {
	if n := int64(utf8.RuneCountInString(name)); n < 1 || n > longest {
		return RefuseCode(ErrArgument, 40000, "The name of a %s must have 1 to %d characters, not %d.", kind, longest, n)
	}
	for segment := range strings.SplitSeq(name, "/") {
		if err := checkSegment(kind, name, segment); err != nil {
			return err
		}
	}
	if _, _, ok := splitSubscription(name); ok {
		return RefuseCode(ErrArgument, 40000, "'%s' contains '/Subscriptions/', which is reserved.", name)
	}
	return nil
}

func checkSegment(kind, name, segment string) error {
	switch segment {
	case "":
		return RefuseCode(ErrArgument, 40000, "The name of a %s must not begin or end with '/' nor contain '//': '%s'.", kind, shorten.To(name, 260))
	case ".", "..": // clients and proxies remove them from addresses
		return RefuseCode(ErrArgument, 40000, "No part of the name of a %s may be '.' or '..': '%s'.", kind, shorten.To(name, 260))
	}
	for _, r := range segment {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".-_~", r) {
			return RefuseCode(ErrArgument, 40000, "The name of a %s must not contain %q. Use letters, digits, '.', '-', '_' and '~', and in names of queues and topics also '/'.", kind, r)
		}
	}
	return nil
}

func splitSubscription(s string) (topic, sub string, ok bool) {
	const n = len(subscriptionsSegment)
	for i := 1; i+n <= len(s); i++ {
		if s[i] == '/' && strings.EqualFold(s[i:i+n], subscriptionsSegment) {
			return s[:i], s[i+n:], true
		}
	}
	return "", "", false
}

// Fold returns p in lower case, as a key for look-ups.
func (p Path) Fold() string { return strings.ToLower(string(p)) }

// DeadLetter returns the dead-letter subqueue of the queue or subscription p (DLQ-2).
func (p Path) DeadLetter() Path { return p + deadLetterSuffix }

// IsDeadLetter reports whether p is a dead-letter or transfer dead-letter subqueue.
func (p Path) IsDeadLetter() bool { return strings.HasSuffix(string(p), deadLetterSuffix) }

// Transfer returns the transfer dead-letter subqueue of the queue, topic or subscription p
// (DLQ-3).
func (p Path) Transfer() Path { return p + transferSuffix }

// IsTransfer reports whether p is a transfer dead-letter subqueue.
func (p Path) IsTransfer() bool { return strings.HasSuffix(string(p), transferSuffix) }

// Entity returns p without its dead-letter suffix: the queue, topic or subscription it
// belongs to.
func (p Path) Entity() Path {
	if e, ok := strings.CutSuffix(string(p), transferSuffix); ok {
		return Path(e)
	}
	return Path(strings.TrimSuffix(string(p), deadLetterSuffix))
}

// Subscription splits the path of a subscription, or of its dead-letter subqueue, into the
// names of topic and subscription.
func (p Path) Subscription() (topic, subscription string, ok bool) {
	return splitSubscription(string(p.Entity()))
}

// TopLevel returns the queue or topic that p belongs to.
func (p Path) TopLevel() Path {
	if topic, _, ok := p.Subscription(); ok {
		return Path(topic)
	}
	return p.Entity()
}

// Name returns a queue's or topic's whole name, or a subscription's name without its topic.
func (p Path) Name() string {
	if _, sub, ok := p.Subscription(); ok {
		return sub
	}
	return string(p.Entity())
}
