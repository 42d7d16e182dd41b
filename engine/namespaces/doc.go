// Package namespaces manages the namespaces that a server serves. It opens each one, makes the
// server own and serve it, and opens it again after it was lost.
//
//	Manager                  all namespaces: the server's own, and others that are created and removed
//	Catalogue                the stored list of the others
//	Keeper                   opens and serves one namespace
//	Membership, NoteStore    let servers on one store find each other and exchange data
//	Protocols, ServeHandle   the protocols that serve a namespace, and the watchers of its broker
//
// A Manager does not answer requests itself. Through Protocols, it sets which broker does.
package namespaces
