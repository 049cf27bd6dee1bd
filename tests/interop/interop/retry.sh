#!/usr/bin/env bash
# Runs a command that downloads something, up to three times.
#
# usage: retry.sh COMMAND [ARGUMENT...]
set -euo pipefail
for pause_s in 5 20; do
  "$@" && exit
  echo "failed, once more in $pause_s s: $*" >&2
  sleep "$pause_s"
done
exec "$@"
