#!/usr/bin/env bash
# Judges every plugin in every variant of its conformance.yaml, or those named: by
# their names below plugins/, or by their directories. GOTEST is the command that
# runs tests.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
  set -- plugins/*/ examples/python-backend
fi

failed=
for plugin in "$@"; do
  dir=${plugin%/}
  [ -d "$dir" ] || dir=plugins/$plugin
  [ "$dir" != examples/python-backend ] || scripts/setup.sh python
  variants=$(sed -n '/^variants:/,/^[^ #v]/ s/^  \([A-Za-z0-9._-]*\):.*/\1/p' "$dir/conformance.yaml")
  [ -n "$variants" ] || { echo "conformance: $dir/conformance.yaml has no variants" >&2; exit 1; }
  for variant in $variants; do
    echo "conformance: $dir, variant $variant"
    ${GOTEST:-go test} -count=1 -run '^TestConformance$' ./conformance "-plugin=./$dir" "-variant=$variant" ||
      failed="$failed $dir/$variant"
  done
done
if [ -n "$failed" ]; then
  echo "conformance: failed:$failed" >&2
  exit 1
fi
