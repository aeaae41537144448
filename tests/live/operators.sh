#!/bin/bash
# operator new that fails: exceptions, new_handlers and nothrow forms behave as without the
# recorder, under every allocator, and what failed is no block.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

lib=/usr/lib/x86_64-linux-gnu
source=$TOP/testdata/allocators/cxx_calls.cc
build() { g++ -g -O1 -std=c++17 -Wall -fno-builtin -pthread -o "$1" "$source" "${@:2}"; }
inside() { echo "-Wl,--whole-archive $1 -Wl,--no-whole-archive"; }

# figure KEY: of the program's account.
figure()
{
	/usr/bin/python3 -c 'import json, sys; print(json.loads(open("out.txt").readlines()[-1])[sys.argv[1]])' "$1"
}

# ours KIND: calls or bytes in the program's work, but those of the C++ runtime for exceptions.
ours()
{
	echo $(($(folded "$1" ';work(;| )') - $(folded "$1" ';work;.*(__cxa_allocate|__cxa_init|_Unwind_)')))
}

# same NAME COMMAND...: the same output and status with and without the recorder; the counts.
same()
{
	local name=$1 code=0

	shift
	"$@" >alone.txt 2>alone.err || code=$?
	WANT_CODE=$code record "$name" "$@"
	is "$name: output as without the recorder" "$(cat out.txt)" "$(cat alone.txt)"
	is "$name: messages as without it" "$(grep -v '^mt-record: ' err.txt)" "$(cat alone.err)"
	holds "$name: everything is covered" '(s["coverage_gaps"], [])'
	holds "$name: no free without a block" '(s["unmatched_frees"], 0)'
	[ "$code" = 0 ] || return
	is "$name: calls" "$(ours count)" "$(figure allocations)"
	is "$name: bytes" "$(ours bytes)" "$(figure allocated_bytes)"
	is "$name: what is left" "$(ours live)" "$(figure live_bytes)"
}

build plain
build quiet -DNO_THROW
build rounded -DROUNDED
build static -DROUNDED -static
build pie -DROUNDED -static-pie -fPIE
same 'glibc' ./rounded
same 'glibc, static' ./static
same 'glibc, static-pie' ./pie
for name in jemalloc tcmalloc_minimal; do
	library=$(readlink -f "$lib/lib$name.so")
	# shellcheck disable=SC2046 # a list
	build inside $(inside "$lib/lib$name.a") -ldl
	# shellcheck disable=SC2046
	build static $(inside "$lib/lib$name.a") -static
	build linked "-Wl,--no-as-needed" "-l$name"
	same "$name, preloaded" env LD_PRELOAD="$library" ./plain
	same "$name, linked" ./linked
	same "$name, inside" ./inside
	same "$name, static" ./static
done
library=$(readlink -f "$lib/libmimalloc.so")
same 'mimalloc' env LD_PRELOAD="$library" ./quiet
# Debian's cannot throw: it ends the program.
same 'mimalloc, out of memory' env LD_PRELOAD="$library" ./plain
is 'mimalloc, out of memory: the program ended itself' "$(tail -n 1 out.txt)" ''
