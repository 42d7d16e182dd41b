-- From format 5 to 6: settings.
CREATE TABLE setting (
	key        TEXT PRIMARY KEY,
	value      BLOB NOT NULL,
	changed_at INTEGER
) WITHOUT ROWID;
