// Package identity says who a request is of and what that one may do: a Who is in
// the context of every request that the dashboard's port passes on, whatever way it
// became known.
//
// A way to become known is a Source: the cookie of somebody who has signed in, a
// bearer token, a link. They are tried in order, by Sources. A server without any is
// open, and everybody is an admin there.
//
// What a role may do is said where routes are: api.Needs, ui.Needs, the Needs of gates;
// and live.Commands for what a socket is asked to do. The server of package web refuses
// an address in one place, permitted, and package live a command.
package identity
