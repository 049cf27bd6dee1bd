#!/bin/bash
# Breaks the core in every small way that `cargo-mutants` knows, and asks whether the tests notice.
#
#   tests/mutants/run.sh [FILES]
#
# FILES is a regular expression for what to break, such as core/src/h1/; all of the core by default. It needs
# `cargo install --locked cargo-mutants` and `pip install tree-sitter tree-sitter-rust`.
#
# To compile the core and sixty test binaries for each of two thousand mutants takes days. So almost all mutants are
# compiled into one core, by `together.py`, and the tests of the core into one binary, which is then run once for each
# mutant. The few mutants that cannot be compiled with others are left to `cargo-mutants` itself; most of them cannot
# be compiled at all. Results are kept in target/mutants, and a run that was stopped goes on where it ended: remove
# that folder to start anew. A mutant that was missed is tried again each time, so that a new test shows what it is
# worth.
set -euo pipefail

files=${1:-core/src/}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
results=$root/target/mutants
work=$results/work
mkdir -p "$work"

# A workspace of the core and of those of its tests that need nothing else.
rm -rf "$work/core" "$work/sound" "$work/tests"
mkdir -p "$work/tests/src" "$work/tests/one"
cp -r "$root/core" "$work/core"
cp -r "$root/tests/data" "$root/tests/tests" "$work/tests/"
cp "$root/Cargo.lock" "$work/"
cp "$here/Cargo.toml.in" "$work/tests/Cargo.toml"
sed -e 's/^members = .*/members = ["core", "tests"]/' -e '/^default-members/d' "$root/Cargo.toml" > "$work/Cargo.toml"
cat >> "$work/Cargo.toml" << 'END'

[profile.dev]
opt-level = 1
debug = false

[profile.dev.package."*"]
opt-level = 3
END
cp -r "$root/tests/src/." "$work/tests/src/"
rm -r "$work/tests/src/bin" "$work/tests/src/serving.rs"
grep '^pub mod' "$root/tests/src/lib.rs" | grep -v serving > "$work/tests/src/lib.rs"
for name in h1_ intake_ stateless_intake_ param_headers seq_ exhaustive_ simulation scale_ sse_ config_ values; do
    for file in "$work/tests/tests/$name"*.rs; do
        name=$(basename "$file" .rs)
        printf '#[path = "../tests/%s.rs"]\nmod %s;\n' "$name" "$name"
    done
done > "$work/tests/one/main.rs"

cd "$work"
export CARGO_TARGET_DIR=$work/target RUSTFLAGS=--cap-lints=warn

# Together.
cargo mutants --list --json --package mcp-http-core > "$work/listed.json"
cp -r "$work/core" "$work/sound"
python3 "$here/together.py" rewrite "$work/listed.json" "$work/core" "$results/mutants.json"
binaries=$(cargo test -q --package mcp-http-core --package mcp-http-tests --lib --test one --no-run --message-format=json |
    python3 "$here/together.py" binaries)
python3 "$here/together.py" run "$results/mutants.json" "$results/together.json" "$files" $binaries
rm -rf "$work/core"
mv "$work/sound" "$work/core"

# Apart. What is left is named line by line.
only=()
while read -r name; do
    only+=(--re "^$(sed 's/[][\\.+*?()|{}^$]/\\&/g' <<< "$name")$")
done < <(python3 "$here/together.py" left "$results/mutants.json" "$files")
status=0
if [ ${#only[@]} -gt 0 ]; then
    cargo mutants --in-place --no-shuffle --colors never --output "$results" --baseline skip --timeout 60 \
        --package mcp-http-core --test-package mcp-http-tests "${only[@]}" \
        -- --test one -- --skip every_ --skip any_split || status=$?
fi
python3 "$here/together.py" sum "$results"
exit $((status > 3 ? status : 0))
