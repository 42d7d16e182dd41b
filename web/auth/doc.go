// Package auth identifies the caller of a request and its role: the context of every
// request on the dashboard's port contains a Caller, however the caller authenticated.
//
// A way to authenticate is a Source: the cookie of a session, a bearer token, a link. Sources
// tries them in order. A server without any is open, and every caller is an admin there.
//
// Roles are assigned to routes where the routes are: in api.RequiredRole, in the table of
// package route, and in RequiredRole of the handlers of this folder. The server of package web
// looks them up and checks them in one place, authorize. Package live checks the commands of a
// socket.
package auth
