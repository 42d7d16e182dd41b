// Package archive writes a namespace to one file and restores it from there,
// into a store of any kind.
//
// # The file
//
//	file  = "Mayfly backup 1\n" gzip(frame ...) SHA-256 of all bytes before it
//	frame = kind length bytes CRC-32C        length and check sum: 4 bytes, most significant first;
//	                                         the sum is of kind, length and bytes
//
// The number in the first line is the version of the format. Frames come in this order:
//
//	header    one: JSON, see Header
//	record    encoded by engine/codec, in the order of engine.Store.Load; each
//	          content is followed by its body, in frames of
//	body      256 KiB, the last one shorter
//	event     of the history, oldest first: the epoch as a varint, and the event
//	          encoded by engine/codec
//	trailer   one: JSON, see Counts
//
// Fields may be added to headers, trailers, records and events without a new version: readers
// skip unknown fields. A reader refuses unknown kinds of records, and the files of the first
// versions, whose entities have no transfer dead-letter queue.
//
// Writing and reading take memory for one frame and a few hundred events, whatever the size of
// the namespace; restoring also takes memory for contents, though not for bodies, as the
// broker that serves them does. A reader returns only frames whose checksums match, but only
// the end of the file proves that no frame is missing or was added. So Check reads a file to
// its end before Restore reads it again.
//
// # Identities
//
// Keys and subqueue ids consist of a store's epoch and a counter. The store that a backup is
// restored into is in another epoch, which may be lower than the old one, so that a later
// epoch could give the same identities again. So each identity is moved, in order, to the
// epoch of the restore, wherever it occurs: in entities, rules, meters, sessions, remembered
// MessageIds, contents, bodies, messages and history. The numbers of remembered MessageIds are
// moved too, because the next ones must be higher. Contents that no message refers to are left
// out. The server that opens the store afterwards has a higher epoch. It follows that a lock
// token from before the restore is invalid: a message that was locked stays locked until its
// lock ends. Messages locked in a session stay locked until the session's lock ends. That is
// the LockedUntil of the last of them; the LockedUntil of the others may have passed.
//
// Events get new numbers, too, in order, because the events of one epoch are distinguished by
// their number.
//
// # A restore that was interrupted
//
// The first batch writes engine.RestoreMark into the store, and the last one removes
// it. No server opens a store with the mark. Restoring again, from the same file or another,
// removes the remains and starts over; identities of the first attempt do not come back,
// because the epoch is another one.
package archive
