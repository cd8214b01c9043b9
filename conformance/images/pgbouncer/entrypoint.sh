#!/bin/sh
# Pools transactions in front of the server that the environment names.
set -eu
: "${SERVER_HOST:?}" "${SERVER_PORT:=5432}" "${POSTGRES_USER:=postgres}" "${POSTGRES_PASSWORD:?}"
printf '"%s" "%s"\n' "$POSTGRES_USER" "$POSTGRES_PASSWORD" >/etc/pgbouncer/userlist.txt
cat >/etc/pgbouncer/pgbouncer.ini <<INI
[databases]
* = host=$SERVER_HOST port=$SERVER_PORT
[pgbouncer]
listen_addr = *
listen_port = 6432
auth_type = scram-sha-256
auth_file = /etc/pgbouncer/userlist.txt
pool_mode = transaction
max_prepared_statements = 100
max_client_conn = 500
default_pool_size = 20
ignore_startup_parameters = extra_float_digits
INI
chown postgres /etc/pgbouncer/pgbouncer.ini /etc/pgbouncer/userlist.txt
exec setpriv --reuid=postgres --regid=postgres --init-groups pgbouncer /etc/pgbouncer/pgbouncer.ini
