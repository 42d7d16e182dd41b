// Package errorcodes has the table of error identities: how AMQP, the HTTP API of Service Bus
// for messages (web/rest) and the one for entities (web/rest/atom), the JSON API and the
// dashboard's pages answer each kind of error (semantics §16).
//
// A kind is an Err… value that [errors.Is] finds in an error. A kind that is also another, more
// general one has its row first. An empty cell leaves the kind to a later row, usually that of
// the more general kind. An error for which no row has an answer is a failure of the server.
//
// Errors whose type decides the answer, such as [auth.RoleError], [origin.HostError] and Echo's
// HTTPError, are not in the table: each API looks for them first or last. The texts are not
// here either: they are those of the errors.
package errorcodes
