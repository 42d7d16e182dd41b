// Package auth identifies the caller of a request and its role: the context of every
// request on the dashboard's port contains a Caller, however the caller authenticated.
//
// A way to authenticate is a Source: the cookie of a session, a bearer token, a link. Sources
// tries them in order. A server without any is open, and every caller is an admin there.
//
// The tables of routes in packages api, show and web have the role that each route requires, and
// live.Commands that of each command of a socket. The server of package web checks addresses in
// one place, authorize, and package live checks commands.
package auth
