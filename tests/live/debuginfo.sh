#!/bin/bash
# Every way in which a program can have its names and lines, or only its names: the same calls, here
# and from a pack when the files are gone.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

cat >prog.c <<'C'
#include <stdlib.h>
static inline __attribute__((always_inline)) void *inner(size_t n) { return malloc(n); }
static __attribute__((noinline)) void *outer(size_t n) { void *p = inner(n); __asm__ volatile("" : "+r"(p)); return p; }
int main(void) { for (int i = 0; i < 99; i++) free(outer(1000 + i)); return 0; }
C

# from_pack NAME: the report of run.mt is that of its pack, when nothing of the program is left.
from_pack()
{
	mt-report top -n 0 run.mt >here.txt 2>here.err
	mt-report pack -o run.mtp run.mt 2>/dev/null
	mkdir -p away
	mv prog prog.d* ./*.dwo ./*.dwp .debug away 2>/dev/null
	mt-report top -n 0 run.mtp >there.txt 2>there.err
	is "$1: the same from a pack" "$(cmp here.txt there.txt 2>&1)" ''
	rm -rf away
}

# lines NAME: inlined calls, files and lines.
lines()
{
	mt-report folded --by count run.mt >folded.txt 2>/dev/null
	is "$1: calls" "$(awk '/;main;outer;inner;malloc / { n += $NF } END { print n + 0 }' folded.txt)" 99
	mt-report top -n 0 run.mt >top.txt 2>/dev/null
	matches "$1: an inlined call has its line" top.txt '^ +inner  .*prog\.c:2  \(inlined\)$'
	matches "$1: so has its caller" top.txt '^ +outer  .*prog\.c:3$'
	from_pack "$1"
}

# names NAME: no more than that.
names()
{
	is "$1: calls" "$(folded count ';main;outer;malloc ')" 99
	mt-report top -n 0 run.mt >top.txt 2>/dev/null
	is "$1: no lines" "$(grep -c 'prog\.c' top.txt)" 0
	from_pack "$1"
}

# built NAME COMPILER [FLAG...]
built()
{
	local name=$1

	shift
	rm -rf prog prog.d* ./*.dwo ./*.dwp .debug
	"$@" -O1 -fno-builtin -Wl,--build-id -o prog prog.c 2>build.err || cat build.err
}

for cc in gcc clang; do
	for flags in -gdwarf-4 -gdwarf-5 '-gdwarf-4 -gsplit-dwarf' '-gdwarf-5 -gsplit-dwarf' '-g -gz'; do
		# shellcheck disable=SC2086 # a list
		built "$cc $flags" $cc $flags
		record "$cc $flags" ./prog
		lines "$cc $flags"
	done
done
built 'split, in a package' gcc -gdwarf-5 -gsplit-dwarf
llvm-dwp -e prog -o prog.dwp
rm -f ./*.dwo
record 'split, in a package' ./prog
lines 'split, in a package'
built 'packed by zstd' gcc -g
if objcopy --compress-debug-sections=zstd prog 2>/dev/null; then
	record 'packed by zstd' ./prog
	lines 'packed by zstd'
else
	echo 'note packed by zstd: no binutils for it'
fi

# Stripped, with a debug file beside it, in .debug, or below the debug folder by build-id.
for place in . .debug by-id; do
	built "debug file, $place" gcc -g
	objcopy --only-keep-debug prog prog.debug
	strip prog
	case $place in
	by-id)
		id=$(readelf -n prog | sed -n 's/.*Build ID: //p')
		mkdir -p "prog.d/.build-id/${id:0:2}"
		mv prog.debug "prog.d/.build-id/${id:0:2}/${id:2}.debug"
		;;
	*)
		objcopy --add-gnu-debuglink=prog.debug prog
		mkdir -p "$place"
		[ "$place" = . ] || mv prog.debug "$place"
		;;
	esac
	record "debug file, $place" ./prog
	if [ "$place" = by-id ]; then
		# What is found there alone, so that it is the one that is used.
		mt-report folded --by count --debug-dir prog.d run.mt >folded.txt 2>/dev/null
		is "debug file, $place: calls" \
			"$(awk '/main;outer;inner;/ { n += $NF } END { print n + 0 }' folded.txt)" 99
	else
		lines "debug file, $place"
	fi
done

# Names only: a symbol table, or what distributions leave of it in a stripped file.
built 'a symbol table' gcc
record 'a symbol table' ./prog
names 'a symbol table'
built 'minidebuginfo' gcc
cp prog full
nm -D prog --format=posix --defined-only | awk '{ print $1 }' | sort >dynamic
nm prog --format=posix --defined-only | awk '$2 == "T" || $2 == "t" { print $1 }' | sort >functions
comm -13 dynamic functions >keep
objcopy -S --remove-section .comment --keep-symbols=keep full mini 2>/dev/null
strip prog
xz -f mini
objcopy --add-section .gnu_debugdata=mini.xz prog
is 'minidebuginfo: the program is stripped' "$(nm prog 2>/dev/null | wc -l)" 0
record 'minidebuginfo' ./prog
names 'minidebuginfo'
built 'stripped' gcc
strip prog
record 'stripped' ./prog
is 'stripped: path and offset' "$(folded count ';[^;]*/prog\+0x[0-9a-f]+;[^;]*/prog\+0x[0-9a-f]+;malloc ')" 99

# Another libc, linked to it, and into the program.
for how in '' -static; do
	# shellcheck disable=SC2086 # nothing, or an option
	built "musl $how" musl-gcc -g $how
	record "musl $how" ./prog
	mt-report folded --by count run.mt >folded.txt 2>/dev/null
	is "musl $how: calls" "$(awk '/main;outer;inner;/ { n += $NF } END { print n + 0 }' folded.txt)" 99
done

# Names are never cut, however long.
long=$(printf 'long_%.0s' $(seq 2000))
cat >long.cc <<CC
#include <cstdlib>
namespace $long {
template<typename T> struct holder {
	struct inside { T value; };
	__attribute__((noinline)) static void *hold(inside *) { void *p = malloc(sizeof(T)); asm volatile("" : "+r"(p)); return p; }
};
}
using first = $long::holder<int>;
using second = $long::holder<first>;
int main() { for (int i = 0; i < 41; i++) std::free($long::holder<second>::hold(nullptr)); return 0; }
CC
for flags in '' -g; do
	# shellcheck disable=SC2086 # nothing, or an option
	g++ $flags -O1 -fno-builtin -o prog long.cc
	record "long names $flags" ./prog
	mt-report folded --by count run.mt >folded.txt 2>/dev/null
	want="$long::holder<$long::holder<$long::holder<int> > >::hold($long::holder<$long::holder<$long::holder<int> > >::inside*)"
	is "long names $flags: whole" \
		"$(tr ';' '\n' <folded.txt | grep -cxF "$want")" 1
done

# Rust, as it mangled names and as it does now.
cat >work.rs <<'RS'
mod shop {
    pub trait Sell { fn sell(&self, n: usize) -> Vec<u8>; }
    pub struct Apple<T>(pub T);
    impl<T> Sell for Apple<T> {
        #[inline(never)]
        fn sell(&self, n: usize) -> Vec<u8> { Vec::with_capacity(n) }
    }
}
use shop::Sell;
fn main() {
    let mut total = 0;
    for i in 0..73 { total += shop::Apple(1u8).sell(1009 + i).capacity() - i; }
    println!("{}", total);
}
RS
# Which of the two is stable depends on the compiler's age.
export RUSTC_BOOTSTRAP=1
for version in legacy v0; do
	if ! /usr/bin/rustc -Z unstable-options -C symbol-mangling-version=$version -C opt-level=1 -g \
		-o prog work.rs 2>rustc.err; then
		not_ok "Rust, $version: compiled" "$(head -n 1 rustc.err)"
		continue
	fi
	record "Rust, $version" ./prog
	is "Rust, $version: output" "$(cat out.txt)" $((73 * 1009))
	mt-report folded --by count run.mt >folded.txt 2>/dev/null
	case $version in
	legacy) want=';<work::shop::Apple<T> as work::shop::Sell>::sell;' ;;
	v0) want=';<work::shop::Apple<u8> as work::shop::Sell>::sell;' ;;
	esac
	is "Rust, $version: calls" "$(grep -F "$want" folded.txt | awk '{ n += $NF } END { print n + 0 }')" 73
	mt-report top -n 0 run.mt >top.txt 2>/dev/null
	matches "Rust, $version: lines" top.txt 'Sell>::sell  .*work\.rs:6$'
	from_pack "Rust, $version"
done
