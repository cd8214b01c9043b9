#!/usr/bin/env bash
# Judges every plugin in every variant of its conformance.yaml, or those named: by
# their names below plugins/, or by their directories. GOTEST is the command that
# runs tests; CONFORMANCE_JOBS (2) is how many variants are judged at a time: checks
# wait more than they work. CONFORMANCE_PASSED is a file in which variants that passed
# are noted, to be left out when the same is run again; default: none. CONFORMANCE_REPORT is a directory for certificates and
# pages, one folder for each plugin and variant; default: none. Each variant's output comes in one piece, and at the end
# a line for everything that failed.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
  set -- plugins/*/ examples/python-backend
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM

# judge DIR VARIANT FILE writes all output to FILE, and FILE.bad if it failed.
judge() {
  local status=0 began=$SECONDS report=
  [ -z "${CONFORMANCE_REPORT:-}" ] || report=-report=$(realpath -m "$CONFORMANCE_REPORT")/${1##*/}-$2
  ${GOTEST:-go test} -count=1 -run '^TestConformance$' ./conformance "-plugin=./$1" "-variant=$2" $report >"$3" 2>&1 || status=$?
  echo "conformance: $1, variant $2: $((SECONDS - began)) s, exit status $status" >>"$3"
  [ "$status" != 0 ] || [ -z "${CONFORMANCE_PASSED:-}" ] || echo "$1 $2" >>"$CONFORMANCE_PASSED"
  [ "$status" = 0 ] || echo "conformance: FAILED ${1##*/}/$2: exit status $status" >"$3.bad"
  mv "$3" "$3.done"
}

show() {
  local f
  for f in "$work"/*.done; do
    [ -e "$f" ] || continue
    cat "$f"
    mv "$f" "${f%.done}.shown"
  done
}

jobs=0 passed=0
for plugin in "$@"; do
  dir=${plugin%/}
  [ -d "$dir" ] || dir=plugins/$plugin
  [ "$dir" != examples/python-backend ] || scripts/setup.sh python
  variants=$(sed -n '/^variants:/,/^[^ #v]/ s/^  \([A-Za-z0-9._-]*\):.*/\1/p' "$dir/conformance.yaml")
  [ -n "$variants" ] || { echo "conformance: $dir/conformance.yaml has no variants" >&2; exit 1; }
  for variant in $variants; do
    if [ -n "${CONFORMANCE_PASSED:-}" ] && grep -qxsF "$dir $variant" "$CONFORMANCE_PASSED"; then
      passed=$((passed + 1))
      continue
    fi
    while [ "$(jobs -rp | wc -l)" -ge "${CONFORMANCE_JOBS:-2}" ]; do
      wait -n || true
      show
    done
    jobs=$((jobs + 1))
    judge "$dir" "$variant" "$work/$(printf %03d $jobs)" &
  done
done
wait
show

bad=0
for f in "$work"/*.bad; do
  [ -e "$f" ] || continue
  bad=$((bad + 1))
  # With go test -json the line lies in a string.
  lines=$(sed -n 's/.*\(conformance: FAILED [^\\]*\).*/\1/p' "${f%.bad}.shown" | sort -u)
  if [ -n "$lines" ]; then printf '%s\n' "$lines" >&2; else cat "$f" >&2; fi
done
echo "conformance: $jobs variants judged in $SECONDS s, $bad failed$([ $passed = 0 ] || echo "; $passed had passed before")" >&2
[ "$bad" = 0 ]
