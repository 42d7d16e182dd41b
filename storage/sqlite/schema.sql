-- A Mayfly store: one namespace per file. history.sql is the rest of it.
--
-- Tables are what the broker reads and writes; the views at the end are for
-- people, and read like a namespace with its times spelt out. Times are
-- milliseconds since 1970 UTC, durations nanoseconds; NULL is never, unset or
-- the documented default. Keys are the epoch in the upper 24 bits and a counter
-- below. Look as long as you like, also while the broker runs; what you write
-- it will not notice, or trip over.

-- How often this file was opened to be written.
CREATE TABLE store (
	id    INTEGER PRIMARY KEY CHECK (id = 1),
	epoch INTEGER NOT NULL
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
	support_ordering                 INTEGER,
	requires_duplicate_detection     INTEGER,
	requires_session                 INTEGER,
	forward_to                       TEXT,
	forward_dead_lettered_to         TEXT,
	user_metadata                    TEXT
);

CREATE TABLE rule (
	subscription INTEGER NOT NULL, -- entity.id
	folded       TEXT NOT NULL,    -- name in lower case
	name         TEXT NOT NULL,
	filter_kind  INTEGER NOT NULL, -- 0 true, 1 false, 2 correlation, 3 SQL
	filter       TEXT,
	action       TEXT,
	created_at   INTEGER,
	PRIMARY KEY (subscription, folded)
) WITHOUT ROWID;

-- One row for each place for messages. Row 0 is the broker itself: last_used
-- is the latest instant that it made anything durable at. It stands here because
-- both change together, so a commit writes one page for the two.
CREATE TABLE meter (
	holder      INTEGER PRIMARY KEY, -- entity.id or entity.dead_letter_id
	next_seq    INTEGER NOT NULL,
	last_used   INTEGER,
	accessed_at INTEGER
);

CREATE TABLE message (
	key                     INTEGER PRIMARY KEY,
	holder                  INTEGER NOT NULL, -- entity.id or entity.dead_letter_id
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
	properties              BLOB     -- changed by settlements
);

-- What senders wrote, but for the body; shared by the copies of a fan-out.
CREATE TABLE content (
	key    INTEGER PRIMARY KEY,
	packed BLOB NOT NULL
);

-- A body is one row of body, or one of large and its chunks.
CREATE TABLE body (
	key   INTEGER PRIMARY KEY,
	bytes BLOB NOT NULL
);
CREATE TABLE large (
	key  INTEGER PRIMARY KEY,
	size INTEGER NOT NULL
);
CREATE TABLE chunk (
	body  INTEGER NOT NULL,
	n     INTEGER NOT NULL, -- from 0; each but the last 262144 bytes
	bytes BLOB NOT NULL,
	PRIMARY KEY (body, n)
) WITHOUT ROWID;

-- Bodies that no content refers to: sent ahead of their message, or being
-- swept. Holders whose messages and rules are being swept.
CREATE TABLE loose (
	key INTEGER PRIMARY KEY
);
CREATE TABLE dropped (
	holder INTEGER PRIMARY KEY
);

CREATE VIEW holders (id, path, dead_letter) AS
SELECT id, path, 0 FROM entity
UNION ALL
SELECT dead_letter_id, path || '/$DeadLetterQueue', 1 FROM entity WHERE dead_letter_id IS NOT NULL;

CREATE VIEW counts (holder, active, locked, deferred, scheduled) AS
SELECT holder,
	count(*) FILTER (WHERE locked_until IS NULL AND state = 0),
	count(*) FILTER (WHERE locked_until IS NOT NULL),
	count(*) FILTER (WHERE locked_until IS NULL AND state = 1),
	count(*) FILTER (WHERE locked_until IS NULL AND state = 2)
FROM message GROUP BY holder;

CREATE VIEW entities AS
SELECT e.kind, e.path,
	coalesce(c.active, 0) AS active, coalesce(c.locked, 0) AS locked,
	coalesce(c.deferred, 0) AS deferred, coalesce(c.scheduled, 0) AS scheduled,
	coalesce(d.active + d.locked + d.deferred + d.scheduled, 0) AS dead_letters,
	CASE coalesce(e.status, 0) WHEN 0 THEN 'Active' WHEN 1 THEN 'Disabled'
		WHEN 3 THEN 'SendDisabled' WHEN 4 THEN 'ReceiveDisabled' ELSE e.status END AS status,
	coalesce(e.lock_duration / 1e9, 60.0) AS lock_seconds,
	e.default_message_time_to_live / 1e9 AS ttl_seconds,
	e.auto_delete_on_idle / 1e9 AS auto_delete_on_idle_seconds,
	coalesce(e.max_delivery_count, 10) AS max_delivery_count,
	coalesce(e.dead_lettering_on_expiration, 0) AS dead_lettering_on_expiration,
	strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1000.0, 'unixepoch') AS created_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at / 1000.0, 'unixepoch') AS updated_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.last_used / 1000.0, 'unixepoch') AS last_used
FROM entity e
LEFT JOIN counts c ON c.holder = e.id
LEFT JOIN counts d ON d.holder = e.dead_letter_id
LEFT JOIN meter m ON m.holder = e.id;

CREATE VIEW queues AS SELECT * FROM entities WHERE kind = 1;
CREATE VIEW topics AS SELECT * FROM entities WHERE kind = 2;
CREATE VIEW subscriptions AS SELECT * FROM entities WHERE kind = 3;

-- A packed content begins with the message id, if there is one: the byte 1, the
-- length and the text.
CREATE VIEW messages AS
SELECT h.path, m.seq AS sequence_number,
	CASE WHEN m.locked_until IS NOT NULL THEN 'Locked'
		WHEN m.state = 0 THEN 'Active' WHEN m.state = 1 THEN 'Deferred' ELSE 'Scheduled' END AS state,
	CASE WHEN hex(substr(c.packed, 1, 1)) = '01'
		THEN CAST(substr(c.packed, 3, unicode(CAST(substr(c.packed, 2, 1) AS TEXT))) AS TEXT) END AS message_id,
	m.delivery_count,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.enqueued_at / 1000.0, 'unixepoch') AS enqueued_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.expires_at / 1000.0, 'unixepoch') AS expires_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.scheduled_for / 1000.0, 'unixepoch') AS scheduled_for,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.locked_until / 1000.0, 'unixepoch') AS locked_until,
	m.dead_letter_reason, m.dead_letter_description, m.dead_letter_source,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.dead_at / 1000.0, 'unixepoch') AS dead_lettered_at,
	coalesce(length(b.bytes), l.size, 0) AS body_bytes,
	CAST(b.bytes AS TEXT) AS body
FROM message m
JOIN holders h ON h.id = m.holder
LEFT JOIN content c ON c.key = m.content
LEFT JOIN body b ON b.key = m.content
LEFT JOIN large l ON l.key = m.content;
