-- Lets the role dbt, which `reader` has made, write tables of its own: psql URL -f role.sql, as the owner of the database.
alter role dbt in database :"DBNAME" set default_transaction_read_only = off;
grant temporary on database :"DBNAME" to dbt;
-- Which days are certified, and since when.
grant select on etl.closed_days to dbt;
create schema if not exists marts authorization dbt;
