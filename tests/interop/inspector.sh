#!/usr/bin/env bash
# The Inspector's command line in the handshake era, one process for each request. Needs prepare.sh.
#
# usage: inspector.sh URL    (proxy.py's URL, of a server of its own, started with --stats --session-idle 6)
set -euo pipefail
if (($# != 1)); then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
url=$1
cd "$(dirname "$0")"
era=legacy
. ./inspector_checks.sh

inspect --method tools/list
check 'tools/list: test_simple_text is the first tool' holds '.tools[0].name == "test_simple_text"'
inspect --method resources/read --uri test://static-text
check 'resources/read: the text' holds '.contents[0].text == "This is the content of the static text resource."'
inspect --method prompts/get --prompt-name test_prompt_with_arguments --prompt-args arg1=one arg2=two
check 'prompts/get: the text' holds ".messages[0].content.text == \"Prompt with arguments: arg1='one', arg2='two'\""
inspect --method logging/setLevel --log-level debug
check 'logging/setLevel: an empty result' holds '. == {}'
call echo --tool-arg 'text=some text'
check 'tools/call echo: the same text' text_is 'some text'
call test_error_handling
check 'tools/call test_error_handling: an error result, exit code 5' code_is 5
call test_tool_with_logging
check 'tools/call test_tool_with_logging: a result after the messages' holds '.content[0].type == "text"'

call test_tool_with_progress
check 'tools/call test_tool_with_progress: a result' holds '.content[0].type == "text"'
check 'fact: asks for no progress, and is answered as JSON' \
  eval 'proxy state | jq -e ".exchanges | last | .type == \"application/json\""'
for feature in sampling elicitation; do
  call "test_$feature" --tool-arg prompt=Hello message=Hello
  check "fact: declares no $feature, and is told so" eval "code_is 5 && grep -q '$feature' '$HOME/out' '$HOME/err'"
done

proxy 'cut?on=test_tool_with_logging&frames=2' >"$HOME/out"
call test_tool_with_logging
check 'a call cut between two events: resumed' holds '.content[0].type == "text"'
check 'a call cut: by one GET' exchanges_are 'GET resume' 200 1
proxy 'cut?on=test_tool_with_logging&frames=2&bytes=40' >"$HOME/out"
call test_tool_with_logging
check 'a call cut within an event: resumed' holds '.content[0].type == "text"'
proxy 'cut?on=test_tool_with_logging&frames=4&bytes=40' >"$HOME/out"
call test_tool_with_logging
check 'a call cut within the answer: resumed' holds '.content[0].type == "text"'
call test_reconnection
check 'test_reconnection: a result' holds '.content[0].type == "text"'
check 'test_reconnection and the cuts: fetched by a GET each' exchanges_are 'GET resume' 200 4

check 'each process opened a session' exchanges_are 'POST initialize' 200 "$processes"
check 'each process opened a GET stream' exchanges_are GET 200 "$processes"
check 'fact: the Inspector never sends DELETE' exchanges_are DELETE 204 0
check 'its sessions are left' stats_hold ".created == $processes and .sessions + .ended.idle == $processes"
for _ in {1..60}; do
  stats_hold '.sessions == 0' >"$HOME/out" && break
  sleep 0.5
done
check 'and all end by idling' stats_hold ".sessions == 0 and .streams == 0 and .ended.idle == $processes"

echo "$passed passed, $failed failed"
((failed == 0))
