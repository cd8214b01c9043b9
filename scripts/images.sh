#!/usr/bin/env bash
# Makes sure that the images of the servers under test are there: those named, or
# all. An image is, in this order,
#   - what the environment names: ANARCHON_IMAGE_REDIS_8_6=myregistry/redis:8.6.1
#   - anarchon/NAME:local, if it was made before
#   - the official one, where a registry answers
#   - built from Debian packages: conformance/images/NAME/Dockerfile
# An image that can't be had is an error: a server that is not tested is not passed.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=conformance/images

fail() {
  printf 'images: %s\n' "$@" >&2
  exit 1
}

header() { sed -n "s/^# $2: //p" "$dir/$1/Dockerfile"; }
variable() { printf 'ANARCHON_IMAGE_%s' "$(printf '%s' "$1" | tr 'a-z.-' 'A-Z__')"; }
have() { docker image inspect "$1" >/dev/null 2>&1; }

# Whether a registry answers is asked once: where none does, each pull would wait.
registry=
registry_answers() {
  if [ -z "$registry" ]; then
    registry=no
    if timeout 20 docker pull -q hello-world >/dev/null 2>&1; then registry=yes; fi
  fi
  [ "$registry" = yes ]
}

# base SUITE makes a small Debian root file system. The Release files of a mirror's
# snapshot may have expired.
base() {
  local suite=$1 tar
  have "anarchon/debian:$suite" && return
  if ! command -v mmdebstrap >/dev/null; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
      fail "no registry answers, and mmdebstrap is not installed to build images from Debian packages"
    DEBIAN_FRONTEND=noninteractive apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null
  fi
  echo "images: Debian $suite"
  tar=$(mktemp --suffix=.tar)
  if ! mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' \
    --include=ca-certificates "$suite" "$tar" 2>"$tar.log"; then
    cat "$tar.log" >&2
    fail "Debian $suite can't be made"
  fi
  docker import "$tar" "anarchon/debian:$suite" >/dev/null
  rm -f "$tar" "$tar.log"
}

image() {
  local name=$1 official suite override log
  [ -f "$dir/$name/Dockerfile" ] || fail "no image $name; there are: $(cd "$dir" && echo *)"
  override=$(variable "$name")
  if [ -n "${!override:-}" ]; then
    have "${!override}" || docker pull -q "${!override}" >/dev/null || fail "$override is ${!override}, which can't be pulled"
    return
  fi
  have "anarchon/$name:local" && return
  official=$(header "$name" official)
  if [ -n "$official" ] && registry_answers && docker pull -q "$official" >/dev/null; then
    docker tag "$official" "anarchon/$name:local"
    return
  fi
  suite=$(header "$name" base)
  base "$suite"
  echo "images: $name from Debian $suite"
  log=$(mktemp)
  if ! DOCKER_BUILDKIT=0 docker build -q --build-arg "BASE=anarchon/debian:$suite" -t "anarchon/$name:local" "$dir/$name" >"$log" 2>&1; then
    cat "$log" >&2
    fail "$name can't be built"
  fi
  rm -f "$log"
}

scripts/docker.sh
if [ $# -eq 0 ]; then
  for d in "$dir"/*/; do set -- "$@" "$(basename "$d")"; done
fi
for name in "$@"; do image "$name"; done
