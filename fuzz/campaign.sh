#!/usr/bin/env bash
# The long campaign: fuzz/campaign.sh [SECONDS_PER_TARGET] [JOBS] [TARGET...]
# Each target fuzzes for so long, so many targets at a time; what was found is merged into the committed corpora and
# minimised, and a table is printed. Crashes stay in target/fuzz/TARGET/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-420}
jobs=${2:-1}
targets=("${@:3}")
files_max=400
if ((${#targets[@]} == 0)); then
  mapfile -t targets < <(cargo fuzz list | grep -v '^canary$')
fi
out=$PWD/target/fuzz
fuzz/run.sh build

one() { # TARGET
  local found=$out/$1
  mkdir -p "$found/new" "$found/artifacts" "fuzz/corpus/$1"
  # A crash ends a target's part; the table tells.
  fuzz/run.sh "$1" "$found/new" "fuzz/corpus/$1" -- "-max_total_time=$seconds" -print_final_stats=1 \
    "-artifact_prefix=$found/artifacts/" >"$found/log" 2>&1 || true
}

# A small set of inputs that reaches every edge that was reached.
minimise() { # TARGET
  local found=$out/$1
  rm -rf "$found/merged"
  mkdir -p "$found/merged"
  fuzz/run.sh "$1" "$found/merged" "fuzz/corpus/$1" "$found/new" -- -set_cover_merge=1 -use_counters=0 \
    >"$found/merge.log" 2>&1
  rm -rf "fuzz/corpus/$1"
  mkdir -p "fuzz/corpus/$1"
  find "$found/merged" -type f -printf '%s %p\n' | sort -n | head -n "$files_max" | cut -d' ' -f2- |
    xargs -r cp -t "fuzz/corpus/$1"
}

number() { # TARGET STAT
  awk -v name="stat::$2:" '$1 == name { print $2 }' "$out/$1/log"
}

export -f one
export out seconds
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -euo pipefail -c 'one {}'
printf '%-13s %11s %9s %7s %9s %8s %8s\n' target executions per_s edges features inputs crashes
for target in "${targets[@]}"; do
  last=$(grep -o 'cov: [0-9]* ft: [0-9]*' "$out/$target/log" | tail -n 1)
  minimise "$target"
  crashes=$(find "$out/$target/artifacts" -type f | wc -l)
  printf '%-13s %11s %9s %7s %9s %8s %8s\n' "$target" "$(number "$target" number_of_executed_units)" \
    "$(number "$target" average_exec_per_sec)" "$(cut -d' ' -f2 <<<"$last")" "$(cut -d' ' -f4 <<<"$last")" \
    "$(find "fuzz/corpus/$target" -type f | wc -l)" "$crashes"
done
