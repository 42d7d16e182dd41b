// Package oidc signs people in with an OpenID provider: the authorization code flow
// of OpenID Connect Core 1.0, with PKCE.
//
//	Config     which provider, and who is what there
//	Provider   sends a browser there (Begin), and says who has come back (Finish)
//	Door       the addresses that browsers are sent between
//
// The provider is asked for its document when the first person wants to sign in, and
// again until it answers: one that is down does not keep the server from starting.
// Its answers are bounded in size and time, redirects to other hosts are not followed,
// and none of its texts is shown otherwise than as text.
//
// What a sign-in needs to come to its end, state, nonce and the verifier of PKCE, is in
// a sealed cookie of the browser that began it, and is good for ten minutes and once;
// the server keeps no more of it than that it was used. One that begins at one of several
// servers comes to its end at any of them that share a key. How long somebody is signed
// in then is up to who keeps sessions: the provider is not asked again. Who signs out here
// is led to where that is done at the provider, too, if its document says where: see
// end.go.
package oidc
