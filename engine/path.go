package engine

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Path names something one can send to or receive from: "orders",
// "prices/Subscriptions/eu", "orders/$DeadLetterQueue". Its case is kept for
// people; look-up folds it (NAME-6). A Path made by ParsePath writes the
// reserved parts in their canonical case (NAME-8).
type Path string

const (
	deadLetterSuffix     = "/$DeadLetterQueue"
	transferSuffix       = "/$Transfer" + deadLetterSuffix
	subscriptionsSegment = "/Subscriptions/"
)

// ParsePath reads the path of a queue, topic, subscription, dead-letter queue
// or transfer dead-letter queue as a client writes it. It checks the names in it (NAME-1 … NAME-5);
// limits are those given. Rules, $management and other reserved paths are not
// places for messages and are refused.
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
	} else if err := CheckName(Queue, rest, limits); err != nil {
		return "", err
	}
	return p + Path(suffix), nil
}

// CanonicalPath is s as ParsePath has it, whether there can be such names or not:
// for those who look something up, and tell what they have not found.
func CanonicalPath(s string) Path {
	rest, suffix := splitSuffix(s)
	if topic, sub, ok := splitSubscription(rest); ok {
		return SubscriptionPath(topic, sub) + Path(suffix)
	}
	return Path(rest + suffix)
}

// splitSuffix takes the end off that names a dead-letter queue, and returns it in
// its canonical case.
func splitSuffix(s string) (rest, suffix string) {
	for _, sub := range [...]string{transferSuffix, deadLetterSuffix} {
		if n := len(s) - len(sub); n > 0 && strings.EqualFold(s[n:], sub) {
			return s[:n], sub
		}
	}
	return s, ""
}

// SubscriptionPath is where the messages of a topic's subscription are.
func SubscriptionPath(topic, subscription string) Path {
	return Path(topic + subscriptionsSegment + subscription)
}

// CheckName tells whether name may be given to an entity of this kind: its
// length in characters, and per segment letters, digits, '.', '-', '_' and '~',
// one of the former at least; the whole begins and ends with a letter or digit
// (NAME-1 … NAME-5, NAME-8).
func CheckName(kind EntityKind, name string, limits Limits) error {
	longest := limits.NameLength
	if kind == Subscription {
		longest = limits.SubscriptionNameLength
	}
	if n := int64(utf8.RuneCountInString(name)); n < 1 || n > longest {
		return refuseCode(ErrArgument, 40000, "The name of a %s has 1 to %d characters; this one has %d.", kind, longest, n)
	}
	if kind == Subscription && strings.ContainsAny(name, `/\`) {
		return refuseCode(ErrArgument, 40000, "The name of a subscription must not contain '/' or '\\': '%s'.", name)
	}
	for segment := range strings.SplitSeq(name, "/") {
		if err := checkSegment(kind, name, segment); err != nil {
			return err
		}
	}
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	if !wordly(first) || !wordly(last) {
		return refuseCode(ErrArgument, 40000, "The name of a %s begins and ends with a letter or digit: '%s'.", kind, cut(name, 260))
	}
	if _, _, ok := splitSubscription(name); ok {
		return refuseCode(ErrArgument, 40000, "'%s' contains '/Subscriptions/', which is reserved.", name)
	}
	return nil
}

func checkSegment(kind EntityKind, name, segment string) error {
	if segment == "" {
		return refuseCode(ErrArgument, 40000, "The name of a %s must not begin or end with '/' nor contain '//': '%s'.", kind, cut(name, 260))
	}
	for _, r := range segment {
		if !wordly(r) && !strings.ContainsRune(".-_~", r) {
			return refuseCode(ErrArgument, 40000, "The name of a %s must not contain %q: letters, digits, '.', '-', '_', '~' and, but for subscriptions, '/' may be used.", kind, r)
		}
	}
	if !strings.ContainsFunc(segment, wordly) { // nor "." or "..", which addresses are cleaned of
		return refuseCode(ErrArgument, 40000, "Each part of the name of a %s has a letter or digit: '%s'.", kind, cut(name, 260))
	}
	return nil
}

func wordly(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func splitSubscription(s string) (topic, sub string, ok bool) {
	const n = len(subscriptionsSegment)
	for i := 1; i+n <= len(s); i++ {
		if s[i] == '/' && strings.EqualFold(s[i:i+n], subscriptionsSegment) {
			return s[:i], s[i+n:], true
		}
	}
	return "", "", false
}

// Fold is p as a key for look-up: paths that differ in case alone are one.
func (p Path) Fold() string { return strings.ToLower(string(p)) }

// DeadLetter is the dead-letter queue of the queue or subscription p (DLQ-2).
func (p Path) DeadLetter() Path { return p + deadLetterSuffix }

// IsDeadLetter tells whether p is a dead-letter queue, that of an entity's
// transfers included.
func (p Path) IsDeadLetter() bool { return strings.HasSuffix(string(p), deadLetterSuffix) }

// Transfer is the transfer dead-letter queue of the queue, topic or subscription
// p (DLQ-3).
func (p Path) Transfer() Path { return p + transferSuffix }

// IsTransfer tells whether p is a transfer dead-letter queue.
func (p Path) IsTransfer() bool { return strings.HasSuffix(string(p), transferSuffix) }

// Entity is p without its dead-letter suffix: the queue, topic or subscription
// it belongs to.
func (p Path) Entity() Path {
	if e, ok := strings.CutSuffix(string(p), transferSuffix); ok {
		return Path(e)
	}
	return Path(strings.TrimSuffix(string(p), deadLetterSuffix))
}

// Subscription splits the path of a subscription, or of its dead-letter queue,
// into the names of topic and subscription.
func (p Path) Subscription() (topic, subscription string, ok bool) {
	return splitSubscription(string(p.Entity()))
}

// Name is the last thing one calls the entity by: a queue's or topic's whole
// name, a subscription's own.
func (p Path) Name() string {
	if _, sub, ok := p.Subscription(); ok {
		return sub
	}
	return string(p.Entity())
}
