#!/bin/bash
# Totals, peak and stacks of a program that knows them must be exact.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

keys='allocations allocated_bytes frees live_blocks live_bytes peak_blocks peak_bytes'

record malloc_10007 "$WORKLOADS/malloc_10007"
# shellcheck disable=SC2086
account malloc_10007 $keys
is 'the prime count' "$(/usr/bin/python3 -c 'import json; print(json.load(open("stat.json"))["allocations"])')" 10007
holds 'events are allocations and frees' '(s["events"], s["allocations"] + s["frees"])'
holds 'one process' '(s["processes"], 1)'
holds 'one thread' '(s["threads"], 1)'
holds 'the command' "(s['command'], ['$WORKLOADS/malloc_10007'])"
holds 'every stack is complete' '(s["stacks"]["complete"], s["stacks"]["definitions"])'

is 'calls below path_alpha' "$(folded count '(^|;)main;path_alpha;take(;| )')" 5003
is 'calls below path_beta' "$(folded count '(^|;)main;path_beta;beta_middle;take(;| )')" 3001
is 'calls below path_gamma' "$(folded count \
	'(^|;)main;path_gamma;gamma_down;gamma_down;gamma_down;gamma_down;gamma_down;take(;| )')" 2003
is 'bytes below path_alpha' "$(folded bytes ';path_alpha;')" \
	"$(/usr/bin/python3 -c 'print(sum(16 + i % 97 for i in range(5003)))')"
is 'bytes below path_beta' "$(folded bytes ';path_beta;')" \
	"$(/usr/bin/python3 -c 'print(sum(1000 + i % 13 for i in range(3001)))')"
is 'bytes below path_gamma' "$(folded bytes ';path_gamma;')" \
	"$(/usr/bin/python3 -c 'print(sum(5000 + i for i in range(2003)))')"
is 'live bytes below path_alpha' "$(folded live ';path_alpha;')" \
	"$(/usr/bin/python3 -c 'print(sum(16 + i % 97 for i in range(1, 5003, 2)))')"
is 'all bytes are below a path' "$(folded bytes .)" "$(folded bytes ';path_(alpha|beta|gamma);')"
is 'three distinct stacks' "$(mt-report folded --by count run.mt 2>/dev/null | wc -l)" 3
is 'the stacks begin at _start' "$(folded count '^[^;]*(;[^;]*)?_start;')" 10007

mt-report dump --json run.mt >dump.txt 2>dump.err
is 'dump has a line per event' "$(/usr/bin/python3 - <<'PY'
import json
types = {}
for line in open("dump.txt"):
    event = json.loads(line)
    types[event.get("type")] = types.get(event.get("type"), 0) + 1
print(types.get("malloc"), types.get("free"))
PY
)" '10007 5305'

mt-report check run.mt >check.txt 2>&1
is 'check is content' $? 0
zstd -t -q run.mt
is 'the file is a sound zstd file' $? 0

# Twice the same: what does not depend on addresses is the same.
mt-report folded --by count run.mt >first.folded 2>/dev/null
record 'a second time' "$WORKLOADS/malloc_10007"
mt-report folded --by count run.mt >second.folded 2>/dev/null
is 'two recordings give the same folded stacks' "$(cmp first.folded second.folded 2>&1)" ''

# Another tool's count of the same program.
valgrind --tool=dhat --dhat-out-file=/dev/null "$WORKLOADS/malloc_10007" >/dev/null 2>dhat.txt
is 'total as DHAT counts it' "$(/usr/bin/python3 "$LIVE/dhat.py" stat.json dhat.txt)" same
