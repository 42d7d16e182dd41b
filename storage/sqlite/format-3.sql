-- From format 2 to 3: sessions, what was seen, forwarding, what rules do.
ALTER TABLE entity ADD COLUMN transfer_id INTEGER;
ALTER TABLE rule ADD COLUMN parameters BLOB;
ALTER TABLE meter ADD COLUMN duplicates INTEGER;
ALTER TABLE message ADD COLUMN hops INTEGER;
ALTER TABLE message ADD COLUMN rewritten BLOB;
ALTER TABLE message ADD COLUMN stays INTEGER;
ALTER TABLE history ADD COLUMN session TEXT;

CREATE TABLE session (
	holder     INTEGER NOT NULL, -- entity.id
	id         TEXT NOT NULL,    -- as the sender wrote it
	state      BLOB NOT NULL,
	changed_at INTEGER,
	PRIMARY KEY (holder, id)
) WITHOUT ROWID;
CREATE TABLE seen (
	holder  INTEGER NOT NULL, -- entity.id
	n       INTEGER NOT NULL, -- less 2^63; rises, and the lowest ones go first
	at      INTEGER NOT NULL,
	digests BLOB NOT NULL,    -- of each id the first 16 bytes of its SHA-256
	PRIMARY KEY (holder, n)
) WITHOUT ROWID;
CREATE TABLE outdated (
	holder INTEGER PRIMARY KEY,
	n      INTEGER NOT NULL
);
