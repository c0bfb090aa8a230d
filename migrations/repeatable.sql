-- Functions, views and comments: applied as a whole, in one transaction, whenever this text has changed.
-- Comments of tables and columns stand beside the tables in src/db/schema/ and follow after this file.

comment on schema ton is 'The chain as the API gives it: the tables, views and functions to query. Every stream table is partitioned by utime, block time in UTC.';
comment on schema etl is 'The program''s own tables: what is covered, verified, refused, leased, quarantined, and every page that was committed.';
comment on schema etl_partitions is 'Partitions of the stream tables in schema ton; query their parents instead.';
