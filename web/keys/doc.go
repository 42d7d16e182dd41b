// Package keys keeps what gives access without signing in: API tokens, for programs
// and the command line, and read-only links, for an audience.
//
//	Ring     all of them, of a server
//	Key      one, without its secret
//	Tokens   the identity.Source that reads Authorization: Bearer
//	Links    the one that reads the cookie that a link was changed for
//
// A secret is told once, when it is made. What is kept is its SHA-256, which is
// enough for what has 130 random bits, as settings of the server's own namespace:
// they are there after a restart, in each of its stores, and making and revoking are
// in its activity. Servers on one store keep them on their board instead: each key is
// good at each of them, at once, and what one revokes is over at all within two seconds.
// While a server does not know of revocations, because that namespace is not served or
// the board cannot be read, nothing is let in: it is to be asked again.
//
// A key's role is never above its maker's, then or later: of a user who has lost a
// role, or is gone, the tokens have lost it too (Options.Standing), and so where nobody
// signs in as they did any more. What becomes of those whom an OpenID provider knows is
// known to nobody here: their tokens stay as they are. What was made by a
// token does not outlive it. Names come again: what a user made is forgotten an hour after
// he is gone, and what was for a namespace that was removed is not for the next one that
// is called so. Tokens from when the server was open to everybody are
// good while it is open.
//
// A link is in an address that many people are to open, and addresses are kept in
// histories and logs. So it is exchanged for a cookie at once, from which it cannot be
// made again, and which is over when the link is. It shows one namespace, and the stages
// of scenes, where nothing is real, and may do nothing. A browser that is to look as
// somebody else again forgets it by LeavePath.
package keys
