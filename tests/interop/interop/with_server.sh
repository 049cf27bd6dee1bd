#!/usr/bin/env bash
# Runs a command against a fresh `everything` server, which must end cleanly on SIGTERM afterwards.
#
# usage: with_server.sh [SERVER_FLAG...] -- COMMAND [ARGUMENT...]
#   In COMMAND, @url becomes the server's URL and @authority its HOST:PORT.
#   EVERYTHING names another binary than target/release/everything.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
server=${EVERYTHING:-${CARGO_TARGET_DIR:-$root/target}/release/everything}
flags=()
while (($# > 0)) && [[ $1 != -- ]]; do
  flags+=("$1")
  shift
done
if (($# < 2)); then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
shift

log=$(mktemp)
"$server" --addr 127.0.0.1:0 --stats "${flags[@]}" >"$log" 2>&1 &
pid=$!
finish() {
  local code=$?
  kill -KILL "$pid" 2>/dev/null || true
  if ((code != 0)); then
    echo "the server's last words:"
    tail -n 15 "$log"
  fi
  rm -f "$log"
}
trap finish EXIT

url=
for _ in {1..100}; do
  url=$(grep -Eom1 'http://[^[:space:]]+/mcp' "$log") && break
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.1
done
if [[ -z $url ]]; then
  echo "$server did not say where it listens"
  exit 1
fi
authority=${url#http://}
authority=${authority%/mcp}
command=("${@//@url/$url}")
"${command[@]//@authority/$authority}"

kill -TERM "$pid"
timeout 15 tail --pid="$pid" -f /dev/null || kill -KILL "$pid"
wait "$pid" || {
  code=$?
  echo "$server did not end cleanly within 15 s of SIGTERM: exit code $code"
  exit 1
}
