// Package search finds stored messages, and entities, by a query that a user typed: terms
// that must all be true, as in
//
//	body:"order 17" json.customer.id:42 prop.region:eu state:deferred age:>5m -subject:heartbeat
//
// It is pure: a Query is a predicate on one engine.Row at an instant, and on its body only if
// the row does not decide. It reads nothing and waits for nothing, so that a scan, a job and a
// test can all use it.
//
//	Parse                     the grammar, with errors that name a position
//	Query.Match               the result for a row alone: yes, no, or that its body decides
//	Query.MatchBody           the result for row and body
//	Query.Covers, Query.Class what a scan can skip
//	Query.Terms, Query.Without  for pages that show one chip for each term
//	ParseEntities, EntityQuery  the same for queues, topics and subscriptions
//
// # Grammar
//
// Terms are separated by spaces; all must be true. A minus before a term negates it. A term
// is a word, a "phrase", or key:value; several values are separated by commas, and one of
// them must match. In quotes everything is literal, except \" and \\; outside of them *
// stands for any text.
//
// Case never matters, except in the names of JSON members. Words, phrases and body: match
// anywhere in a text, all other values must match a whole text. The value * matches every text
// that is set; "" matches one that is not set.
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
//	age: ttl: due:   durations: since it arrived, until it expires (or never), until it is due: age:>5m
//	enqueued:        a moment in UTC, as exact as it is written: enqueued:>=2026-07-14, enqueued:<2026-07-14T10:00
//	delivery: seq:   whole numbers
//	size:            of header and body, in B, KB, MB and GB of 1,024
//
// Numbers, durations, sizes and moments may be compared by <, <=, > and >=; so may properties and
// JSON values of a comparable type. Numbers are compared by their exact decimal value: 1, 1.0 and
// 1e0 are equal, regardless of their types, and none is rounded. An absent value, such as the
// expiry of a message that does not expire or a missing property, never matches a comparison.
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
//	expiring:        a duration until the next message expires; without one: has messages that expire
//	temp:            a duration until it deletes itself; without one: deletes itself when idle
//	idle:            a duration since its last use; an entity with receivers is in use
//	messages: active: locked: deferred: scheduled: dlq: transfer: sessions: receivers: subscriptions:   whole numbers
//	size:            of all its messages
//
// transfer counts messages that could not be forwarded. For a topic, the messages, sessions,
// receivers and next expiry are those of its subscriptions.
package search
