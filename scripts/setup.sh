#!/usr/bin/env bash
# Checks what a build needs: Go, and a C compiler for the SQLite plugin; with the
# argument python, what the plugin in Python needs instead. On Debian, as root, what
# is missing is installed; elsewhere the error says what to do.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

# install PACKAGES… if this is Debian and we may.
install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 0
  echo "setup: installing $*"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

if [ "${1-}" = python ]; then
  # By its path: Debian's packages are for Debian's Python, whatever else is in PATH.
  serves() { /usr/bin/python3 -c 'import grpc.aio, google.protobuf.internal.builder, sqlite3' 2>/dev/null; }
  serves || install python3 python3-grpcio python3-protobuf
  serves || fail "/usr/bin/python3 lacks grpcio or protobuf; the plugin in Python needs them:" \
    "  Debian, Ubuntu: apt-get install python3-grpcio python3-protobuf" \
    "  elsewhere: let the first line of examples/python-backend/plugin.py name a Python that has them"
  exit
fi

need=$(sed -n 's/^go //p' go.mod)
command -v go >/dev/null || fail "there is no Go in PATH; Go $need or newer is needed, see https://go.dev/doc/install"
# Asked inside the module, an older Go fetches the one that go.mod names, if it may.
have=$(go env GOVERSION) || fail "Go $need or newer is needed, and this one can't fetch it; see https://go.dev/doc/install"
have=${have#go}
[ "$(printf '%s\n' "$need" "${have%% *}" | sort -V | head -n 1)" = "$need" ] ||
  fail "Go is $have; $need or newer is needed, see https://go.dev/doc/install"

# A program that includes a header and is linked: a compiler without libc's
# development files is not enough.
compiles() {
  local dir status=0
  dir=$(mktemp -d)
  printf '#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n' >"$dir/try.c"
  $(go env CC) -o "$dir/try" "$dir/try.c" >"$dir/log" 2>&1 || status=$?
  rm -rf "$dir"
  return "$status"
}

if ! compiles; then
  echo "setup: no working C compiler ($(go env CC))"
  install gcc libc6-dev
  compiles || fail "no working C compiler ($(go env CC)); the SQLite plugin needs one:" \
    "  Debian, Ubuntu: apt-get install gcc libc6-dev" \
    "  Fedora: dnf install gcc    Alpine: apk add gcc musl-dev    macOS: xcode-select --install"
fi
[ "$(go env CGO_ENABLED)" = 1 ] || fail "CGO_ENABLED is 0; the SQLite plugin needs cgo: unset it, or run with CGO_ENABLED=1"
