#!/usr/bin/env bash
# The Inspector's command line in automatic mode, one process for each request. Needs prepare.sh.
#
# usage: inspector_automatic.sh URL both|handshake|stateless
#   URL is proxy.py's, of a server of its own, started with --stats and --eras as said last.
set -euo pipefail
if (($# != 2)); then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
url=$1 eras=$2
cd "$(dirname "$0")"
era=auto
. ./inspector_checks.sh

fails_with() { # WORDS
  ((code != 0)) && grep -q "$1" "$HOME/out" "$HOME/err"
}
labels_are() { # JQ_CONDITION on the labels of all exchanges
  proxy state | jq -e "[.exchanges[].label] | $1"
}
settled() { # JQ_CONDITION on the counters, which may take a while to come true
  for _ in {1..50}; do
    stats_hold "$1" && return
    sleep 0.1
  done
  return 1
}

inspect --method tools/list
check 'tools/list: test_simple_text is the first tool' holds '.tools[0].name == "test_simple_text"'
call echo --tool-arg 'text=some text'
check 'tools/call echo: the same text' text_is 'some text'
call test_tool_with_progress
check 'tools/call test_tool_with_progress: a result' holds '.content[0].type == "text"'
call test_error_handling
check 'tools/call test_error_handling: an error result, exit code 5' code_is 5
inspect --method resources/read --uri test://static-text
check 'resources/read: the text' holds '.contents[0].text == "This is the content of the static text resource."'
inspect --method prompts/get --prompt-name test_prompt_with_arguments --prompt-args arg1=one arg2=两
check 'prompts/get: the text' holds ".messages[0].content.text == \"Prompt with arguments: arg1='one', arg2='两'\""

if [[ $eras == handshake ]]; then
  check 'each process tried server/discover first' exchanges_are 'POST server/discover' 400 "$processes"
  check 'each process then opened a session' exchanges_are 'POST initialize' 200 "$processes"
  check 'each process opened a GET stream' exchanges_are GET 200 "$processes"
  era=modern
  call echo --tool-arg 'text=some text'
  check 'the stateless era is refused' fails_with 'did not offer'
else
  call test_trigger_tool_change
  check 'tools/call test_trigger_tool_change: a result' holds '.content[0].type == "text"'
  check 'the listen stream: the acknowledgement, then the change' \
    eval 'proxy state | jq -e "[.exchanges[] | select(.label == \"POST subscriptions/listen\")] | last | .frames == 2"'
  call test_input_required_result_elicitation
  check 'fact: declares no elicitation, and is told so' fails_with elicitation
  inspect_s=3 call slow --tool-arg ms=20000 steps=200
  check 'a call given up: has no result' code_is 124
  check 'a call given up: the server has none' settled '.calls == 0'
  check 'each process asked server/discover once' exchanges_are 'POST server/discover' 200 "$processes"
  check 'each process opened a listen stream' exchanges_are 'POST subscriptions/listen' 200 "$processes"
  check 'nothing of the handshake era' labels_are 'any(. == ("POST initialize", "GET", "GET resume", "DELETE")) | not'
  check 'no session, no call, no stream' settled '[.created, .calls, .streams] == [0, 0, 0]'
fi
if [[ $eras == stateless ]]; then
  era=legacy
  inspect --method tools/list
  check 'initialize is refused, and told what is served' fails_with 2026-07-28
fi

echo "$passed passed, $failed failed"
((failed == 0))
