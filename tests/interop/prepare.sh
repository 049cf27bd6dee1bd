#!/usr/bin/env bash
# Installs the clients into target/interop, as locked by requirements.txt and package-lock.json.
# node_modules beside this file becomes a link to there.
set -euo pipefail
cd "$(dirname "$0")"
into=../../target/interop

mkdir -p "$into"
[[ -x $into/venv/bin/pip ]] || python3 -m venv "$into/venv"
./retry.sh "$into/venv/bin/pip" install --quiet --requirement requirements.txt

cp package.json package-lock.json .npmrc "$into"
./retry.sh npm ci --prefix "$into" --no-audit --no-fund
ln -sfn "$into/node_modules" node_modules
