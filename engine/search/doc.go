// Package search finds stored messages, and entities, by a query that a user typed: terms
// that must all be true, as in
//
//	body:"order 17" json.customer.id:42 prop.region:eu state:deferred age:>5m -subject:heartbeat
//
// It is pure: a Query judges one engine.Row at an instant, and its body only if the rest
// leaves that open. It reads nothing and waits for nothing, so that a scan, a job and a test
// can all use it as a predicate.
//
//	Parse                     the grammar, with errors that name a position
//	Query.Match               the answer by a row alone: yes, no, or that its body decides
//	Query.MatchBody           the answer by row and body
//	Query.Covers, Query.Class what a scan can skip
//	Query.Terms, Query.Without  for pages: one chip for each term
//	ParseEntities, EntityQuery  the same for queues, topics and subscriptions
//
// # Grammar
//
// Terms are separated by spaces; all must be true. A minus before a term negates it. A term
// is a word, a "phrase", or key:value; several values are separated by commas, and one of
// them must match. In quotes everything is literal, except \" and \\; outside of them *
// stands for any text.
//
// Case never matters, except in the names of JSON members. Words, phrases and body: are
// looked for anywhere in a text, all other texts must match as a whole. A value of only *
// matches anything that is set; "" matches what is not set.
//
//	word "a phrase"  subject, message id or body
//	body:            the bytes of the body; of a long one the first MaxBody bytes
//	subject: id: correlation: session: to: reply-to: type:
//	in:              an entity, with its dead letters, or a topic with its subscriptions; * for parts of a path
//	state:           active, locked, deferred, scheduled, dead
//	reason: source:  of a dead letter: its reason, and where it became one
//	error:           of a dead letter: the text of its error; # may stand for each id and number in it
//	prop.NAME:       an application property; prop.*: any of them
//	json.PATH:       in a JSON body: names with dots, [0], [*]; * is any name; "in quotes" for names with a dot
//	age: ttl: due:   durations since it arrived, until it expires (or never), until its schedule: age:>5m
//	enqueued:        a moment in UTC, as exact as it is written: enqueued:>=2026-07-14, enqueued:<2026-07-14T10:00
//	delivery: seq:   whole numbers
//	size:            of header and body, in B, KB, MB and GB of 1,024
//
// Numbers, durations, sizes and moments may be compared by <, <=, > and >=; properties and
// JSON too, with the values that they can be compared with. Numbers are compared by their exact
// decimal value: 1, 1.0 and 1e0 are one number whatever their types, and none is rounded. An
// absent value, such as an expiry that never comes or a missing property, never matches a
// comparison.
//
// # Entities
//
// The same grammar with other keys, as in orders has:dlq expiring:<5m -status:disabled:
//
//	word "a phrase"  a part of the path
//	name:            the path, or its last part, as a whole
//	kind:            queue, topic, subscription
//	status:          active, disabled, senddisabled, receivedisabled
//	has:             messages, active, locked, deferred, scheduled, dlq, transfer, sessions, receivers, subscriptions
//	expiring:        a duration until the next message expires; without one: that any does
//	temp:            a duration until it deletes itself; without one: that it does so when idle
//	idle:            a duration since it was used; with receivers it is in use
//	messages: active: locked: deferred: scheduled: dlq: transfer: sessions: receivers: subscriptions:   whole numbers
//	size:            of all its messages
//
// transfer counts messages that could not be forwarded. A topic has the messages, sessions and
// receivers of its subscriptions, and their next expiry.
package search
