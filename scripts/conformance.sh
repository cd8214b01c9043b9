#!/usr/bin/env bash
# Judges every plugin in every variant of its conformance.yaml, or the plugins named.
# GOTEST is the command that runs tests.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
  for d in plugins/*/; do set -- "$@" "$(basename "$d")"; done
fi

failed=
for plugin in "$@"; do
  variants=$(sed -n '/^variants:/,/^[^ #v]/ s/^  \([A-Za-z0-9._-]*\):.*/\1/p' "plugins/$plugin/conformance.yaml")
  [ -n "$variants" ] || { echo "conformance: plugins/$plugin/conformance.yaml has no variants" >&2; exit 1; }
  for variant in $variants; do
    echo "conformance: $plugin, variant $variant"
    ${GOTEST:-go test} -count=1 -run '^TestConformance$' ./conformance "-plugin=./plugins/$plugin" "-variant=$variant" ||
      failed="$failed $plugin/$variant"
  done
done
if [ -n "$failed" ]; then
  echo "conformance: failed:$failed" >&2
  exit 1
fi
