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

# Allocators without operators: a program's own, over them. In one file with the allocator they
# count as its operators, by what they were asked for.
# over NAME MALLOC ALIGNED FREE FLAG...
over()
{
	g++ -g -O1 -std=c++17 -Wall -fno-builtin -pthread -o over "$source" \
		"$TOP/testdata/allocators/cxx_over.cc" -DMALLOC="$2" \
		-DALIGNED="$3" -DFREE="$4" "${@:5}" -ldl
	same "$1" ./over
}
for prefix in je_ _rjem_; do
	cp "$lib/libjemalloc_pic.a" "lib$prefix.a"
	ar d "lib$prefix.a" jemalloc_cpp.pic.o jemalloc_cpp.sym.o jemalloc_cpp.o
	renames=
	for symbol in malloc calloc realloc aligned_alloc memalign posix_memalign valloc free \
		mallocx rallocx xallocx dallocx sdallocx sallocx nallocx mallctl mallctlnametomib \
		mallctlbymib malloc_usable_size malloc_stats_print malloc_conf malloc_message; do
		renames="$renames --redefine-sym=$symbol=$prefix$symbol"
	done
	# shellcheck disable=SC2086 # a list
	objcopy $renames "lib$prefix.a"
	# shellcheck disable=SC2046
	over "$prefix" "${prefix}malloc" "${prefix}aligned_alloc" "${prefix}free" $(inside "lib$prefix.a")
done
gcc -g -O1 -fno-builtin -w -c '-DPREFIX="mi_"' -o mi.o "$TOP/testdata/allocators/standin.c"
over 'mi_ (stand-in)' mi_malloc mi_aligned_alloc mi_free mi.o
gcc -g -O1 -fno-builtin -w -c -DTC_INTERNAL -o tci.o "$TOP/testdata/allocators/standin.c"
over 'TCMallocInternal (stand-in)' TCMallocInternalMalloc TCMallocInternalAlignedAlloc \
	TCMallocInternalFree tci.o
