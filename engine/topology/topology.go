// Package topology reads the contents of a namespace from the official emulator's
// Config.json (semantics §17.2), determines the steps that change a namespace to these contents,
// and writes such a file from a namespace.
//
// It uses no file and no broker: [Read] converts bytes to a [Topology], [Steps] compares that with
// the namespace's entities, and [Write] converts entities to bytes. All problems are found before
// the first step and reported together, with their paths in the file.
package topology

import "mayfly/engine"

// A Topology holds the entities that a file describes.
type Topology struct {
	// Namespace is the name in the file, or empty if there is none.
	Namespace string
	// Entities are the queues, then the topics, each followed by its
	// subscriptions, in the order of the file. No two paths differ only in
	// case.
	Entities []Entity
	// Warnings are about parts of the file that have no effect, mostly unknown names. Real
	// files contain such parts, and the emulator ignores them too.
	Warnings Problems

	limits engine.Limits // the limits with which it was read; zero if it was not read from a file
}

// An Entity is a queue, topic or subscription that a file names.
type Entity struct {
	At     string // its position in the file: UserConfig.Namespaces[0].Queues[2]
	Kind   engine.EntityKind
	Path   engine.Path
	Config engine.Config   // with the limits' defaults for missing properties (EMU-8)
	Stated map[string]bool // the properties that the file sets, by Service Bus' names

	// RulesGiven means that the file has a list of rules for this subscription, perhaps empty:
	// then the subscription gets exactly Rules. Otherwise a new subscription gets a rule that
	// accepts every message (FILT-2), and an existing one keeps its rules.
	RulesGiven bool
	Rules      []engine.Rule // without subscription and time
}

// Options configure how a file is read. The zero value means the limits and defaults of the
// standard tier of Azure Service Bus.
type Options struct {
	// Limits are the namespace's limits. Values in the emulator's ranges are
	// accepted too. Nil means engine.DefaultLimits.
	Limits *engine.Limits
}
