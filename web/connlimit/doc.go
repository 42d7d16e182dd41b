// Package connlimit bounds how many connections the process has open, over all its
// ports. A [Budget] wraps the listeners. Each accepted connection counts until it is
// closed, under the address of its client and with its [Stage].
//
// When the budget is used up, a new connection is served and another one is closed. The
// first of these kinds that has a connection loses one:
//
//  1. connections with an unfinished handshake: TLS, SASL, AMQP's open or the headers of
//     the first request are incomplete
//  2. connections without a token, where tokens are required
//  3. connections without an open link; with HTTP, those that wait for the next request
//     or for the rest of a request
//  4. connections in use, of the address that has most of them, if those are more than
//     its share
//  5. connections whose links have no credit
//
// Within a kind, the oldest connection of the address with most connections of that kind
// is closed, so a client that floods the server loses its own connections first. An
// address may use the whole budget while other clients leave it free. When they connect, it
// keeps its share, a quarter. Within that share, links with credit, requests that are being
// answered and open pages are never closed for other clients.
//
// While only a few connections are in their handshake (see [Options.Max]), kind 1 comes
// last. Otherwise a flood of half-open connections would close each new client before its
// handshake ends, while all the rest of the budget is in use.
//
// If no connection can be closed, the new one gets one of a few emergency places, for
// three seconds. Requests for the server's health are answered there, and everything else
// is refused. A reserve of open files keeps this working when the process is out of files.
//
// A [Group] applies the same choice to a smaller number, such as the limit on AMQP
// connections of one namespace.
//
// INVARIANT: a connection is in the pool of the budget, and in that of its group, exactly
// while its phase is admitted. All pools of a budget are guarded by the budget's mutex,
// and no goroutine waits for anything else while it holds that mutex.
package connlimit
