// Package oidc signs people in with an OpenID provider: the authorization code flow
// of OpenID Connect Core 1.0, with PKCE.
//
//	Config     the provider, and the roles of its users
//	Provider   sends a browser there (Begin), and identifies its user afterwards (Finish)
//	Handler    the addresses that browsers are sent between
//
// The provider's document is requested at the first sign-in, and again until it is
// received: a provider that is down does not keep the server from starting. Its answers are
// bounded in size and time, redirects to other hosts are not followed, and its texts are
// shown only as plain text.
//
// The state of a sign-in (state, nonce and the verifier of PKCE) is in a sealed cookie of
// the browser that began it, and is valid for ten minutes and once; the server remembers
// only that it was used. Servers that share a key can finish each other's sign-ins. How long
// a user stays signed in is up to the sessions: the provider is not asked again. A user who
// signs out here is also redirected to the provider's sign-out, if its document has one: see
// sign_out.go.
package oidc
