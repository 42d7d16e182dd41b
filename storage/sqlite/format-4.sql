-- From format 3 to 4: where a message was to go that could not be transferred.
ALTER TABLE message ADD COLUMN transfer_to TEXT;
