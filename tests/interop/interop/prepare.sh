#!/usr/bin/env bash
# Installs the clients into target/interop, as locked by requirements.txt, package-lock.json and rmcp/Cargo.lock.
# node_modules beside this file becomes a link to there.
set -euo pipefail
cd "$(dirname "$0")"
into=../../target/interop

mkdir -p "$into"
[[ -x $into/venv/bin/pip ]] || python3 -m venv "$into/venv"
./retry.sh "$into/venv/bin/pip" install --quiet --requirement requirements.txt

cp package.json package-lock.json .npmrc "$into"
# Not `npm ci`, which insists on an optional package of Windows that not every registry has.
./retry.sh npm install --prefix "$into" --no-save --no-audit --no-fund
ln -sfn "$into/node_modules" node_modules

./retry.sh cargo fetch --locked --manifest-path rmcp/Cargo.toml
cargo build --locked --manifest-path rmcp/Cargo.toml --target-dir "$into/rmcp"
ln -sfn rmcp/debug/rmcp-client "$into/rmcp-client"
