#!/bin/sh
# slowhttptest, Debian's, as an outside witness: its four attacks against a release build of `everything`, on
# loopback, bounded in connections and time. Meanwhile a client with a session must be served; afterwards every
# connection, descriptor and table must be as before. Needs cargo, curl and slowhttptest (`apt install slowhttptest`).
#
#   tests/attack/slowhttptest.sh [CONNECTIONS] [SECONDS]      default: 400 connections, 8 s for each attack
set -eu
here=$(cd "$(dirname "$0")" && pwd)
connections=${1:-400}
seconds=${2:-8}
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

command -v slowhttptest >/dev/null || fail "slowhttptest is not installed"
: "${EVERYTHING:=}"
if [ -z "$EVERYTHING" ]; then
    cargo build --quiet --release --manifest-path "$here/../../Cargo.toml" --bin everything --target-dir "$work/target"
    EVERYTHING=$work/target/release/everything
fi
"$EVERYTHING" --addr 127.0.0.1:0 --stats --header-timeout 3 --body-timeout 3 --keep-alive 3 --confirm-timeout 2 \
    >"$work/said" 2>"$work/stderr" &
server=$!
for _ in $(seq 100); do
    url=$(sed -n 's/^listening on //p' "$work/said")
    [ -z "$url" ] || break
    sleep 0.1
done
[ -n "$url" ] || fail "the server does not start: $(cat "$work/stderr")"
base=${url%/mcp}

JSON='Content-Type: application/json'
ACCEPT='Accept: application/json, text/event-stream'
post() { curl -sS -m 10 -H "$JSON" -H "$ACCEPT" "$@" "$url"; }
stat() { curl -sS -m 10 "$base/__stats" | tr ',{}' '\n' | sed -n "s/^\"$1\"://p"; }
descriptors() { find "/proc/$server/fd" -mindepth 1 | wc -l; }
resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$server/status"; }
settle() {
    for _ in $(seq 200); do
        [ "$(stat connections) $(stat exchanges) $(stat calls) $(stat streams)" = "1 0 0 0" ] && return 0
        sleep 0.1
    done
    fail "$1: connections, exchanges, calls or streams are left: $(curl -s "$base/__stats")"
}

INITIALIZE='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"witness","version":"1"}}}'
session=$(post -D - -o /dev/null -d "$INITIALIZE" | tr -d '\r' | sed -n 's/^mcp-session-id: //p')
[ -n "$session" ] || fail "no session"
ask() { post -H "Mcp-Session-Id: $session" -d "$1"; }
ping() { [ "$(ask '{"jsonrpc":"2.0","id":7,"method":"ping"}')" = '{"jsonrpc":"2.0","id":7,"result":{}}' ]; }

ping || fail "no answer before any attack"
settle "before"
descriptors_before=$(descriptors)

# Runs slowhttptest with these options while the session's calls go on.
attack() {
    name=$1
    shift
    slowhttptest -c "$connections" -r "$connections" -l "$seconds" -p 3 "$@" >"$work/attack" 2>&1 &
    attacker=$!
    served=0
    most=0
    while kill -0 "$attacker" 2>/dev/null; do
        ping || fail "$name: a client beside it is not served: $(ask '{"jsonrpc":"2.0","id":7,"method":"ping"}')"
        served=$((served + 1))
        open=$(stat connections)
        [ "$open" -le "$most" ] || most=$open
        sleep 0.05
    done
    wait "$attacker" || true
    [ "$served" -gt 0 ] || fail "$name: it was over before anybody could be served"
    case $name in
    # Answered at once, and that was it.
    ranges*) ;;
    *) [ "$most" -gt 10 ] || fail "$name: no attack was seen: $(cat "$work/attack")" ;;
    esac
    verdict=$(sed 's/\x1b\[[0-9;]*m//g' "$work/attack" | grep -a 'service available' | tail -n 1 | tr -s ' ')
    settle "$name"
    back=
    for _ in $(seq 100); do
        [ "$(descriptors)" -gt "$descriptors_before" ] || { back=1; break; }
        sleep 0.1
    done
    [ -n "$back" ] || fail "$name: $(descriptors) descriptors, $descriptors_before before"
    echo "$name: $served calls served meanwhile, up to $most connections; its probe says$(echo "$verdict" | sed 's/.*://'); afterwards $(resident) KiB"
    case $verdict in *NO*) fail "$name: its own probe found the service not available" ;; esac
}

round() {
    attack "slow headers (-H)" -H -i 1 -t GET -u "$url"
    attack "slow bodies (-B)" -B -i 1 -s 65536 -x 8 -t POST -f application/json -m application/json -u "$url"
    attack "ranges (-R)" -R -a 10 -b 3000 -t HEAD -u "$url"
    # The longest answer to a GET without a session, ten times on each connection.
    attack "slow reading (-X)" -X -w 16 -y 64 -n 1 -z 8 -k 10 -t GET -u "$base/__stats"
}
# The first round fills what is filled once.
round
resident_before=$(resident)
round
grown=$(($(resident) - resident_before))
echo "resident memory after a second round: $grown KiB more"
# An allocator's reserve wavers by less; so many connections that were lost would be far more.
[ "$grown" -le 4096 ] || fail "$grown KiB more after a second round"
[ "$(curl -sS -m 10 -o /dev/null -w '%{http_code}' -X DELETE -H "Mcp-Session-Id: $session" "$url")" = 204 ] ||
    fail "the session of the client beside the attacks is gone"
settle "in the end"
[ "$(stat sessions) $(stat deadlines) $(stat buffered_bytes)" = "0 0 0" ] || fail "left: $(curl -s "$base/__stats")"
! grep -q panicked "$work/stderr" || fail "the server panicked: $(cat "$work/stderr")"
echo "all passed"
