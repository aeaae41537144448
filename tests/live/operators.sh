#!/bin/bash
# operator new that fails: exceptions, new_handlers and nothrow forms behave as without the
# recorder, under every allocator, and what failed is no block.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

lib=/usr/lib/x86_64-linux-gnu
source=$TOP/testdata/allocators/cxx_calls.cc
flags=(-g -O1 -std=c++17 -Wall -fno-builtin -pthread)
build() { g++ "${flags[@]}" -o "$1" "$source" "${@:2}"; }
inside() { echo "-Wl,--whole-archive $1 -Wl,--no-whole-archive"; }

# figure KEY: of the program's account.
figure()
{
	/usr/bin/python3 -c 'import json, sys; print(json.loads(open("out.txt").readlines()[-1])[sys.argv[1]])' "$1"
}

# ours KIND: calls or bytes in the program's work, but those of the C++ runtime for exceptions.
ours()
{
	echo $(($(folded "$1" ';work(;| )') - $(folded "$1" ';work;.*(__cxa_|_Unwind_)')))
}

# behaves NAME STATUS COMMAND...: so it ends, with the same output with and without the recorder.
behaves()
{
	local name=$1 code=0

	"${@:3}" >alone.txt 2>alone.err || code=$?
	is "$name: status without the recorder" "$code" "$2"
	shift 2
	WANT_CODE=$code record "$name" "$@"
	is "$name: output as without the recorder" "$(cat out.txt)" "$(cat alone.txt)"
	is "$name: messages as without it" "$(grep -v '^mt-record: ' err.txt)" "$(cat alone.err)"
	holds "$name: everything is covered" '(s["coverage_gaps"], [])'
	holds "$name: no free without a block" '(s["unmatched_frees"], 0)'
}

# same NAME COMMAND...: it behaves, and its account is what was recorded.
same()
{
	local name=$1

	behaves "$name" 0 "${@:2}"
	is "$name: calls" "$(ours count)" "$(figure allocations)"
	is "$name: bytes" "$(ours bytes)" "$(figure allocated_bytes)"
	is "$name: what is left" "$(ours live)" "$(figure live_bytes)"
}

build plain
build quiet -DNO_FAILURE
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
# Debian's neither throws nor knows of handlers: it ends the program.
behaves 'mimalloc, out of memory' 134 env LD_PRELOAD="$library" ./plain

# Allocators without operators: a program's own, over them. In one file with the allocator they
# count as its operators, by what they were asked for.
# over NAME MALLOC ALIGNED FREE FLAG...
over()
{
	g++ "${flags[@]}" -o over "$source" \
		"$TOP/testdata/allocators/cxx_over.cc" -DMALLOC="$2" \
		-DALIGNED="$3" -DFREE="$4" "${@:5}" -ldl
	same "$1" env LD_PRELOAD="${preload-}" ./over
}
preload=$library over 'operators over mimalloc' malloc aligned_alloc free -DROUNDED -DALL_FORMS
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

# libstdc++ is built for glibc alone, but its runtime does over musl, with one function more.
g++ "${flags[@]}" -U_FORTIFY_SOURCE -fno-stack-protector -DROUNDED -c -o calls.o "$source"
musl-gcc -O1 -Wall -c -o find_object.o "$TOP/testdata/allocators/find_object.c"
build_musl()
{
	musl-gcc "${@:2}" -Wl,--eh-frame-hdr -o "$1" calls.o find_object.o \
		"$(g++ -print-file-name=libsupc++.a)" "$(g++ -print-file-name=libgcc_eh.a)"
}
build_musl musl
build_musl musl-static -static
same 'musl' ./musl
same 'musl, static' ./musl-static
is 'musl: it is that one' "$(grep -c '"kind": "musl"' stat.json)" 1

# LLVM's C++ library and runtime, as a library and inside.
if ! "$TOP/scripts/unpack-packages" libcxx "$BUILD/libcxx" 2>unpack.err; then
	not_ok 'libc++ is there' "$(tail -n 1 unpack.err)"
	exit
fi
llvm=$(echo "$BUILD"/libcxx/usr/lib/llvm-*)
multi=$BUILD/libcxx$lib
build_llvm()
{
	clang++ "${flags[@]}" -nostdinc++ -isystem "$llvm/include/c++/v1" -nostdlib++ -o "$1" "$source" \
		"${@:2}"
}
shared=("$multi"/lib{c++,c++abi,unwind}.so.1 "-Wl,-rpath,$multi")
within=("$llvm/lib/libc++.a" "$llvm/lib/libc++abi.a")
build_llvm plain "${shared[@]}"
build_llvm quiet -DNO_FAILURE "${shared[@]}"
build_llvm inside "${within[@]}"
build_llvm static -static "${within[@]}"
is 'libc++: it is that one' "$(ldd plain | grep -cE 'libc\+\+(abi)?\.so\.1 => /.*/libcxx/')" 2
is 'libc++: and no other' "$(ldd plain inside | grep -c libstdc)" 0
same 'libc++, glibc' ./plain
same 'libc++ inside, glibc' ./inside
same 'libc++ inside, glibc static' ./static
for name in jemalloc tcmalloc_minimal; do
	same "libc++, $name preloaded" env LD_PRELOAD="$lib/lib$name.so" ./plain
	same "libc++ inside, $name preloaded" env LD_PRELOAD="$lib/lib$name.so" ./inside
done
same 'libc++, mimalloc preloaded' env LD_PRELOAD="$library" ./quiet
behaves 'libc++, mimalloc preloaded, out of memory' 134 env LD_PRELOAD="$library" ./plain
