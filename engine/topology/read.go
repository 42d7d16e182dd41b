package topology

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/shorten"
)

// maxFileBytes is the maximum size of a file, in bytes.
const maxFileBytes = 1 << 20

// Read reads a Config.json. The error is Problems if the file is invalid, or that of the reader
// `in`. Along with Problems, Read returns the topology as far as it could be read, so that its
// destinations can be checked too; see [Problems.With].
func Read(in io.Reader, o Options) (Topology, error) {
	b, err := io.ReadAll(io.LimitReader(in, maxFileBytes+1))
	if err != nil {
		return Topology{}, fmt.Errorf("read the definition: %w", err)
	}
	if len(b) > maxFileBytes {
		return Topology{}, newProblem("", "The file is longer than the %d bytes allowed.", maxFileBytes)
	}
	root, err := parse(b)
	if err != nil {
		return Topology{}, err
	}
	limits := engine.DefaultLimits()
	if o.Limits != nil {
		limits = *o.Limits
	}
	r := reader{limits: limits, ranges: withEmulatorRanges(limits), taken: map[string]string{}, topology: Topology{limits: limits}}
	if isARMTemplate(root) {
		return Topology{}, newProblem("", "This is an Azure Resource Manager template, not a Config.json. Write its queues and topics under UserConfig.Namespaces.")
	}
	r.root(root)
	return r.topology, r.problems.err()
}

// isARMTemplate reports whether a file is an Azure Resource Manager template, as in Microsoft's
// samples.
func isARMTemplate(root *node) bool {
	resources := false
	for _, m := range root.members {
		switch {
		case m.name == "$schema" && strings.Contains(strings.ToLower(m.value.text), "deploymenttemplate.json"):
			return true
		case m.name == "UserConfig":
			return false
		case m.name == "resources":
			resources = true
		}
	}
	return resources
}

// A reader converts one file to a Topology.
type reader struct {
	limits   engine.Limits
	ranges   engine.Limits     // limits with the ranges of withEmulatorRanges
	taken    map[string]string // the position of the first entity with a folded path
	topLevel int64
	topology Topology
	problems Problems
}

// withEmulatorRanges returns l with the ranges of properties extended to those of the emulator
// (§17.2), so that a file for the emulator can be read regardless of the namespace's limits (EMU-8).
// Sizes, which such files do not have, are not limited: Steps checks them, since an existing entity
// may keep its size.
func withEmulatorRanges(l engine.Limits) engine.Limits {
	l.MinLock, l.MaxLock = min(l.MinLock, 5*time.Second), max(l.MaxLock, 5*time.Minute)
	l.MinTTL = min(l.MinTTL, 5*time.Minute)
	if l.MaxTTL != 0 {
		l.MaxTTL = max(l.MaxTTL, time.Hour)
	}
	l.MinDuplicateWindow = min(l.MinDuplicateWindow, 5*time.Second)
	l.MaxDuplicateWindow = max(l.MaxDuplicateWindow, 5*time.Minute)
	l.MaxDeliveries = max(l.MaxDeliveries, 10)
	l.MinMegabytes, l.MaxMegabytes = 1, math.MaxInt64
	l.MinKilobytes, l.MaxKilobytes = 1, math.MaxInt64
	return l
}

func (r *reader) root(n *node) {
	file := r.members("", n, memberNames{"$schema", "UserConfig*"})
	const user = "UserConfig"
	config := r.members(user, file[user], memberNames{"Namespaces*", "Logging"})
	r.logging(user+".Logging", config["Logging"])
	const at = user + ".Namespaces"
	if namespaces := config["Namespaces"]; r.is(at, namespaces, list) {
		if len(namespaces.items) != 1 {
			r.problems.add(at, "The file must have exactly 1 namespace, not %d.", len(namespaces.items))
			return
		}
		r.namespace(at+"[0]", namespaces.items[0])
	}
}

// logging checks the emulator's logging section, which has no effect here. A wrong value is a
// problem all the same.
func (r *reader) logging(at string, n *node) {
	m := r.members(at, n, memberNames{"Type"})
	allowed := []string{"File", "Console", "File,Console", "Console,File"}
	if t := m["Type"]; r.is(at+".Type", t, text) && !slices.Contains(allowed, t.text) {
		r.problems.add(at+".Type", "This must be one of %q, not %q.", allowed, shorten.Quote(t.text))
	}
}

// isNamespaceName reports whether name can be the name of a namespace. It may be as long as
// that of a subscription (NAME-2), but must begin and end with a letter or digit, because
// it is a label of host names.
func isNamespaceName(name string, l engine.Limits) bool {
	edge := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	return engine.CheckName(engine.Subscription, name, l) == nil && edge(first) && edge(last)
}

func (r *reader) namespace(at string, n *node) {
	if !r.is(at, n, object) {
		return
	}
	m := r.members(at, n, memberNames{"Name", "Queues", "Topics"})
	if name := m["Name"]; r.is(at+".Name", name, text) {
		if !isNamespaceName(name.text, r.limits) {
			r.problems.add(at+".Name", "%q cannot be the name of a namespace. Use 1 to %d letters, digits, '.', '-', '_' and '~', with a letter or digit at both ends.", shorten.Quote(name.text), r.limits.SubscriptionNameLength)
		}
		r.topology.Namespace = name.text
		for _, l := range []*engine.Limits{&r.limits, &r.ranges, &r.topology.limits} {
			l.Namespace = cmp.Or(l.Namespace, name.text)
		}
	}
	r.items(at+".Queues", m["Queues"], func(at string, n *node) {
		r.top(at, n, engine.Queue)
	})
	r.items(at+".Topics", m["Topics"], func(at string, n *node) {
		topic, subs := r.top(at, n, engine.Topic)
		r.subscriptions(at+".Subscriptions", subs, topic)
	})
	if r.topLevel > r.limits.Entities {
		r.problems.add(at, "The file has %d queues and topics; the maximum is %d.", r.topLevel, r.limits.Entities)
	}
}

// top reads a queue or topic and returns its path and the list of its subscriptions.
func (r *reader) top(at string, n *node, kind engine.EntityKind) (engine.Path, *node) {
	names := memberNames{"Name*", "Properties"}
	if kind == engine.Topic {
		names = append(names, "Subscriptions")
	}
	if !r.is(at, n, object) {
		return "", nil
	}
	r.topLevel++
	m := r.members(at, n, names)
	e := Entity{At: at, Kind: kind}
	if name, ok := r.name(at, m["Name"], kind); ok {
		e.Path = engine.Path(name)
	}
	r.properties(at+".Properties", m["Properties"], &e)
	r.take(e)
	return e.Path, m["Subscriptions"]
}

func (r *reader) subscriptions(at string, n *node, topic engine.Path) {
	var subs, sql, others int64
	r.items(at, n, func(at string, n *node) {
		if !r.is(at, n, object) {
			return
		}
		subs++
		m := r.members(at, n, memberNames{"Name*", "Properties", "Rules"})
		e := Entity{At: at, Kind: engine.Subscription}
		if name, ok := r.name(at, m["Name"], engine.Subscription); ok && topic != "" {
			e.Path = engine.SubscriptionPath(string(topic), name)
		}
		r.properties(at+".Properties", m["Properties"], &e)
		if e.RulesGiven = m["Rules"] != nil; e.RulesGiven {
			e.Rules = r.rules(at+".Rules", m["Rules"])
		}
		for _, rule := range e.Rules {
			if rule.Filter.Kind == engine.SQLFilter {
				sql++
			} else {
				others++
			}
		}
		r.take(e)
	})
	if subs > r.limits.SubscriptionsPerTopic {
		r.problems.add(at, "The topic has %d subscriptions; the maximum is %d.", subs, r.limits.SubscriptionsPerTopic)
	}
	if sql > r.limits.SQLFiltersPerTopic {
		r.problems.add(at, "The topic has %d SQL filters; the maximum is %d.", sql, r.limits.SQLFiltersPerTopic)
	}
	if others > r.limits.OtherFiltersPerTopic {
		r.problems.add(at, "The topic has %d correlation filters; the maximum is %d.", others, r.limits.OtherFiltersPerTopic)
	}
}

func (r *reader) name(at string, n *node, kind engine.EntityKind) (string, bool) {
	if !r.is(at+".Name", n, text) {
		return "", false
	}
	if err := engine.CheckName(kind, n.text, r.limits); err != nil {
		r.problems.add(at+".Name", "%v", err)
		return "", false
	}
	return n.text, true
}

// take completes e with the namespace's defaults (EMU-8) and adds it to the topology, unless its name
// is invalid or taken (NAME-6, NAME-7).
func (r *reader) take(e Entity) {
	e.Config = r.limits.Complete(e.Kind, e.Config)
	if e.Path == "" {
		return
	}
	if first, ok := r.taken[e.Path.Fold()]; ok {
		r.problems.add(e.At+".Name", "'%s' is already the name of %s. Names are not case-sensitive.", e.Path.Name(), first)
		return
	}
	r.taken[e.Path.Fold()] = e.At
	r.topology.Entities = append(r.topology.Entities, e)
}

// properties reads a description into e. It accepts every property of this kind of entity, not
// only those of the emulator.
func (r *reader) properties(at string, n *node, e *Entity) {
	e.Stated = map[string]bool{}
	if !r.is(at, n, object) {
		return
	}
	for _, m := range n.members {
		at := memberPath(at, m.name)
		p, ok := engine.LookupProperty(e.Kind, m.name)
		switch {
		case !ok && isFilterFlag(m.name):
			r.topology.Warnings.add(at, "This has no effect here: each message is offered to all subscriptions.")
		case !ok:
			r.topology.Warnings.add(at, "%v", unknownProperty{e.Kind, m.name})
		case e.Stated[p.Name]:
			r.problems.add(at, "This is set twice.")
		default:
			e.Stated[p.Name] = true
			r.property(at, m.value, p, e)
		}
	}
	if c := e.Config; c.EnableExpress && c.RequiresDuplicateDetection {
		r.problems.add(at+".EnableExpress", "This cannot be combined with RequiresDuplicateDetection.")
	}
}

func (r *reader) property(at string, n *node, p engine.Property, e *Entity) {
	want, missing := text, false
	switch p.Type {
	case engine.NumberProperty:
		want = number
	case engine.SwitchProperty:
		want = boolean
	case engine.DurationProperty, engine.ChoiceProperty:
		missing = strings.TrimSpace(n.text) == ""
	case engine.TextProperty, engine.EntityProperty:
	}
	switch {
	case n.kind == null:
		delete(e.Stated, p.Name)
	case !r.is(at, n, want):
	case missing:
		r.problems.add(at, "The value for '%s' must not be empty.", p.Name)
	default:
		err := p.Set(&e.Config, r.ranges, e.Kind, n.text)
		if wrong, ok := errors.AsType[*engine.PropertyError](err); ok {
			r.problems.add(at, "%s", wrong.Text)
		} else if err != nil {
			r.problems.add(at, "%v", err)
		}
	}
}

// isFilterFlag reports whether name is one of the two names that Azure's templates use for a
// topic property without effect here.
func isFilterFlag(name string) bool {
	return strings.EqualFold(name, "EnableFilteringMessagesBeforePublishing") || strings.EqualFold(name, "FilteringMessagesBeforePublishing")
}

// An unknownProperty is formatted like [unknownMember].
type unknownProperty struct {
	kind engine.EntityKind
	name string
}

func (u unknownProperty) String() string {
	for _, other := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
		if p, ok := engine.LookupProperty(other, u.name); ok {
			return fmt.Sprintf("A %s has no %s, so this is ignored.", u.kind, p.Name)
		}
	}
	var known []string
	for _, p := range engine.Properties(u.kind) {
		known = append(known, p.Name)
	}
	return unknownMember{u.name, known}.String()
}
