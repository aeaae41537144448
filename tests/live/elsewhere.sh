#!/bin/bash
# Record here, pack, report where there is nothing but mt-report and its own libraries: the same.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# Of the file itself: what the pack adds to it.
without_size()
{
	grep -vE '"(usable_bytes|bytes|frames)": [0-9]+,$' "$1"
}

# elsewhere NAME COMMAND...: of run.mt here and of run.mtp there.
elsewhere()
{
	local name=$1 here=0 there=0 command=$2

	shift 2
	(cd files && mt-report "$command" "$@" run) >here.out 2>here.err || here=$?
	cp packed/run root/run
	chroot root /bin/mt-report "$command" "$@" run >there.out 2>there.err || there=$?
	is "$name: $command $*: status" "$there" "$here"
	is "$name: $command $*: the same output" "$(diff <(without_size here.out) <(without_size there.out) 2>&1)" ''
	is "$name: $command $*: the same messages" "$(cmp here.err there.err 2>&1)" ''
}

# everywhere NAME: of run.mt, in every form.
everywhere()
{
	local name=$1

	rm -rf files packed root/run*
	mkdir files packed
	cp run.mt files/run
	mt-report pack -o packed/run run.mt 2>pack.err
	is "$name: the pack is an artifact" "$(zstd -tq packed/run 2>&1)" ''
	mt-report check packed/run >check.txt 2>&1
	matches "$name: and whole" check.txt ': whole; '
	elsewhere "$name" top -n 0
	elsewhere "$name" top -n 0 --by peak --json
	elsewhere "$name" stat --json
	elsewhere "$name" folded --by count
	elsewhere "$name" dump
	elsewhere "$name" symbolize -o out
	is "$name: the same profile folder" "$(diff -r files/out root/out 2>&1)" ''
	mt-report pack -o again packed/run 2>/dev/null
	is "$name: a pack of a pack is the same" "$(cmp again packed/run 2>&1)" ''
	rm -rf root/out again
}

make_root
record python3 /usr/bin/python3 -c 'import json, re; re.findall("a+", json.dumps(["a"] * 1000))'
everywhere python3
matches 'python3: functions are named there' there.out 'PyObject|_Py|Py_'
record 'C++' "$WORKLOADS/cpp_nofp"
everywhere 'C++'
mt-report top -n 0 packed/run >top.txt 2>/dev/null
matches 'C++: lines from the pack' top.txt 'cpp_nofp\.cc:[0-9]+'

# What was packed is used though another file is there now.
cp "$WORKLOADS/malloc_10007" prog
record malloc ./prog
mt-report folded run.mt >here.txt
mt-report pack run.mt 2>pack.err
is 'the name of the pack' "$(test -s run.mtp && echo there)" there
mt-report pack --with-binaries -o whole.mtp run.mt 2>/dev/null
cp /bin/true prog
mt-report folded run.mtp >there.txt
is 'replaced after it was packed: the same' "$(cmp here.txt there.txt 2>&1)" ''
mt-report folded whole.mtp >there.txt
is 'with binaries: the same' "$(cmp here.txt there.txt 2>&1)" ''
is 'with binaries: larger' "$(($(stat -c %s whole.mtp) > $(stat -c %s run.mtp)))" 1

# A file that was refused when the pack was made is refused with the same words.
mt-report folded run.mt >here.txt 2>here.err
mt-report pack -o refused.mtp run.mt 2>/dev/null
is 'packed without one: status' $? 1
mt-report folded refused.mtp >there.txt 2>there.err
is 'packed without one: the same' "$(cmp here.txt there.txt 2>&1)" ''
is 'packed without one: the same messages' "$(cmp here.err there.err 2>&1)" ''
# It is taken from elsewhere when it is there.
mkdir -p "sys$PWD"
cp "$WORKLOADS/malloc_10007" "sys$PWD/prog"
mt-report folded --sysroot sys refused.mtp 2>/dev/null | grep -q ';prog+0x'
is 'packed without one, found below a sysroot: named' $? 1

# Split debug information: in .dwo files, and in a package.
cat >split.c <<'C'
#include <stdlib.h>
static inline __attribute__((always_inline)) void *inner(size_t n) { return malloc(n); }
__attribute__((noinline)) void *outer(size_t n) { void *p = inner(n); __asm__ volatile("" : "+r"(p)); return p; }
int main(void) { for (int i = 0; i < 99; i++) free(outer(1000 + i)); return 0; }
C
gcc -gdwarf-5 -gsplit-dwarf -O1 -fno-builtin split.c -o split
record split ./split
mt-report top -n 0 run.mt >here.txt 2>here.err
matches 'split: an inlined call' here.txt 'inner  .*split\.c:2  \(inlined\)'
mt-report pack -o run.mtp run.mt 2>/dev/null
rm -f ./*.dwo
mt-report top -n 0 run.mtp >there.txt 2>there.err
is 'split: the same from a pack without the .dwo files' "$(cmp here.txt there.txt 2>&1)" ''
mt-report pack -o again.mtp run.mtp 2>/dev/null
is 'split: a pack of a pack is the same' "$(cmp again.mtp run.mtp 2>&1)" ''
mt-report top -n 0 run.mt >there.txt 2>there.err
is 'split: without them no inlined call' "$(grep -c '(inlined)' there.txt)" 0
gcc -gdwarf-5 -gsplit-dwarf -O1 -fno-builtin split.c -o split
record 'split package' ./split
llvm-dwp -e split -o split.dwp
rm -f ./*.dwo
mt-report top -n 0 run.mt >there.txt 2>there.err
matches 'split package: an inlined call' there.txt 'inner  .*split\.c:2  \(inlined\)'
mt-report pack -o run.mtp run.mt 2>/dev/null
rm split.dwp
mt-report top -n 0 run.mtp >there2.txt 2>there.err
is 'split package: the same from a pack' "$(cmp there.txt there2.txt 2>&1)" ''
