#!/bin/sh
# The image of Postgres runs this script once, when it makes the database. `dedup grant` then gives rights to these roles.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    --set worker="$WORKER_PASSWORD" --set reader="$READER_PASSWORD" <<'SQL'
CREATE ROLE worker LOGIN PASSWORD :'worker';
CREATE ROLE reader LOGIN PASSWORD :'reader';
SQL
