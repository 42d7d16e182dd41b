// Package suggest proposes how a query that a user is typing could go on: keys of the
// grammar, names of entities, and properties, reasons, texts and JSON paths of messages in
// the namespace.
//
// Values come from a sample: a few messages of some subqueues, with a few small bodies. It
// is taken in one short turn of the broker, bodies are read outside it, and it is used for a
// while, so that typing costs next to nothing; while the clock stands it is taken each time.
// Users can also type values that are not in the sample.
package suggest
