-- A Mayfly store: one namespace per file. history.sql and views.sql are the
-- rest of it.
--
-- Tables are what the broker reads and writes; the views are for people, and
-- read like a namespace with its times spelt out. Times are
-- milliseconds since 1970 UTC, durations nanoseconds; NULL is never, unset or
-- the documented default. Keys are the epoch in the upper 24 bits and a counter
-- below. Look as long as you like, also while the broker runs; what you write
-- it will not notice, or trip over. The last column of a table is a check sum of
-- the others: a row with a wrong one counts as damaged, also if you changed it.

-- How often this file was opened to be written.
CREATE TABLE store (
	id    INTEGER PRIMARY KEY CHECK (id = 1),
	epoch INTEGER NOT NULL,
	sum INTEGER
);

-- Queues (kind 1), topics (2) and subscriptions (3).
CREATE TABLE entity (
	id                               INTEGER PRIMARY KEY,
	dead_letter_id                   INTEGER, -- holder of its dead letters
	kind                             INTEGER NOT NULL,
	path                             TEXT NOT NULL,
	created_at                       INTEGER,
	updated_at                       INTEGER,
	unpinned                         INTEGER, -- AutoDeleteOnIdle to return to
	lock_duration                    INTEGER,
	max_size_in_megabytes            INTEGER,
	max_message_size_in_kilobytes    INTEGER,
	default_message_time_to_live     INTEGER,
	auto_delete_on_idle              INTEGER,
	duplicate_detection_window       INTEGER,
	max_delivery_count               INTEGER,
	status                           INTEGER,
	dead_lettering_on_expiration     INTEGER,
	ignore_filter_exceptions         INTEGER,
	unbatched_operations             INTEGER,
	enable_express                   INTEGER,
	support_ordering                 INTEGER, -- 1: of a queue, true; 2: of a topic, false
	requires_duplicate_detection     INTEGER,
	requires_session                 INTEGER,
	forward_to                       TEXT,
	forward_dead_lettered_to         TEXT,
	user_metadata                    TEXT,
	transfer_id                      INTEGER, -- holder of what could not be sent on from here
	authorization_rules              BLOB,    -- who may do what there, with keys
	forward_to_address               TEXT,    -- as which forward_to was given, if not as a path
	forward_dead_lettered_to_address TEXT,
	enable_partitioning              INTEGER,
	sum INTEGER
);

-- Who may do what anywhere: one row, with keys; none before the first rule.
CREATE TABLE access (
	id    INTEGER PRIMARY KEY CHECK (id = 1),
	rules BLOB NOT NULL,
	sum INTEGER
);

-- What the namespace keeps for others: views, rules for alerts, jobs. What comes
-- before a slash in a key says of what kind it is.
CREATE TABLE setting (
	key        TEXT PRIMARY KEY,
	value      BLOB NOT NULL, -- for whoever set it to read
	changed_at INTEGER,
	sum INTEGER
) WITHOUT ROWID;

CREATE TABLE rule (
	subscription INTEGER NOT NULL, -- entity.id
	folded       TEXT NOT NULL,    -- name in lower case
	name         TEXT NOT NULL,
	filter_kind  INTEGER NOT NULL, -- 0 true, 1 false, 2 correlation, 3 SQL
	filter       TEXT,
	action       TEXT,
	created_at   INTEGER,
	parameters   BLOB,             -- what @names in the filter stand for
	sum INTEGER,
	PRIMARY KEY (subscription, folded)
) WITHOUT ROWID;

-- One row for each place for messages. Row 0 is the broker itself: last_used
-- is the latest instant that it made anything durable at. It stands here because
-- both change together, so a commit writes one page for the two.
CREATE TABLE meter (
	holder      INTEGER PRIMARY KEY, -- entity.id, entity.dead_letter_id or entity.transfer_id
	next_seq    INTEGER NOT NULL,
	last_used   INTEGER,
	accessed_at INTEGER,
	duplicates  INTEGER, -- messages that were dropped as duplicates
	sum INTEGER
);

-- The state of sessions; one whose state was never set, or was cleared, has no
-- row.
CREATE TABLE session (
	holder     INTEGER NOT NULL, -- entity.id
	id         TEXT NOT NULL,    -- as the sender wrote it
	state      BLOB NOT NULL,
	changed_at INTEGER,
	sum INTEGER,
	PRIMARY KEY (holder, id)
) WITHOUT ROWID;

-- The ids of messages that an entity with duplicate detection accepted, a row
-- for those that it accepted together.
CREATE TABLE seen (
	holder  INTEGER NOT NULL, -- entity.id
	n       INTEGER NOT NULL, -- less 2^63; rises, and the lowest ones go first
	at      INTEGER NOT NULL,
	digests BLOB NOT NULL,    -- of each id the first 16 bytes of its SHA-256
	sum INTEGER,
	PRIMARY KEY (holder, n)
) WITHOUT ROWID;

CREATE TABLE message (
	key                     INTEGER PRIMARY KEY,
	holder                  INTEGER NOT NULL, -- as of meter
	seq                     INTEGER NOT NULL,
	state                   INTEGER NOT NULL, -- 0 active, 1 deferred, 2 scheduled
	content                 INTEGER NOT NULL, -- content.key and body.key
	enqueued_seq            INTEGER NOT NULL,
	enqueued_at             INTEGER,
	expires_at              INTEGER,
	scheduled_for           INTEGER,
	locked_until            INTEGER,
	nonce                   INTEGER NOT NULL,
	delivery_count          INTEGER NOT NULL,
	dead_lettered           INTEGER, -- NULL: it has none of what follows
	dead_letter_reason      TEXT,
	dead_letter_description TEXT,
	dead_letter_source      TEXT,
	dead_at                 INTEGER,
	deferred_at             INTEGER,
	done_by                 TEXT,
	properties              BLOB,    -- changed by settlements
	hops                    INTEGER, -- how often it was forwarded
	rewritten               BLOB,    -- what rules made of content.packed; NULL: it is as sent
	stays                   INTEGER, -- 1: a dead letter that is not forwarded
	transfer_to             TEXT,    -- where it was to go that is in a transfer dead-letter queue
	sum INTEGER
);

-- What senders wrote, but for the body; shared by the copies of a fan-out.
CREATE TABLE content (
	key    INTEGER PRIMARY KEY,
	packed BLOB NOT NULL,
	sum INTEGER
);

-- A body is one row of body, or one of large and its chunks.
CREATE TABLE body (
	key   INTEGER PRIMARY KEY,
	bytes BLOB NOT NULL,
	sum INTEGER
);
CREATE TABLE large (
	key  INTEGER PRIMARY KEY,
	size INTEGER NOT NULL,
	sum INTEGER
);
CREATE TABLE chunk (
	body  INTEGER NOT NULL,
	n     INTEGER NOT NULL, -- from 0; each but the last 262144 bytes
	bytes BLOB NOT NULL,
	sum INTEGER,
	PRIMARY KEY (body, n)
) WITHOUT ROWID;

-- Damaged messages that an operator set aside, as they were found, and damaged rows
-- of session, seen and setting, which the broker set aside: their keys are below
-- zero. Nothing reads them but people.
CREATE TABLE aside (
	key    INTEGER PRIMARY KEY, -- message.key
	row    TEXT NOT NULL,       -- of message, as JSON; BLOBs in hexadecimal digits
	packed BLOB,                -- content.packed
	body   BLOB                 -- NULL: there was none, or it is in several chunks
);

-- Bodies that no content refers to: sent ahead of their message, or being
-- swept. Holders whose messages, rules, sessions and rows of seen are being
-- swept, and those whose rows of seen are, up to a number.
CREATE TABLE loose (
	key INTEGER PRIMARY KEY,
	sum INTEGER
);
CREATE TABLE dropped (
	holder INTEGER PRIMARY KEY,
	sum INTEGER
);
CREATE TABLE outdated (
	holder INTEGER PRIMARY KEY,
	n      INTEGER NOT NULL,
	sum INTEGER
);
