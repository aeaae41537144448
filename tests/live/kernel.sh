#!/bin/bash
# What must be exact under every kernel. Few programs are started: this also runs in
# emulated machines (scripts/check-vm).
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

echo "note Linux $(uname -r)"

# exact NAME COMMAND...: record, and everything that the workload says of itself holds.
exact()
{
	local name=$1

	record "$@"
	holds "$name: account" '({k: s[k] for k in want}, dict(want))'
}

# calls FOLDED-FILE REGEX
calls()
{
	awk -v re="$2" '{ n = $NF; $NF = ""; if ($0 ~ re) sum += n } END { printf "%d\n", sum }' "$1"
}

exact malloc_10007 "$WORKLOADS/malloc_10007"
case $(uname -r) in
5.*)
	matches 'an old kernel: what it lacks is said' err.txt \
		'^mt-record: Linux 5\.[0-9]+.* has no .* \(since 6\.0\): '
	;;
*) is 'the kernel lacks nothing' "$(grep -c 'has no' err.txt)" 0 ;;
esac
holds 'malloc_10007: every stack is complete' '(s["stacks"]["complete"], s["stacks"]["definitions"])'
mt-report folded --by count run.mt >folded.txt 2>/dev/null
is 'malloc_10007: three stacks' "$(wc -l <folded.txt)" 3
is 'malloc_10007: calls below path_alpha' "$(calls folded.txt '(^|;)main;path_alpha;take(;| )')" 5003
is 'malloc_10007: calls below path_beta' \
	"$(calls folded.txt '(^|;)main;path_beta;beta_middle;take(;| )')" 3001
is 'malloc_10007: calls below path_gamma' \
	"$(calls folded.txt '(^|;)main;path_gamma;gamma_down.*;take(;| )')" 2003
mt-report check run.mt >check.txt 2>&1
is 'malloc_10007: the file is whole' $? 0

exact families "$WORKLOADS/families"
exact longjmp "$WORKLOADS/longjmp"
exact forkexec "$WORKLOADS/forkexec"
holds 'forkexec: processes' '(s["processes"], 7)'

record threads "$WORKLOADS/threads"
mt-report folded --by count run.mt >folded.txt 2>/dev/null
is 'threads: calls' "$(calls folded.txt ';worker_take(;| )')" 10000
holds 'threads: threads' '(s["threads"], 5)'

record dlopen "$WORKLOADS/dlopen" "$WORKLOADS/libplug.so"
mt-report folded --by count run.mt >folded.txt 2>/dev/null
is 'dlopen: calls from both placements' "$(calls folded.txt ';use;plug_take(;| )')" 200

# shellcheck disable=SC2016
WANT_CODE=7 record 'a shell' sh -c 'ls / | cat >/dev/null; "$0" >out; exit 7' "$WORKLOADS/malloc_10007"
holds 'a shell: processes' '(s["processes"], 4)'
holds 'a shell: calls of its last program' \
	's["allocations"] > 10007 and s["allocations"] - s["frees"] >= 10007 - 5305'
code=0
mt-record -q -o run.mt -- sh -c 'ulimit -c 0; kill -SEGV $$' 2>err.txt || code=$?
is 'killed by SIGSEGV' "$code" 139
code=0
mt-record -q -o run.mt -- no-such-command-here 2>err.txt || code=$?
is 'command not found' "$code" 127

record python3 /usr/bin/python3 -I -c '
import json, re
text = json.dumps([{"name": "n%d" % i, "v": [i / 7] * 3} for i in range(200)])
print(len(json.loads(text)), len(re.findall("[a-z][0-9]+", text)))'
is 'python3: output' "$(cat out.txt)" '200 200'
holds 'python3: 99 % of the stacks are complete' \
	's["stacks"]["complete"] * 100 >= 99 * (s["stacks"]["definitions"] - s["stacks"]["truncated"])'
holds 'python3: there are stacks' 's["stacks"]["definitions"] > 100'

# mmap and its like, with their stacks.
RECORD_OPTIONS='--mmap' record 'mapped memory' "$WORKLOADS/map_calls"
is 'mapped memory: calls, by whom' "$(mt-report folded --events mmap --by count run.mt |
	awk '/;main;use_[a-z]*;map;/ { m += $NF } /;remap;/ { r += $NF } END { print m, r }')" \
	"$(/usr/bin/python3 -c 'import json; s = json.load(open("out.txt")); print(s["mmap"] - 1, s["mremap"])')"
