// Package password lets people sign in with a name and a password, keeps their sessions, and
// lets admins list and end them.
//
//	Sessions   the sessions of users, by their cookies
//	Handler    the pages: /login, /logout and /sessions
//	throttle        how often a key may try
//	signInLimiter   which throttles apply to a sign-in, and in what order
//	knownAddresses  addresses of earlier sign-ins, which do not wait for others
//
// A session is kept in memory, by the hash of its cookie: after a restart users sign in again.
// Servers that share a store have it in their note store too: a user who has signed in at one is
// signed in at all, and a session that ends at one ends at the others within two seconds. A server
// that cannot read the note store goes on with the sessions that it has. A session ends when it has
// not been used for IdleTimeout, after Lifetime, when it is signed out or ended by an admin, and
// when the user's line in the file changes or is removed. Its open requests and sockets end with it.
package password
