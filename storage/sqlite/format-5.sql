-- From format 4 to 5: access rules, of entities and of the namespace.
ALTER TABLE entity ADD COLUMN authorization_rules BLOB;
CREATE TABLE access (
	id    INTEGER PRIMARY KEY CHECK (id = 1),
	rules BLOB NOT NULL
);
