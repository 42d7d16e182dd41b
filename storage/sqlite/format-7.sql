-- From format 6 to 7: a check sum of each row, which the step goes on to fill,
-- and a place for damaged messages.
ALTER TABLE store ADD COLUMN sum INTEGER;
ALTER TABLE entity ADD COLUMN sum INTEGER;
ALTER TABLE access ADD COLUMN sum INTEGER;
ALTER TABLE setting ADD COLUMN sum INTEGER;
ALTER TABLE rule ADD COLUMN sum INTEGER;
ALTER TABLE meter ADD COLUMN sum INTEGER;
ALTER TABLE session ADD COLUMN sum INTEGER;
ALTER TABLE seen ADD COLUMN sum INTEGER;
ALTER TABLE message ADD COLUMN sum INTEGER;
ALTER TABLE content ADD COLUMN sum INTEGER;
ALTER TABLE body ADD COLUMN sum INTEGER;
ALTER TABLE large ADD COLUMN sum INTEGER;
ALTER TABLE chunk ADD COLUMN sum INTEGER;
ALTER TABLE loose ADD COLUMN sum INTEGER;
ALTER TABLE dropped ADD COLUMN sum INTEGER;
ALTER TABLE outdated ADD COLUMN sum INTEGER;
ALTER TABLE history ADD COLUMN sum INTEGER;
CREATE TABLE aside (
	key    INTEGER PRIMARY KEY, -- message.key
	row    TEXT NOT NULL,       -- of message, as JSON; BLOBs in hexadecimal digits
	packed BLOB,                -- content.packed
	body   BLOB                 -- NULL: there was none, or it is in several chunks
);
