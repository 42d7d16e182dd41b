// Package fleet keeps the namespaces that a server serves: each is opened, owned,
// served, and opened again after it was lost, by itself.
//
//	Fleet            all of them: the server's own, and others that come and go
//	Catalogue        where the others are remembered
//	Keeper           one namespace
//	Roll, Board      where servers on one store meet, and what they tell each other
//	Doors, Served    what is told of it, and what follows it
//
// What requests are answered by is not its own: it tells Doors.
package fleet
