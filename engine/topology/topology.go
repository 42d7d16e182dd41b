// Package topology reads the contents of a namespace from the official emulator's
// Config.json (semantics §17.2), works out the steps that give a namespace these contents, and
// writes such a file from a namespace.
//
// It touches no file and no broker: [Read] turns bytes into a [Topology], [Steps] compares
// that with the namespace's entities, [Write] turns those into bytes. All problems are found
// before the first step and reported at once, by path in the file.
package topology

import "mayfly/engine"

// A Topology is what a file asks for.
type Topology struct {
	// Namespace is the name in the file; empty if it gives none.
	Namespace string
	// Entities are the queues, then the topics, each followed by its
	// subscriptions, in the order of the file. No two have the same path in
	// any case.
	Entities []Entity
	// Warnings are the parts of the file without effect, mostly unknown names, which real
	// files have. The emulator ignores them too.
	Warnings Problems

	limits engine.Limits // the limits it was read with; zero for one made by hand
}

// An Entity is a queue, topic or subscription that a file names.
type Entity struct {
	At     string // its position in the file: UserConfig.Namespaces[0].Queues[2]
	Kind   engine.EntityKind
	Path   engine.Path
	Config engine.Config   // with the limits' defaults for missing properties (EMU-8)
	Stated map[string]bool // the properties that the file gives, by Service Bus' names

	// RulesGiven reports that the file lists the rules of this subscription, perhaps none;
	// Rules are then all it is to have. Otherwise a new subscription gets a rule for every
	// message (FILT-2), and an existing one keeps its rules.
	RulesGiven bool
	Rules      []engine.Rule // without subscription and time
}

// Options configure how a file is read. The zero value has the limits and defaults of the
// hosted service, standard tier.
type Options struct {
	// Limits are the namespace's. The emulator's own ranges are accepted
	// beside them. Nil means engine.DefaultLimits.
	Limits *engine.Limits
}
