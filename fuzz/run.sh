#!/usr/bin/env bash
# Runs one target as the campaign and CI do: fuzz/run.sh TARGET [FOLDER...] [-- LIBFUZZER_OPTION...]
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1
shift
folders=()
while (($# > 0)) && [[ $1 != -- ]]; do
  folders+=("$1")
  shift
done
(($# > 0)) && shift
case $target in
  h1_split | h1_smuggling | wire) dictionary=(-dict=fuzz/dictionaries/http.dict) ;;
  intake_head) dictionary=(-dict=fuzz/dictionaries/heads.dict) ;;
  jsonrpc) dictionary=(-dict=fuzz/dictionaries/json.dict) ;;
  *) dictionary=() ;;
esac
# Courses of steps: long ones from the first.
case $target in
  ring | timers | endpoint) length=(-len_control=0 -max_len=300) ;;
  wire) length=(-len_control=0 -max_len=900) ;;
  *) length=(-max_len=4096) ;;
esac
# No sanitizer: there is no `unsafe` in what is fuzzed (the lints forbid it), so that one would look at the dependencies
# alone, and it halves the speed and doubles the build.
# cargo fuzz needs flags that a stable compiler refuses.
if rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
  export RUSTUP_TOOLCHAIN=nightly
else
  export RUSTC_BOOTSTRAP=1
fi
unset CARGO_TARGET_DIR
if [[ $target == build ]]; then
  # `cargo fuzz` cannot pass `--locked`: where the lock file is not up to date, this fails.
  cargo fetch --quiet --locked --manifest-path fuzz/Cargo.toml
  exec cargo fuzz build --sanitizer none
fi
exec cargo fuzz run --sanitizer none "$target" "${folders[@]}" -- -timeout=10 "${length[@]}" "${dictionary[@]}" "$@"
