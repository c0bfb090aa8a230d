#!/bin/sh
# Run once by the image of Postgres when it makes the database: a role that may only read, for Grafana and for people.
set -eu
[ -n "${READER_PASSWORD:-}" ] || exit 0
psql -v ON_ERROR_STOP=1 -v password="$READER_PASSWORD" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
create role grafana login password :'password';
alter role grafana set default_transaction_read_only = on;
alter role grafana set search_path = ton, etl, public;
alter role grafana set statement_timeout = '60s';
grant pg_read_all_data to grafana;
SQL
