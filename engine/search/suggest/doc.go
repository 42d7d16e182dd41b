// Package suggest proposes completions of a query that a user is typing: keys of the grammar,
// names of entities, and properties, reasons, texts and JSON paths of messages in the
// namespace.
//
// Values come from a sample: a few messages of some subqueues, with a few small bodies. It is
// taken in one short turn of the broker; bodies are read outside the turn. The sample is then
// used for a few seconds, so that typing costs little. While the clock is stopped, a new one is
// taken for each call. Users can also type values that are not in the sample.
package suggest
