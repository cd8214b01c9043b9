#!/usr/bin/env bash
# Builds the command and every plugin for Linux on amd64 and arm64 into dist/, one
# archive each, with SHA256SUMS. The same commit and Go version give the same bytes.
#
#   scripts/release.sh [ARCH …]     default: amd64 arm64
#
# All but the SQLite plugin are static (CGO_ENABLED=0). SQLite's needs glibc at run
# time, and for another architecture a C compiler for it, which is installed on Debian
# as root.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  printf 'release: %s\n' "$@" >&2
  exit 1
}

version=$(git describe --tags --always --dirty)
stamp=$(git log -1 --format=%ct)
[ $# -gt 0 ] || set -- amd64 arm64

# compiler ARCH prints the C compiler that builds for it.
compiler() {
  local prefix cc
  [ "$1" = "$(go env GOHOSTARCH)" ] && { go env CC; return; }
  case $1 in
    amd64) prefix=x86-64-linux-gnu cc=x86_64-linux-gnu-gcc ;;
    arm64) prefix=aarch64-linux-gnu cc=aarch64-linux-gnu-gcc ;;
    *) fail "no C compiler is known for $1; known are amd64 and arm64" ;;
  esac
  if ! { command -v "$cc" && [ -e "/usr/${prefix/x86-64/x86_64}/include/stdlib.h" ]; } >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "release: installing gcc-$prefix and libc6-dev-$1-cross" >&2
    DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "gcc-$prefix" "libc6-dev-$1-cross" >/dev/null
  fi
  command -v "$cc" >/dev/null || fail "the SQLite plugin for $1 needs $cc (Debian: apt-get install gcc-$prefix libc6-dev-$1-cross)"
  echo "$cc"
}

rm -rf dist
mkdir -p dist
for arch in "$@"; do
  name=anarchon-$version-linux-$arch
  dir=dist/$name
  mkdir -p "$dir"
  cc=$(compiler "$arch")
  build() { GOOS=linux GOARCH=$arch go build -buildvcs=true -trimpath -ldflags "-s -w -buildid=" -o "$dir/" "$@"; }
  echo "release: $name"
  CGO_ENABLED=0 build ./cmd/anarchon
  for main in plugins/*/main.go; do
    plugin=$(basename "$(dirname "$main")")
    cgo=0
    [ "$plugin" = sqlite ] && cgo=1
    CGO_ENABLED=$cgo CC=$cc build "./plugins/$plugin"
    mv "$dir/$plugin" "$dir/anarchon-plugin-$plugin"
  done
  cp LICENSE CHANGELOG.md "$dir/"
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$stamp" -C dist -c "$name" | gzip -n >"dist/$name.tar.gz"
  rm -rf "$dir"
done
(cd dist && sha256sum -- *.tar.gz >SHA256SUMS && cat SHA256SUMS)
