// Package timeout ends requests whose client stops sending the body or stops reading the
// answer.
//
//	Handler   sets a deadline for every read of a body and every write of an answer
//	Server    sets net/http's deadlines for the time when no handler runs; at its shutdown,
//	          closes connections that have sent nothing
//	Stream             lets the body of one request take any time while it moves
//	WithWriteTimeout   sets a deadline for every write to a hijacked connection
//
// Only the time counts that the server spends waiting for the client. Long polls, streams
// without events and imports that commit slowly may take any time.
//
// INVARIANT: while a part of a body is outstanding, the connection has a read deadline.
// net/http reads the part that a handler left, before the answer and before the next
// request.
package timeout
