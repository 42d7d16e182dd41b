-- What happened, for people; nothing is decided by it. Latest last, and the
-- oldest are deleted: those of one epoch are numbered by n. What operators did
-- (audit) is written with what it did, the rest about a second later.
CREATE TABLE history (
	at      INTEGER NOT NULL,
	epoch   INTEGER NOT NULL,
	n       INTEGER NOT NULL,
	kind    TEXT NOT NULL,
	audit   INTEGER,          -- 1: an operator did it
	notable INTEGER,          -- 1: that, or it is about an entity or the server rather than a message
	key     INTEGER,          -- message.key
	path    TEXT,             -- where it happened
	to_path TEXT,             -- where the message went
	actor   TEXT,
	reason  TEXT,
	count   INTEGER,          -- messages concerned
	packed  BLOB NOT NULL,    -- all of it
	session TEXT,             -- which one it is about
	sum     INTEGER,
	PRIMARY KEY (at, epoch, n)
) WITHOUT ROWID;

CREATE INDEX history_key ON history (key, at, epoch, n) WHERE key IS NOT NULL;
CREATE INDEX history_notable ON history (at, epoch, n) WHERE notable IS NOT NULL;

-- What history takes: 128 bytes for each row and what is packed in it.
CREATE TABLE history_size (
	id    INTEGER PRIMARY KEY CHECK (id = 1),
	bytes INTEGER NOT NULL
);
INSERT INTO history_size VALUES (1, 0);
