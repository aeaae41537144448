#!/bin/bash
# What was worked out of modules is used again: reports stay the same, whatever is in the cache.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

C=$PWD/cache
report()
{
	mt-report "$@" 2>&1
	echo "status $?"
}

# same NAME OPTION...: with the cache as it is now, what was reported without one.
same()
{
	local name=$1

	shift
	report top -n 0 "$@" run.mt >got.txt
	is "$name: the same report" "$(cmp want.txt got.txt 2>&1)" ''
}

# told NAME PATTERN: what -v says of the cache.
told()
{
	mt-report stat -v --cache-dir "$C" run.mt >/dev/null 2>told.txt
	matches "$1" told.txt "$2"
}

reports()
{
	record "$1" "${@:2}"
	rm -rf "$C"
	report top -n 0 --no-cache run.mt >want.txt
	is "$1: no cache is made without one" "$(test -e "$C" || echo none)" none
	same "$1: cold" --cache-dir "$C"
	same "$1: warm" --cache-dir "$C"
	told "$1: all was found" ': [1-9][0-9]* used, 0 written, 0 out of date, 0 ignored'
	report folded --no-cache run.mt >here.txt
	report folded --cache-dir "$C" run.mt >there.txt
	is "$1: folded too" "$(cmp here.txt there.txt 2>&1)" ''
	report symbolize --no-cache -n 0 -o out run.mt >here.txt
	mv out cold
	report symbolize --cache-dir "$C" -n 0 -o out run.mt >there.txt
	is "$1: symbolize too" "$(cmp here.txt there.txt 2>&1; diff -r cold out 2>&1)" ''
	mt-report pack --no-cache -o cold.mtp run.mt 2>/dev/null
	mt-report pack --cache-dir "$C" -o warm.mtp run.mt 2>/dev/null
	is "$1: and packs" "$(cmp cold.mtp warm.mtp 2>&1)" ''
	rm -rf cold out ./*.mtp
}

reports python3 /usr/bin/python3 -c 'import json, re; re.findall("a+", json.dumps(["a"] * 1000))'
cp "$WORKLOADS/cpp_nofp" prog
sleep 0.1
reports 'C++' ./prog
matches 'C++: lines' want.txt 'cpp_nofp\.cc:[0-9]+'

# Entries that are not what they were.
for f in "$C"/*; do printf 'X' | dd of="$f" bs=1 seek=20 conv=notrunc status=none; done
same 'tampered' --cache-dir "$C"
told 'tampered: written anew' ': [1-9][0-9]* used, 0 written, 0 out of date, 0 ignored'
for f in "$C"/*; do truncate -s -1 "$f"; done
same 'cut' --cache-dir "$C"
for f in "$C"/*; do : >"$f"; done
same 'empty' --cache-dir "$C"
for f in "$C"/*.cfi; do cp "$f" "${f%.cfi}.names"; done
same 'of another kind' --cache-dir "$C"
chmod 666 "$C"/*
mt-report stat -v --cache-dir "$C" run.mt >/dev/null 2>told.txt
matches 'others can write to the entries: ignored' told.txt ' [1-9][0-9]* ignored as damaged or open'
same 'others could write to the entries' --cache-dir "$C"
chmod 777 "$C"
mt-report stat --cache-dir "$C" run.mt >/dev/null 2>told.txt
matches 'others can write to the folder: said' told.txt 'no cache is used: .*: others can write to it'
mt-report top -n 0 --cache-dir "$C" run.mt 2>/dev/null >got.txt
is 'others can write to the folder: the same report' \
	"$(cmp <(grep -v '^mt-report\|^status' want.txt) got.txt 2>&1)" ''
chmod 700 "$C"
if [ "$(id -u)" = 0 ]; then
	chown 1 "$C"/*
	mt-report stat -v --cache-dir "$C" run.mt >/dev/null 2>told.txt
	matches 'entries of another user: ignored' told.txt ' [1-9][0-9]* ignored'
	rm -rf home
	mkdir home
	chown 1 home
	(unset XDG_CACHE_HOME; HOME=$PWD/home report top -n 0 run.mt) >got.txt
	is "HOME of another user, as by sudo: the same report" "$(cmp want.txt got.txt 2>&1)" ''
	is "HOME of another user, as by sudo: nothing in it" "$(ls -A home)" ''
fi

# Nowhere to write to.
(unset XDG_CACHE_HOME; HOME=/nowhere report top -n 0 run.mt) >got.txt
is 'no HOME: the same report' "$(cmp want.txt got.txt 2>&1)" ''
(unset XDG_CACHE_HOME HOME; report top -n 0 run.mt) >got.txt
is 'HOME not set: the same report' "$(cmp want.txt got.txt 2>&1)" ''
if [ "$(id -u)" = 0 ] && mkdir -p ro && mount -t tmpfs -o ro none ro 2>/dev/null; then
	(unset XDG_CACHE_HOME; HOME=$PWD/ro report top -n 0 run.mt) >got.txt
	is 'HOME is read-only: the same report' "$(cmp want.txt got.txt 2>&1)" ''
	umount ro
fi

# Several at once, from nothing.
for round in 1 2 3; do
	rm -rf "$C"
	for i in 1 2 3 4; do
		report top -n 0 --cache-dir "$C" run.mt >at_once.$i &
	done
	wait
	for i in 1 2 3 4; do
		is "at once, $round.$i: the same report" "$(cmp want.txt at_once.$i 2>&1)" ''
	done
	is "at once, $round: nothing half written is left" "$(find "$C" -name '.*.??????')" ''
done
told 'at once: and all is there' ' 0 written, 0 out of date, 0 ignored'

# The file is another one with the same build-id and size, in place: its names are what it has now.
cat >a.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) void *first(void) { void *p = malloc(10); __asm__ volatile("" : "+r"(p)); return p; }
int main(void) { for (int i = 0; i < 9; i++) free(first()); return 0; }
C
gcc -O1 -g -fno-builtin -Wl,--build-id=0x1234567812345678 a.c -o liar
sed 's/first/other/' a.c >b.c
gcc -O1 -g -fno-builtin -Wl,--build-id=0x1234567812345678 b.c -o liar2
sleep 0.1
record liar ./liar
mt-report folded --cache-dir "$C" run.mt >first.txt 2>/dev/null
cat liar2 >liar
sleep 0.1
record 'liar again' ./liar
mt-report folded --cache-dir "$C" run.mt >second.txt 2>/dev/null
matches 'a build-id that lies: before' first.txt ';first'
matches 'a build-id that lies: after' second.txt ';other'
