// Package definition reads what a namespace is to contain, as the official
// emulator's Config.json says it (semantics §17.2), works out the steps that make
// a namespace so, and writes such a file of what there is.
//
// It touches no file and no broker: [Read] turns bytes into a [Topology],
// [Steps] compares that with what there is, [Write] turns that into bytes. Whatever is wrong is found before
// the first step and told all at once, by path in the file.
package definition

import "mayfly/engine"

// A Topology is what a file asks for.
type Topology struct {
	// Namespace is the name in the file; empty if it gives none.
	Namespace string
	// Entities are the queues, then the topics, each followed by its
	// subscriptions, in the order of the file. No two have the same path in
	// any case.
	Entities []Entity

	limits engine.Limits // those it was read with; zero for one made by hand
}

// An Entity is a queue, topic or subscription that a file names.
type Entity struct {
	At     string // where it stands: UserConfig.Namespaces[0].Queues[2]
	Kind   engine.EntityKind
	Path   engine.Path
	Config engine.Config   // the limits' defaults where the file is silent (EMU-8)
	Stated map[string]bool // the properties that the file gives, by Service Bus' names

	// RulesGiven says that the file lists the rules of this subscription,
	// perhaps none; Rules are then all it is to have. Otherwise a new
	// subscription gets a rule for every message (FILT-2), and one that exists
	// keeps what it has.
	RulesGiven bool
	Rules      []engine.Rule // without subscription and time
}

// Options are how a file is read. The zero value has the limits and defaults of
// the hosted service, standard tier.
type Options struct {
	// Limits are the namespace's. The emulator's own ranges are accepted
	// beside them. Nil: engine.DefaultLimits.
	Limits *engine.Limits
}
