#!/usr/bin/env bash
# The whole life of a session, and the refusals, with curl. Needs curl and jq.
#
# usage: curl.sh URL      (a server of its own, started with --stats)
set -euo pipefail
if (($# != 1)); then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
url=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
head=$tmp/head body=$tmp/body
passed=0 failed=0
tee "$head" "$body" </dev/null

check() { # NAME COMMAND...: the command must succeed
  if "${@:2}" >/dev/null 2>&1; then
    passed=$((passed + 1))
    echo "ok   $1"
  else
    failed=$((failed + 1))
    echo "FAIL $1: not so: ${*:2}"
    sed 's/^/       > /' "$head"
    head -c 2000 "$body" | sed 's/^/       | /'
    echo
  fi
}

# The command that a README shows, and what came back: $status (000 for no answer), $head, $body.
ask() { # CURL_ARGUMENT...
  tee "$head" "$body" </dev/null
  status=$(curl --silent --show-error --max-time 20 --no-buffer --dump-header "$head" --output "$body" \
    --write-out '%{http_code}' "$@") || true
}
post() { # JSON CURL_ARGUMENT...: as MCP clients do
  ask "$url" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -d "$@"
}

# The checks.
status_is() { [[ $status == "$1" ]]; }
has_field() { grep -qiE "^$1: $2"$'\r$' "$head"; } # NAME VALUE_REGEX
has_no_field() { ! grep -qi "^$1:" "$head"; }
is_empty() { [[ ! -s $body ]]; }
is_one_line() { (($(wc -l <"$body") <= 1)); }
holds() { jq -se "length == 1 and (.[0] | $1)" "$body"; }
events_hold() { sed -n 's/^data: //p' "$body" | jq -se "$1"; }
# A priming event, which has no data, needs no type.
messages_are_typed() { [[ $(grep -c '^event: message$' "$body") == "$(grep -c '^data: .' "$body")" ]]; }
sessions_are() { [[ $(curl -sS --max-time 20 "${url%/mcp}/__stats" | jq .sessions) == "$1" ]]; }

refused() { # NAME STATUS: a JSON-RPC error, as JSON, that opens no session
  check "$1: $2" status_is "$2"
  check "$1: as JSON" has_field content-type application/json
  check "$1: a JSON-RPC error" holds '.jsonrpc == "2.0" and (.error.code | type) == "number"
    and (.error.message | length) > 0 and (has("result") or .id == null and has("id") | not)'
  check "$1: no session id" has_no_field mcp-session-id
}

initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'
initialized='{"jsonrpc":"2.0","method":"notifications/initialized"}'
list='{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
ping='{"jsonrpc":"2.0","id":"p","method":"ping"}'
echo='{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a\r\nb \"\u2028 c"}}}'
progress='{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"test_tool_with_progress","_meta":{"progressToken":"t"}}}'

check 'at first: no session' sessions_are 0

post "$initialize"
check 'initialize: 200' status_is 200
check 'initialize: as JSON' has_field content-type application/json
check 'initialize: a session id of visible characters' has_field mcp-session-id '[!-~]{16,128}'
check 'initialize: the version asked for' holds '.id == 1 and .result.protocolVersion == "2025-11-25"'
id=$(sed -n 's/^mcp-session-id: *\([^\r]*\)\r$/\1/Ip' "$head")
session=(-H "Mcp-Session-Id: $id" -H 'MCP-Protocol-Version: 2025-11-25')
check 'initialize: one session' sessions_are 1

post "$initialized" "${session[@]}"
check 'initialized: 202' status_is 202
check 'initialized: no body' is_empty
check 'initialized: no Content-Type' has_no_field content-type
check 'initialized: Content-Length: 0' has_field content-length 0

post "$list" "${session[@]}"
check 'tools/list: 200' status_is 200
check 'tools/list: as JSON' has_field content-type application/json
check 'tools/list: test_simple_text is the first tool' holds '.id == 2 and .result.tools[0].name == "test_simple_text"'
check 'tools/list: has echo and slow' holds '[.result.tools[].name] | contains(["echo", "slow"])'
check 'tools/list: each tool is described' holds '.result.tools | all(.description and .inputSchema.type == "object")'

same_text='.id == 3 and .result.content == [{type: "text", text: "a\r\nb \"\u2028 c"}]'
ask "$url" "${session[@]}" -H 'Content-Type: application/json' -H 'Accept: application/json' -d "$echo"
check 'echo as JSON: 200' status_is 200
check 'echo as JSON: as JSON' has_field content-type application/json
check 'echo as JSON: on one line' is_one_line
check 'echo as JSON: the same text' holds "$same_text"

ask "$url" "${session[@]}" -H 'Content-Type: application/json' -H 'Accept: text/event-stream' -d "$echo"
check 'echo as SSE: 200' status_is 200
check 'echo as SSE: as SSE' has_field content-type text/event-stream
check 'echo as SSE: the same text in the last event' events_hold "last | $same_text"
check 'echo as SSE: event: message' messages_are_typed

for accept in 'text/event-stream, application/json' 'application/json;q=0.5, text/event-stream'; do
  ask "$url" "${session[@]}" -H 'Content-Type: application/json' -H "Accept: $accept" -d "$echo"
  check "echo for $accept: as SSE" has_field content-type text/event-stream
  check "echo for $accept: the same text in the last event" events_hold "last | $same_text"
done
for accept in 'text/event-stream;q=0.9, application/json' '*/*'; do
  ask "$url" "${session[@]}" -H 'Content-Type: application/json' -H "Accept: $accept" -d "$echo"
  check "echo for $accept: as JSON" has_field content-type application/json
  check "echo for $accept: the same text" holds "$same_text"
done

post "$progress" "${session[@]}"
check 'progress: 200' status_is 200
check 'progress: as SSE' has_field content-type text/event-stream
check 'progress: not to be cached or changed' has_field cache-control 'no-cache, no-transform'
check 'progress: not to be buffered' has_field x-accel-buffering no
check 'progress: event: message' messages_are_typed
check 'progress: three notifications, then the result' events_hold '
  (.[:-1] | map([.method, .params.progressToken, .params.progress, .params.total])
    == [[0, 50, 100][] | ["notifications/progress", "t", ., 100]])
  and (last | .id == 4 and .result.content[0].type == "text")'

json=(-H 'Content-Type: application/json')
ask "$url" -H 'Content-Type: text/plain; a=application/json' -d "$initialize"
refused 'Content-Type is not JSON' 415
ask "$url" "${json[@]}" -H 'Accept: text/html, application/json;q=0' -d "$initialize"
refused 'Accept has neither type' 406
post '{"jsonrpc":"2.0","id":1,'
refused 'not JSON' 400
check 'not JSON: -32700' holds '.error.code == -32700'
post "$list"
refused 'no session id' 400
post "$ping" -H "Mcp-Session-Id: $id" -H 'MCP-Protocol-Version: 1999-01-01'
refused 'unknown version' 400
post "$initialize" "${session[@]}"
refused 'second initialize' 400
check 'second initialize: -32600 with its id' holds '.error.code == -32600 and .id == 1'
post "${initialize/\"id\":1,/}"
refused 'initialize without id' 400
post "$ping" -H 'Mcp-Session-Id: nobody'
refused 'unknown session id' 404
ask "$url" -X PUT "${json[@]}" -d "$initialize"
refused 'PUT' 405
check 'PUT: Allow names what is offered' has_field allow '.*POST.*'
ask "$url" "${json[@]}" -H 'Host: evil.example' -d "$initialize"
refused 'foreign Host' 421
ask "$url" "${json[@]}" -H 'Origin: http://evil.example' -d "$initialize"
refused 'foreign Origin' 403
check 'after all refusals: one session' sessions_are 1

post "$ping" "${session[@]}"
check 'the session lives on: ping' holds '. == {jsonrpc: "2.0", id: "p", result: {}}'

ask "$url" -X DELETE "${session[@]}"
check 'DELETE: 204' status_is 204
check 'DELETE: no body' is_empty
check 'DELETE: no session' sessions_are 0
post "$ping" "${session[@]}"
refused 'call after DELETE' 404
ask "$url" -X DELETE "${session[@]}"
refused 'second DELETE' 404

echo "$passed passed, $failed failed"
((failed == 0))
