// Package login has people sign in with a name and a password, remembers who has, and
// lets admins see and end what they have begun.
//
//	Sessions   who has signed in, by the cookie that says so
//	Door       the pages: /login, /logout and /sessions
//	brake      how often somebody may try
//
// A session is kept in memory, by the hash of its cookie: who restarts the server signs
// in again. Servers on one store have it on their board too: who has signed in at one has
// done so at all, and what ends at one ends at the others within two seconds. A server
// that cannot read the board goes on with those that it knows. A session ends when it
// has not been used for IdleFor, after LastsFor, when it is signed out or ended by an
// admin, and when the user's line in the file goes or changes; whatever is open then,
// sockets too, ends with it.
package login
