#!/usr/bin/env bash
# Makes docs/backends.md, and the table of README.md, of the certificates in
# docs/certificates.
set -euo pipefail
cd "$(dirname "$0")/.."

order="sqlite-default postgres-default redis-default redis-stream-id redis-idmp redis-script nats-default rabbitmq-default"
files=()
for c in $order; do files+=("docs/certificates/$c.json"); done
{
  cat <<'PAGE'
<!-- Made by scripts/backends.sh of docs/certificates; make certificates judges anew. -->

# Backends, side by side

What the conformance suite found, on each backend's newest server. The certificates are in [docs/certificates](certificates/); every other variant (older servers, Valkey, Cluster, Sentinel, PgBouncer, a skewed clock) is judged by `make test` as well. What the checks prove is in the [conformance matrix](conformance-matrix.md), how long each store really remembers in [Memory windows](memory-windows.md), what it costs on each backend's page.

PAGE
  go run ./cmd/anarchon conform compare "${files[@]}"
} >docs/backends.md

table=$(go run ./cmd/anarchon conform compare -summary "${files[@]}")
awk -v table="$table" '
  /<!-- certified:/ { print; print ""; print table; print ""; skip = 1; next }
  /<!-- end of certified/ { skip = 0 }
  !skip { print }
' README.md >README.md.new
mv README.md.new README.md
