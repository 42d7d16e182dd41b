// Package archive writes a namespace to one file and restores it from there,
// into a store of any kind.
//
// # The file
//
//	file  = "Mayfly backup 1\n" gzip(frame ...) SHA-256 of all bytes before it
//	frame = kind length bytes CRC-32C        length and check sum: 4 bytes, most significant first;
//	                                         the sum is of kind, length and bytes
//
// The number in the first line is the version of all this. Frames come in this
// order:
//
//	header    one: JSON, see Header
//	record    as engine/record writes it, in the order of engine.Store.Load; each
//	          content is followed by its body, in frames of
//	body      256 KiB, the last one of the rest
//	event     of the history, oldest first: the epoch as a varint, and what
//	          engine/record writes
//	trailer   one: JSON, see Counts
//
// Fields may be added to headers, trailers, records and events without a new
// version: readers skip what they do not know. A kind of record that a reader
// does not know it refuses; there are files without sessions, what was seen,
// access rules and settings, from before they were.
//
// Writing and reading take memory for one frame and a few hundred events, no
// matter how much there is; restoring takes it for contents too, though not for
// bodies, as the broker does that serves them. What a reader hands on has passed
// its frame's check sum; that nothing is missing or was added is known when it
// has come to the end. So Check reads a file to its end before Restore reads it
// again.
//
// # Identities
//
// Keys and holder ids are given from a store's epoch and a counter, and the
// store that a backup is restored into has an epoch of its own, lower than the
// old one perhaps, out of which the next server would give the same identities
// again. So they are given anew: each is moved, in the order they had, into the
// epoch of the restore, wherever it is named: in entities, rules, meters,
// sessions, what was seen, contents, bodies, messages and history. The numbers of
// what was seen are moved likewise: the next ones have to be higher. Contents that no message refers to stay
// behind. The server that opens the store afterwards has a higher epoch. It
// follows that a lock token from before names nothing after a restore: a message
// that was locked stays so until its lock ends, and is free then. In a session
// that is when the lock of the session ends, which is the LockedUntil of the last
// message that is locked there; of the others it may have passed.
//
// Events are numbered anew as well, in their order: those of one epoch are to be
// told apart by their number.
//
// # A restore that was interrupted
//
// The first batch puts a mark into the store, engine.Unfinished, and the last
// one takes it out. Nobody serves a store with the mark in it. To restore once
// more, from the same file or another, clears what is there and begins anew;
// identities of the first attempt do not come back, because that is another
// epoch.
package archive
