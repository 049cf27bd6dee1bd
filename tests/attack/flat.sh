#!/bin/sh
# L6: one more session, a call, `poll_timeout` and an idle `handle_timeout` cost at 100 000 sessions what they cost
# at 1 000, in instructions (counted by valgrind's callgrind) and allocations. I6: an octet of a body of 100 000 costs
# what one of 1 000 costs. Needs cargo and valgrind.
#
#   tests/attack/flat.sh [SIZE...]      default: 1000 10000 100000
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- 1000 10000 100000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo build --quiet --release --manifest-path "$here/flat/Cargo.toml" --target-dir "$work/target"
for size in "$@"; do
    valgrind --quiet --tool=callgrind --callgrind-out-file="$work/$size.out" \
        "$work/target/release/flat" "$size" >"$work/$size.allocations"
    callgrind_annotate --inclusive=yes --threshold=100 "$work/$size.out" >"$work/$size.instructions" 2>/dev/null
done
python3 "$here/flat_verdict.py" "$work" "$@"
