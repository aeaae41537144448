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

# Where probes sit: glibc's free, of which the kernel does not emulate the first instruction.
libc=$(ldd /usr/bin/true | sed -n 's/.*=> \(.*libc\.so\.6\) .*/\1/p')
libc=$(readlink -f "$libc")
first=$(objdump -d --no-show-raw-insn "--start-address=0x$(nm -D "$libc" |
	sed -n 's/^\([0-9a-f]*\) T free@@.*/\1/p')" "$libc" 2>/dev/null | sed -n '/>:$/{n;p;q}')
mt-record -q -v --probe-site entry -o run.mt -- true 2>err.txt
matches 'entry: nothing is moved' err.txt 'libc.*: malloc: probe at 0x[0-9a-f]+,'
is 'entry: nothing is behind' "$(grep -c 'behind the entry' err.txt)" 0
mt-record -q -v --probe-site auto -o run.mt -- true 2>err.txt
matches 'auto: malloc' err.txt 'libc.*: malloc: probe at 0x[0-9a-f]+.*, emulated$'
case $(uname -m):$first in
x86_64:*test*)
	matches 'auto: free' err.txt ': (c?free): probe at 0x[0-9a-f]+, 3 bytes behind the entry, emulated$'
	mt-record -q -v --probe-site entry -o run.mt -- true 2>err.txt
	matches 'entry: free' err.txt ': (c?free): probe at 0x[0-9a-f]+, single-stepped$'
	;;
*) skip 'site of free' 'it does not begin with a test' ;;
esac

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
		# By code: which stack of a path comes to be defined is not left to time then.
		setarch -R mt-record -v --attach "$way" --stack-identity code -o run.mt -- "$@" \
			>out.txt 2>err.txt
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
