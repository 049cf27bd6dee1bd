"""Reads what flat.sh counted, prints it, and says whether it is flat."""

import pathlib
import re
import sys

# What may differ: a tree of 100 000 deadlines is a few levels higher than one of 1 000, and its nodes fuller.
FLAT = 1.5
# Over all of a filling; an idle session is at most this large (DESIGN 7).
BYTES_EACH_MAX = 512
# Pays for the uses that went before it: shown, and not judged.
SHOWN_ONLY = {"open_at_cap_all_used"}

work, sizes = pathlib.Path(sys.argv[1]), [int(size) for size in sys.argv[2:]]
costs, wrong = {}, []
for size in sizes:
    for line in (work / f"{size}.allocations").read_text().splitlines():
        words = line.split()
        if words[0] == "bytes_each":
            costs.setdefault("bytes of a session", {})[size] = int(words[1])
            if int(words[1]) > BYTES_EACH_MAX:
                wrong.append(f"an idle session holds {words[1]} bytes at {size}")
            continue
        name, times, made = words[1], int(words[3]), int(words[5])
        costs.setdefault(f"allocations: {name}", {})[size] = made / times
        costs.setdefault(f"instructions: {name}", {})["times"] = times
    for line in (work / f"{size}.instructions").read_text().splitlines():
        found = re.match(r"\s*([\d,]+) .*[:\s]flat::(\w+)(?:'\d+)?\s", line + " ")
        if found and f"instructions: {found[2]}" in costs:
            cost = costs[f"instructions: {found[2]}"]
            cost[size] = int(found[1].replace(",", "")) / cost["times"]

print(f"{'each':40}" + "".join(f"{size:>12}" for size in sizes))
for name, cost in costs.items():
    if any(size not in cost for size in sizes):
        wrong.append(f"{name} was not counted at every size: {cost}")
        continue
    print(f"{name:40}" + "".join(f"{cost[size]:12.1f}" for size in sizes))
    first, most = cost[sizes[0]], max(cost[size] for size in sizes)
    if name.split(": ")[-1] not in SHOWN_ONLY and most > FLAT * first + 1:
        wrong.append(f"{name}: from {first:.1f} to {most:.1f}")
for line in wrong:
    print("NOT FLAT:", line)
sys.exit(bool(wrong))
