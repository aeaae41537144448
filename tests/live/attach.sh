#!/bin/bash
# Whatever attaches the probes, what is recorded is the same.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# Addresses are the same in every run then; numbers of processes and times never are.
plain()
{
	/usr/bin/python3 -c '
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    for key in ("time", "begin", "pid", "tid", "parent_pid"):
        row.pop(key, None)
    print(json.dumps(row))'
}

# The ways that this kernel has; perf is everywhere.
ways=perf
for way in multi session; do
	code=0
	mt-record -q --attach "$way" -o run.mt -- true 2>err.txt || code=$?
	if [ "$code" = 0 ]; then
		ways="$ways $way"
		best=$way
	else
		is "$way: is refused in a line" "$code: $(cat err.txt)" \
			"125: mt-record: --attach: this kernel has no $way links"
	fi
done
mt-record -q -o run.mt -- true
mt-report stat --json run.mt >stat.json 2>/dev/null
holds 'auto takes the best' "s['attach'] == '${best-perf}'"

same()
{
	local name=$1 way

	shift
	for way in $ways; do
		setarch -R mt-record -v --attach "$way" -o run.mt -- "$@" >out.txt 2>err.txt
		matches "$name: $way is said" err.txt "attach $way;"
		mt-report stat --json run.mt >stat.json 2>/dev/null
		holds "$name: $way is in the header" "s['attach'] == '$way'"
		mt-report dump --json run.mt 2>/dev/null | plain >"$way.dump"
		mt-report folded run.mt >"$way.folded" 2>/dev/null
		is "$name: $way has the events of perf" "$(cmp perf.dump "$way.dump" 2>&1)" ''
		is "$name: $way has the stacks of perf" "$(cmp perf.folded "$way.folded" 2>&1)" ''
	done
}

same families "$WORKLOADS/families"
same longjmp "$WORKLOADS/longjmp"
same malloc_10007 "$WORKLOADS/malloc_10007"
same cpp_nofp "$WORKLOADS/cpp_nofp"
