#!/bin/bash
# Allocators on top of others, and calls that never come to their end: the outermost calls count,
# once, and so do those that come after.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

lib=/usr/lib/x86_64-linux-gnu
figures='allocations allocated_bytes frees live_blocks live_bytes'
here=$TOP/testdata/allocators

gcc -g -O1 -Wall -fno-builtin -rdynamic -pthread -o nested "$here/nested.c"
gcc -g -O1 -Wall -fno-builtin -shared -fPIC -o libwrap.so "$here/wrap.c" -ldl

# An arena's functions, and not what they call.
arena='arena_new=malloc(#64) arena_alloc=malloc(2) arena_free=free(2) arena_delete=free(1)'
mt-record -q -o run.mt --allocator "$arena" -- ./nested arena >out.txt
mt-report stat --json run.mt >stat.json
# shellcheck disable=SC2086 # a list
account 'an arena' $figures peak_blocks peak_bytes
holds 'an arena: no free without a block' '(s["unmatched_frees"], 0)'
holds 'an arena: whose events' \
	'(sorted((a["kind"], a["events"]) for a in s["allocators"] if a["events"]),
	  [("glibc", 2 * 1009), ("user", 2 * 1009 + 2)])'
holds 'an arena: one row for a file and kind' \
	'(sorted((a["path"].split("/")[-1].split(".")[0], a["kind"]) for a in s["allocators"]),
	  [("libc", "glibc"), ("nested", "user")])'
holds 'an arena: its functions' '([a["functions"] for a in s["allocators"] if a["kind"] == "user"], [4])'

# Exceptions that leave functions which are not C++ ones by their names.
for level in 0 1 2; do
	name="exceptions, -O$level"
	g++ -g "-O$level" -Wall -o throws "$here/throws.cc"
	./throws >alone.txt
	code=0
	mt-record -q -o run.mt --allocator 'pool_get=malloc(1):throws pool_zero=calloc(2,1):throws
		pool_put=free(1):throws' -- ./throws >out.txt 2>err.txt || code=$?
	is "$name: the program's end" "$code" 0
	is "$name: output as alone" "$(cat out.txt)" "$(cat alone.txt)"
	mt-report stat --json run.mt >stat.json
	holds "$name: events" \
		'(sum(a["events"] for a in s["allocators"] if a["kind"] == "user"), want["user"])'
	holds "$name: all is covered, each free has its block" \
		'((s["coverage_gaps"], s["unmatched_frees"], s["conflicts"]), ([], 0, 0))'
done
# One that ends in another file at times: what it calls there counts, and it is named.
g++ -g -O2 -Wall -DJUMPS -o throws "$here/throws.cc"
mt-record -q -o run.mt --allocator 'pool_get=malloc(1):throws' -- ./throws >out.txt 2>err.txt
mt-report stat --json run.mt >stat.json
holds 'a jump to another file: named' '([g["function"] for g in s["coverage_gaps"]], ["pool_get"])'
is 'a jump to another file: malloc counts' "$(mt-report dump --json run.mt | grep -c '"size":5000,')" 106

for preload in "$lib/libjemalloc.so.2" "$lib/libmimalloc.so.2" "$lib/libtcmalloc_minimal.so.4" ''; do
	for how in lost threads; do
		name="$(basename "${preload:-glibc}"), $how"
		record "$name" env LD_PRELOAD="$PWD/libwrap.so $preload" ./nested "$how"
		is "$name: calls after" "$(folded count ';take(;| )')" \
			"$(/usr/bin/python3 -c 'import json; print(json.load(open("out.txt"))["allocations"])')"
		is "$name: live bytes of them" "$(folded live ';take(;| )')" \
			"$(/usr/bin/python3 -c 'import json; print(json.load(open("out.txt"))["live_bytes"])')"
		is "$name: none of the lost ones" "$(folded count ';(lose|die_inside)(;| )')" 0
		holds "$name: no free without a block" '(s["unmatched_frees"], 0)'
	done
done

# A wrapper whose calls are three: each is one event.
record wrapped env LD_PRELOAD="$PWD/libwrap.so" "$WORKLOADS/malloc_10007"
is 'wrapped: calls' "$(folded count ';path_(alpha|beta|gamma);')" 10007
is 'wrapped: live bytes' "$(folded live ';path_(alpha|beta|gamma);')" \
	"$(/usr/bin/python3 -c 'import json; print(json.load(open("out.txt"))["live_bytes"])')"
