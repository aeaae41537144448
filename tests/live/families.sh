#!/bin/bash
# Every allocator function, failing calls among them, counts once or not at all.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

record families "$WORKLOADS/families"
account families allocations allocated_bytes frees live_blocks live_bytes peak_blocks peak_bytes

mt-report dump --json run.mt >dump.txt 2>dump.err
is 'events by type' "$(/usr/bin/python3 - <<'PY'
import json
types = {}
for line in open("dump.txt"):
    event = json.loads(line)
    types[event.get("type")] = types.get(event.get("type"), 0) + 1
wanted = ("malloc", "calloc", "realloc", "aligned", "free")
print(" ".join(f"{t}={types.get(t, 0)}" for t in wanted))
PY
)" 'malloc=5 calloc=3 realloc=9 aligned=6 free=15'

# Leaving an allocator by longjmp must not hide the calls after it.
record longjmp "$WORKLOADS/longjmp"
account longjmp allocations allocated_bytes frees live_blocks live_bytes
