-- From format 4 to 5: access rules, of entities and of the namespace; how
-- destinations were named; partitioned entities.
ALTER TABLE entity ADD COLUMN authorization_rules BLOB;
ALTER TABLE entity ADD COLUMN forward_to_address TEXT;
ALTER TABLE entity ADD COLUMN forward_dead_lettered_to_address TEXT;
ALTER TABLE entity ADD COLUMN enable_partitioning INTEGER;
CREATE TABLE access (
	id    INTEGER PRIMARY KEY CHECK (id = 1),
	rules BLOB NOT NULL
);
