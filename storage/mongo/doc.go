// Package mongo keeps namespaces in a MongoDB database that several servers
// share: each namespace has one owner at a time, and another server takes over
// when the owner dies. It works on a standalone server, a replica set and a
// sharded cluster, without transactions, and on other servers that speak
// MongoDB's protocol, because it relies on a single guarantee: of several
// inserts of the same _id, exactly one succeeds.
//
// # The protocol
//
// Commits go into a journal, one document each; the collections that people
// read follow about a second behind. A simulation in the tests shows that this
// is correct, and which errors occur when one of the safeguards is missing.
//
//   - An epoch is one open. It is taken by inserting its document into owners.
//     INVARIANT: one process per epoch. The owner increments the beat in that
//     document; a standby server takes the next epoch when the beat has not
//     changed for the lease and a margin by the standby's own clock. The clocks
//     of two machines are never compared.
//   - A fence is a journal document right after an epoch's last commit, inserted
//     by the next owner before it reads. INVARIANT: an epoch is final once its
//     fence exists. The newest commit is never trimmed, so no number is ever
//     reused.
//   - A commit is the document of journal with the next number. INVARIANT: no
//     gaps, one commit under way; answered means it is on a majority. An insert
//     whose outcome is unknown is retried, and recognised by the token it carries
//     if it did succeed.
//   - The self-fence is the end of the lease, by a clock that does not stop
//     while the machine sleeps, counted from before the last good beat was sent.
//     INVARIANT: past it this store commits, applies and answers nothing.
//     An owner that shortens its lease keeps to the shorter one before it
//     publishes it.
//   - Applying replaces documents of a lower version, and writes a tombstone for
//     each record that was dropped. INVARIANT: a late writer loses, and no dropped
//     record comes back.
//   - The MessageIds that an entity remembers for duplicate detection are many and
//     are dropped in the order in which they were added, so they have no tombstones: their
//     documents are named after their commit, so that no name is used twice, and
//     forgotten records up to which commit and number they are dropped. INVARIANT:
//     forgotten is written before that part of the journal is applied; what it
//     covers is never loaded.
//
// # The collections
//
// Every _id is text that begins with the namespace's name, with numbers padded
// so that they sort. To shard, shard every collection by ranges of {_id: 1}, or
// none. "exact" is what the broker reads, encoded by engine/codec; the
// fields beside it are for people. Times are dates, v is the version.
//
//	owners    ns/EPOCH                the server that took each epoch: its addresses, lease and beat
//	journal   ns/EPOCH/NUMBER         a commit (batch, token, number of parts), or a fence
//	parts     ns/EPOCH/NUMBER/ATTEMPT/PART  the part of a commit beyond 8 MiB
//	entities  ns/HOLDER               queues, topics, subscriptions; 0: access rules with their keys
//	rules     ns/HOLDER/name          of a subscription
//	meters    ns/HOLDER               next sequence number, last use, duplicates
//	sessions  ns/HOLDER/session       the state of one, up to 15 MiB
//	seen      ns/HOLDER/EPOCH/NUMBER/N  digests of MessageIds accepted in one commit
//	forgotten ns/HOLDER               up to where its documents in seen are dropped
//	messages  ns/KEY                  one copy of a message: path, seq, state, times, ids, dead-letter reason
//	contents  ns/KEY                  the message as its sender wrote it; shared by copies
//	bodies    ns/KEY                  up to 1 MiB
//	large     ns/KEY                  the chunks of a longer body
//	chunks    ns/KEY/ATTEMPT/NUMBER   1 MiB each
//	namespaceSettings  ns/key         the namespace's settings: views, alert rules, jobs
//	settings  ns/applied, ns/format   how far the journal is applied; version of all this
//	          ns/reader/TOKEN         a reader that does not own the namespace (OpenSnapshot)
//	history   ns/AT/EPOCH/NUMBER      events, for people (engine.History)
//
// Beside the namespaces:
//
//	namespaces  name/NUMBER           the namespaces of all servers, removed ones included
//	servers   NAME, ~secret           servers that are alive; the secret that they share
//	board     KIND/ID                 data that all servers need: sessions and tokens, by their hashes; audit records for another server to keep
//
// # The indexes
//
// The store itself needs no index but that of _id. For people and for sweeping
// there are {ns, path, seq} and {ns, expiresAt} in messages, {ns, path, sessionId}
// in sessions, and {ns, key, at} and {ns, at} in history. A TTL index on purgeAt
// removes documents that no rule can still need: tombstones after an hour, history
// after its retention, and a message a week after it expired, if the broker would
// simply have removed it then: active, not locked, never delivered, in an entity
// that does not dead-letter expired messages. The index only cleans up: expiry is
// the broker's task, and on servers without TTL indexes the store sweeps by itself.
package mongo
