#!/bin/sh
# Run once by the image of Postgres when it makes the database: the role by which Grafana logs in. It has no rights yet:
# `toncenter-etl reader --name grafana --keep-password` gives them, as the service of that name does.
set -eu
[ -n "${READER_PASSWORD:-}" ] || exit 0
psql -v ON_ERROR_STOP=1 -v password="$READER_PASSWORD" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
create role grafana login connection limit 20 password :'password';
SQL
