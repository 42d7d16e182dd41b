-- What people look at. A view is made anew whenever a file is brought to a later
-- format, so nothing of the broker's depends on one.

DROP VIEW IF EXISTS holders;
DROP VIEW IF EXISTS counts;
DROP VIEW IF EXISTS entities;
DROP VIEW IF EXISTS queues;
DROP VIEW IF EXISTS topics;
DROP VIEW IF EXISTS subscriptions;
DROP VIEW IF EXISTS sessions;
DROP VIEW IF EXISTS duplicate_history;
DROP VIEW IF EXISTS settings;
DROP VIEW IF EXISTS messages;
DROP VIEW IF EXISTS activity;

CREATE VIEW holders (id, path, dead_letter) AS
SELECT id, path, 0 FROM entity
UNION ALL
SELECT dead_letter_id, path || '/$DeadLetterQueue', 1 FROM entity WHERE dead_letter_id IS NOT NULL
UNION ALL
SELECT transfer_id, path || '/$Transfer/$DeadLetterQueue', 1 FROM entity WHERE transfer_id IS NOT NULL;

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
	coalesce(t.active + t.locked + t.deferred + t.scheduled, 0) AS transfer_dead_letters,
	CASE coalesce(e.status, 0) WHEN 0 THEN 'Active' WHEN 1 THEN 'Disabled'
		WHEN 3 THEN 'SendDisabled' WHEN 4 THEN 'ReceiveDisabled' ELSE e.status END AS status,
	coalesce(e.lock_duration / 1e9, 60.0) AS lock_seconds,
	e.default_message_time_to_live / 1e9 AS ttl_seconds,
	e.auto_delete_on_idle / 1e9 AS auto_delete_on_idle_seconds,
	coalesce(e.max_delivery_count, 10) AS max_delivery_count,
	coalesce(e.dead_lettering_on_expiration, 0) AS dead_lettering_on_expiration,
	strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1000.0, 'unixepoch') AS created_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at / 1000.0, 'unixepoch') AS updated_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.last_used / 1000.0, 'unixepoch') AS last_used,
	coalesce(m.duplicates, 0) AS duplicates
FROM entity e
LEFT JOIN counts c ON c.holder = e.id
LEFT JOIN counts d ON d.holder = e.dead_letter_id
LEFT JOIN counts t ON t.holder = e.transfer_id
LEFT JOIN meter m ON m.holder = e.id;

CREATE VIEW queues AS SELECT * FROM entities WHERE kind = 1;
CREATE VIEW topics AS SELECT * FROM entities WHERE kind = 2;
CREATE VIEW subscriptions AS SELECT * FROM entities WHERE kind = 3;

CREATE VIEW sessions AS
SELECT h.path, s.id AS session_id, length(s.state) AS state_bytes, CAST(s.state AS TEXT) AS state,
	strftime('%Y-%m-%dT%H:%M:%fZ', s.changed_at / 1000.0, 'unixepoch') AS changed_at
FROM session s
JOIN holders h ON h.id = s.holder;

CREATE VIEW settings AS
SELECT key, length(value) AS value_bytes, CAST(value AS TEXT) AS value,
	strftime('%Y-%m-%dT%H:%M:%fZ', changed_at / 1000.0, 'unixepoch') AS changed_at
FROM setting;

-- What an entity with duplicate detection remembers, latest first.
CREATE VIEW duplicate_history AS
SELECT h.path, s.n + 9223372036854775807 + 1 AS number, length(s.digests) / 16 AS message_ids,
	strftime('%Y-%m-%dT%H:%M:%fZ', s.at / 1000.0, 'unixepoch') AS accepted_at
FROM seen s
JOIN holders h ON h.id = s.holder
LEFT JOIN outdated o ON o.holder = s.holder
WHERE o.n IS NULL OR s.n > o.n
ORDER BY s.at DESC, s.holder, s.n DESC;

-- A packed content begins with the message id, if there is one: the byte 1, the
-- length and the text. Messages that are locked in a session are so until the
-- locked_until of the last of them; that of the others may have passed.
CREATE VIEW messages AS
SELECT h.path, m.seq AS sequence_number,
	CASE WHEN m.locked_until IS NOT NULL THEN 'Locked'
		WHEN m.state = 0 THEN 'Active' WHEN m.state = 1 THEN 'Deferred' ELSE 'Scheduled' END AS state,
	CASE WHEN hex(substr(coalesce(m.rewritten, c.packed), 1, 1)) = '01'
		THEN CAST(substr(coalesce(m.rewritten, c.packed), 3, unicode(CAST(substr(coalesce(m.rewritten, c.packed), 2, 1) AS TEXT))) AS TEXT) END AS message_id,
	m.delivery_count,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.enqueued_at / 1000.0, 'unixepoch') AS enqueued_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.expires_at / 1000.0, 'unixepoch') AS expires_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.scheduled_for / 1000.0, 'unixepoch') AS scheduled_for,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.locked_until / 1000.0, 'unixepoch') AS locked_until,
	m.dead_letter_reason, m.dead_letter_description, m.dead_letter_source,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.dead_at / 1000.0, 'unixepoch') AS dead_lettered_at,
	coalesce(length(b.bytes), l.size, 0) AS body_bytes,
	CAST(b.bytes AS TEXT) AS body,
	coalesce(m.hops, 0) AS hops
FROM message m
JOIN holders h ON h.id = m.holder
LEFT JOIN content c ON c.key = m.content
LEFT JOIN body b ON b.key = m.content
LEFT JOIN large l ON l.key = m.content;

-- Latest first.
CREATE VIEW activity AS
SELECT strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS at,
	kind, path, to_path, actor, reason, count, key AS message, coalesce(audit, 0) AS audit, session
FROM history ORDER BY history.at DESC, epoch DESC, n DESC;
