// Package engine implements the rules of a message broker: queues, topics and subscriptions,
// the operations on their messages, and their changes over time. It is pure: it reads no
// clock, starts no goroutine and does no I/O, so every rule can be tested at its exact
// boundary.
//
//	Path, Entity, Config, Message, Content   entities and messages
//	Namespace                                the state; its methods are steps, each all or nothing
//	insert, put, drop                        the mutators that every step uses, with before-images
//	Attach, Credit, Match                    receivers, which are state because rules depend on them
//	Setting                                  values stored for other packages: views, rules, jobs
//	Flush, Seal, Rollback, Restore           the changes of all steps leave as one batch; the store decides nothing
//
// Rules carry the ids of SEMANTICS.md in this directory (TTL-5, DEF-9, §6.2#1), which is the
// authority on what the broker does, with its sources.
//
// # Glossary
//
// The words of Service Bus and AMQP that the code uses, and the few of its own. A name that
// needs an explanation and is missing here should be renamed.
//
//	alarm             the time at which a message expires, activates or unlocks by itself
//	alert rule        a condition on messages near expiry or dead-lettered, and what to do then
//	content           what the sender wrote, without the body; all copies by a topic share it
//	credit            how many more messages an AMQP receiver accepts
//	dead-letter       move a message to the dead-letter subqueue, with a reason
//	defer             put a message aside, to be received by its sequence number alone
//	delivery          a message handed to a receiver: under a lock, removed, or only peeked
//	disposition       AMQP's frame that settles deliveries
//	draft             a message template with placeholders; compiled once, sent many times
//	Effects           results of steps since the last Flush: batch, events, deliveries
//	entity            a queue, topic or subscription
//	epoch             how many times a namespace has been opened; a server with an older epoch has lost it
//	idle              unused for AutoDeleteOnIdle; then Sweep deletes the entity
//	Judge             the function that decides which change of a message is due
//	Keeper            opens the store of a namespace, and reopens it after losing the namespace
//	key               identity of a message for life; in web/auth/token, a read-only link or an API token
//	link              how a client sends or receives; in the engine always a receiver
//	lock              the right to settle a message, or to have a session, until a time
//	namespace         entities, messages and access rules under one name; one goroutine owns it
//	operation         a change that an operator makes to one message, or to all that match
//	owner             the server that has a namespace's lease, where several share a store
//	Packed            encoded content, in memory as in the store
//	partition key     keeps messages of a partitioned entity together; bounds transactions
//	presentation      pages that a presenter shows to followers
//	queue             an entity that keeps what is sent to it, until one receiver completes it
//	receiver, sender  in web/amqp, the ends of links at the server: a sender serves a client that receives
//	record            the stored form of an entity, message, session or setting
//	rule              a subscription's filter, with an action that may change the copy
//	Rulebook, Plan    SQL rules of topics; their results for a message, evaluated ahead
//	scene             a scripted demonstration in a namespace of its own, whose clock can be turned
//	session           messages with one SessionId, locked together; in AMQP, a group of links
//	setting           a value stored with the namespace for other packages
//	settle            complete, abandon, defer or dead-letter a delivery
//	subqueue          main queue, dead-letter or transfer dead-letter subqueue of an entity
//	subscription      a queue behind a topic, which gets the copies that its rules select
//	Sweep             does work that is due without a request
//	Terms             the settings of a subqueue that Judge needs
//	topic             an entity that copies what is sent to it to its subscriptions
//	transfer          sending via another entity; in AMQP, the frame that carries a message
//	turn              one round of the broker's loop: steps, one batch, one commit
//
// # Where things are
//
// What Mayfly does, and the files and folders that do it, from the root of the module.
//
//	accept a message                     engine/send.go
//	administration over HTTP (Atom)      web/rest/atom
//	alerts, webhooks                     engine/alert, web/webhook
//	attach of a link                     web/amqp/attach.go
//	audit trail: recorded, read, shown   engine/audit.go, engine/history, web/dashboard/activity
//	auto-delete on idle                  engine/idle.go
//	backup and restore                   storage/archive, cmd/mayfly/server/backup.go, cmd/mayfly/server/restore.go
//	benchmarks                           cmd/brokerbench, cmd/livebench
//	bulk operations                      engine/bulk.go, engine/job
//	CBS tokens, SAS                      web/amqp/request_link.go, web/auth/sas
//	clock that a user turns              engine/broker/manual_clock.go
//	command line: parser, help           cmd/mayfly/cli/command.go, cmd/mayfly/cli/parser.go, cmd/mayfly/cli/help.go
//	commands                             cmd/mayfly/client, cmd/mayfly/command
//	commit: one for many steps           engine/broker/turn.go, engine/changes.go
//	Config.json                          engine/topology, cmd/mayfly/server/config_file.go
//	configuration of the server, flags   cmd/mayfly/server/serve.go, cmd/mayfly/server/serve_values.go, cmd/mayfly/server/config.go
//	connection limits, rate limits       web/connlimit, web/auth/password/sign_in_limiter.go, web/loglimit
//	correlation filters                  engine/filter/correlation_parse.go, engine/filter/correlation_match.go
//	crash recovery                       engine/restore.go, storage/sqlite/load.go
//	dead-letter groups                   engine/search/deadletters, web/dashboard/search/dead_letter_groups.go, web/api/deadletters.go, views/page/search/dead_letter_groups.templ
//	deliver a message                    engine/receive.go, web/amqp/sender.go
//	documentation: pages, list           web/docs, cmd/mayfly/manual
//	duplicate detection                  engine/duplicates.go
//	errors: their codes in each API      web/errorcodes/table.go
//	event history: written, queried      engine/broker/history_writer.go, engine/history
//	expire a message                     engine/judge.go, engine/sweep.go
//	forward a request to the owner       web/forward_to_owner.go, web/cluster
//	forwarding, hop limit                engine/auto_forward.go
//	idempotency keys                     web/api/idempotency.go, web/idempotency
//	JSON API's routes                    web/api/routes.go, web/api/route.go
//	login and password                   web/auth/password, web/auth/users
//	management operations ($management)  web/amqp/management.go
//	memory limits                        engine/memory.go, engine/memory_account.go
//	message templates                    engine/template, web/dashboard/send.go, views/page/send/templates.templ
//	MongoDB's TTL indexes                storage/mongo/index.go
//	OpenAPI document                     web/openapi
//	OpenID Connect                       web/auth/oidc
//	operator actions on one message      engine/operator_actions.go, engine/broker/operator_actions.go
//	page of a queue: form, handler       web/dashboard/entity/entity_form.go, views/page/entity/entity_form.templ, web/dashboard/entity.go
//	page of a queue: model, template     web/dashboard/entity, views/page/entity/entity.templ
//	page of a queue: route, role         web/dashboard/route/entity.go
//	presenter mode                       web/presentation, web/dashboard/share.go, static/present.js
//	Prometheus metrics                   web/prometheus
//	purge                                engine/purge.go, engine/broker/purge.go
//	push to browsers                     web/live, static/live.js
//	quotas and limits                    engine/limits.go, engine/memory_account.go
//	REST: send, receive, settle          web/rest
//	SASL                                 web/amqp/handshake.go
//	saved views                          engine/search/columns/views.go, web/dashboard/views.go
//	scenes                               engine/demo, engine/demo/scenes, web/dashboard/scenes.go
//	scheduled message list               engine/browse.go, views/page/entity/entity_tabs.go
//	scheduled messages                   engine/send.go, engine/judge.go
//	search of messages                   engine/search, engine/broker/search.go, web/api/search.go
//	sessions and their locks             engine/session.go
//	settings stored for other packages   engine/setting.go, engine/broker/setting.go
//	settle a delivery: AMQP, rules       web/amqp/settle.go, engine/settle.go
//	SQL filters: grammar                 engine/filter/grammar.go
//	store: contract, conformance tests   engine/store.go, storage/storetest
//	take-over of a namespace             engine/namespaces/keeper.go, storage/mongo/owner.go
//	temporary queues list                engine/idle.go, views/page/overview/temporary.templ
//	tests in a browser                   cmd/mayfly/e2e/browser_test.go, web/live/browser_test.go
//	TLS certificate                      web/certificate
//	traceability test                    engine/traceability_test.go
//	transactions                         engine/transaction.go, web/amqp/coordinator.go
//	translations                         views/locale
//	warn before a message expires        engine/alert/rule.go, engine/expiry_watch.go, engine/alert/expiry_watch.go
//	WebSockets for AMQP                  web/amqp/websocket
//	who may open which page              web/dashboard/route, web/authorize.go
//
// # Invariants
//
// Check rebuilds everything below from the records and compares; tests call it after each
// step.
//
// INVARIANT: an entity is found by its folded path, its subqueues by their ids, and a
// subscription through its topic, in path order; queues and topics are counted.
//
// INVARIANT: a topic's rule index and its rulebook follow from its subscriptions' rules.
//
// INVARIANT: a subqueue's terms follow from its entity's description and its topic's.
//
// INVARIANT: order, ready bits, lists by class, counts and bytes of a subqueue are a function
// of its messages; bytes are summed at the root entity.
//
// INVARIANT: where sessions are required, they are a function of messages, locks and states;
// a session with none of these does not exist. The last message locked in a session has the
// session lock's deadline.
//
// INVARIANT: available sessions are in line by rank, locked ones in a heap by the end of
// their lock, and all of them in id order.
//
// INVARIANT: a message has one alarm, if its terms call for one, in the set of its kind;
// after a change of terms, messages whose alarm was not yet set again may have the old one.
//
// INVARIANT: NextSeq is above every number in the entity, its dead-letter subqueues included.
//
// INVARIANT: a topic holds only scheduled messages, a dead-letter subqueue only dead letters,
// and no scheduled message is locked.
//
// INVARIANT: dead letters that are never forwarded are in dead-letter subqueues. The ready ones
// among them, and the ready ones that were passed over because their destination rejects them,
// are kept apart from other ready messages; those passed over are counted.
//
// INVARIANT: every key leads to its message; besides messages in subqueues there are only
// those of deleted subqueues that have not been freed.
//
// INVARIANT: details are recorded only of locks that exist.
//
// INVARIANT: a content counts the messages that refer to it, and the open transactions that
// keep it.
//
// INVARIANT: an entity remembers MessageIds exactly if it detects duplicates, in ordered
// generations, none of them empty; ids that the store does not have yet are in the next batch.
//
// INVARIANT: every transaction has a deadline, and the soonest is first; the messages that
// transactions send and settle, and the bytes that they keep, are counted.
//
// INVARIANT: a link is at the subqueue it names, in the lines it belongs to; links are
// counted at the root entity, those with credit or waiting for a session at their entity and
// its topic.
//
// INVARIANT: the namespace's access rules are sorted by name, and names are unique.
//
// INVARIANT: a setting is found by its key, the bytes of all settings are counted, and their
// order, once computed, is that of the keys.
//
// INVARIANT: a subqueue with a ready message and a link with credit needs a match.
//
// INVARIANT: a session that is locked for a link is that link's session; a link that waits
// for a session is in line once; and where a link could get a session or a message, the
// subqueue needs a match and the session is in the line of sessions to serve.
//
// INVARIANT: a subqueue with something due or to be forwarded is in the rotation, or in the heap
// at the time of its next alarm; an entity's idle alarm is never late.
//
// INVARIANT: a message that the store does not have in its present form is dirty and in the next
// batch, as is the key of a stored message that was dropped; the content of a message is stored
// or in the next batch; and a batch names no identity twice. Package engine/enginetest shows that
// the store's records, changed by a batch, equal the state here.
//
// # Not applicable
//
// Rules that no test names, and why. TestTraceability reads this list, and prints which tests
// name the others.
//
//   - PEEK-11: there is one partition (SEQ-2).
package engine
