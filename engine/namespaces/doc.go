// Package namespaces keeps the namespaces that a server serves: each is opened, owned, served,
// and opened again by itself after it was lost.
//
//	Manager                  all of them: the server's own, and others that come and go
//	Catalogue                the list of the others
//	Keeper                   one namespace
//	Membership, NoteStore    where servers on one store meet, and exchange notes
//	Protocols, ServeHandle   the protocols that serve a namespace, and the watchers of its broker
//
// A Manager does not answer requests. It only sets, through Protocols, which broker does.
package namespaces
