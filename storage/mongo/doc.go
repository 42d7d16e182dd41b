// Package mongo keeps namespaces in a MongoDB database that several servers
// share: each namespace has one owner at a time, and another server takes over
// when the owner dies. It works on a standalone server, a replica set and a
// sharded cluster alike, without transactions, and on other servers that speak
// MongoDB's protocol, because it relies on one thing alone: of several inserts
// of the same _id one succeeds.
//
// # The protocol
//
// Commits go into a journal, one document each; the collections that people
// read follow about a second behind. What keeps this right, and what would go
// wrong without it, is shown by a simulation in the tests.
//
//   - An epoch is one open. It is taken by inserting its document into owners.
//     INVARIANT: one process per epoch. The owner raises the beat in that
//     document; a server that waits takes the next epoch when the beat has stood
//     still for the lease and a margin by its own clock. No two clocks are
//     compared.
//   - A fence is a document of journal just behind an epoch's last commit, put
//     there by its successor before it reads. INVARIANT: an epoch is final once
//     its fence is there. The newest commit is never trimmed, so no number is
//     ever free again.
//   - A commit is the document of journal with the next number. INVARIANT: no
//     gaps, one commit under way; answered means it is on a majority. An insert
//     whose outcome is unknown is tried again, and found to be there by the token
//     it carries.
//   - The self-fence is the end of the lease, by a clock that does not stop
//     while the machine sleeps, counted from before the last good beat was sent.
//     INVARIANT: past it this store commits, applies and answers nothing.
//     An owner that shortens its lease keeps the shorter one before it says so.
//   - Applying puts documents in place of those of a lower version, and a
//     tombstone where something was dropped. INVARIANT: a late writer loses, and
//     nothing rises again.
//   - What an entity has seen, of which there is much that goes in the order it
//     came, has no tombstones: its documents are named by their commit, so that no
//     name comes again, and forgotten says up to which commit and number they are
//     gone. INVARIANT: forgotten says so before the journal's part is applied; what
//     it covers nobody is shown.
//
// # The collections
//
// Every _id is text that begins with the namespace's name, with numbers padded
// so that they sort. To shard, shard every collection by ranges of {_id: 1}, or
// none. "exact" is what the broker reads, as engine/record writes it; the
// fields beside it are for people. Times are dates, v is the version.
//
//	owners    ns/EPOCH                who had each epoch, its addresses, lease and beat
//	journal   ns/EPOCH/NUMBER         a commit (batch, token, number of parts), or a fence
//	parts     ns/EPOCH/NUMBER/ATTEMPT/PART  what of a commit was beyond 8 MiB
//	entities  ns/HOLDER               queues, topics, subscriptions; 0: who may do what, with keys
//	rules     ns/HOLDER/name          of a subscription
//	meters    ns/HOLDER               next sequence number, last use, duplicates
//	sessions  ns/HOLDER/session       the state of one, up to 15 MiB
//	seen      ns/HOLDER/EPOCH/NUMBER/N  digests of MessageIds that were accepted together
//	forgotten ns/HOLDER               up to where what it has seen is gone
//	messages  ns/KEY                  one copy of a message: path, seq, state, times, ids, dead-letter reason
//	contents  ns/KEY                  what a sender wrote; shared by copies
//	bodies    ns/KEY                  up to 1 MiB
//	large     ns/KEY                  which chunks are a longer body
//	chunks    ns/KEY/ATTEMPT/NUMBER   1 MiB each
//	namespaceSettings  ns/key         what the namespace keeps for others: views, rules for alerts, jobs
//	settings  ns/applied, ns/format   how far the journal is applied; version of all this
//	          ns/reader/TOKEN         somebody reads beside the owner (Look)
//	history   ns/AT/EPOCH/NUMBER      events, for people (engine.History)
//
// Beside the namespaces:
//
//	namespaces  name/NUMBER           which there are, and were, that every server has
//	servers   NAME, ~secret           servers that are alive; what they know and nobody else
//	board     KIND/ID                 what each of them is to know: who has signed in, tokens, by their hashes; what was done at one and another is to remember
//
// # The indexes
//
// The _id is all the store needs. For people and for sweeping there are
// {ns, path, seq} and {ns, expiresAt} in messages, {ns, path, sessionId} in
// sessions, and {ns, key, at} and {ns, at} in history. A TTL index on purgeAt removes what no rule can still need:
// tombstones after an hour, history after its time, and a message a week after
// its end, if it is one that would vanish then anyway: active, not locked, never
// tried, where what expires does not become a dead letter. It is a broom and a
// backstop: expiry is the broker's, and on servers without such indexes it
// sweeps alone.
package mongo
