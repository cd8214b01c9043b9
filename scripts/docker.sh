#!/usr/bin/env bash
# Makes sure that a Docker engine answers. On Debian, as root, a missing one is
# installed and started; elsewhere the error says what to do.
set -euo pipefail

answers() { docker info >/dev/null 2>&1; }

fail() {
  printf 'docker: %s\n' "$@" >&2
  exit 1
}

answers && exit 0

remedy="the real servers of the tests run in containers: install Docker, start it, and see that \`docker info\` answers"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  fail "no Docker engine answers; $remedy"
fi
if ! command -v dockerd >/dev/null; then
  echo "docker: no engine; installing docker.io"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends docker.io >/dev/null
  answers && exit 0
fi
log=$(mktemp)
echo "docker: starting dockerd (its log: $log)"
setsid dockerd >"$log" 2>&1 </dev/null &
for _ in $(seq 60); do
  answers && exit 0
  sleep 1
done
tail -n 20 "$log" >&2
fail "dockerd did not answer within a minute; $remedy"
