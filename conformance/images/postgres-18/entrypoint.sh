#!/bin/sh
# Makes the cluster at the first start, with the password and the database that the
# environment asks for, then becomes the server.
set -eu
: "${POSTGRES_USER:=postgres}" "${POSTGRES_PASSWORD:?a password is needed}" "${POSTGRES_DB:=$POSTGRES_USER}"
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  install -d -m 0700 -o postgres -g postgres "$PGDATA"
  printf '%s' "$POSTGRES_PASSWORD" >/run/pw
  chown postgres /run/pw
  as_postgres initdb --username="$POSTGRES_USER" --pwfile=/run/pw --auth-host=scram-sha-256 --auth-local=trust >/dev/null
  rm /run/pw
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  if [ "$POSTGRES_DB" != postgres ]; then
    echo "CREATE DATABASE \"$POSTGRES_DB\"" | as_postgres postgres --single -j postgres >/dev/null
  fi
fi
install -d -o postgres -g postgres /run/postgresql
shift # "postgres"
# Preloaded into the server alone: in what becomes the server libfaketime leaves a
# semaphore behind that it then waits for.
exec setpriv --reuid=postgres --regid=postgres --init-groups \
  ${SERVER_PRELOAD:+env LD_PRELOAD="$SERVER_PRELOAD"} postgres -c listen_addresses='*' "$@"
