// Package token manages credentials that need no sign-in: API tokens, for programs and the
// command line, and read-only links, for an audience.
//
//	Registry   the tokens and links of a server
//	Key        a token or link, without its secret
//	Tokens     the auth.Source that reads Authorization: Bearer
//	Links      the auth.Source that reads the cookie of a link
//
// A secret is shown once, when it is made. Only its SHA-256 is stored, which is enough for
// secrets of 130 random bits, in settings of the server's own namespace: keys survive a
// restart, in each of its stores, and making and revoking them is in its activity. Servers
// that share a store keep keys in their note store instead: each key is valid at all of them at once,
// and a key that one server revokes ends at all of them within two seconds. While a server
// cannot learn of revocations, because that namespace is not served or the note store cannot be read,
// it lets no key in, and clients are asked to retry.
//
// A key's role is never above its maker's, then or later: when a user loses a role or is removed,
// or the method by which the user signs in is switched off, the user's tokens lose the role too
// (Options.CurrentRole). Changes at an OpenID provider are unknown here: tokens of its users stay
// as they are. Keys that were made with a token do not outlive it. Names may be reused: a user's
// keys are forgotten an hour after the user is gone, and a key for a removed namespace is not valid
// for a new one of the same name. Tokens from when the server was open to everybody are valid while
// it is open.
//
// A link is an address that many people open, and addresses are kept in histories and logs.
// So it is exchanged for a cookie at once. The link cannot be derived from the cookie, which
// ends when the link does. It shows one namespace, and the demo namespaces to which its
// presenter led, and may change nothing. A browser drops it at LeavePath.
package token
