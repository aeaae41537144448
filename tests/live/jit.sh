#!/bin/bash
# Code compiled at run time: named from perf's map and from jitdump, here and from a pack.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# calls NAME REGEX WANT: allocations whose stack matches.
calls()
{
	is "$1" "$(folded count "$2")" "$3"
}

# The programs print their pid first.
pid()
{
	head -n 1 out.txt
}

# everywhere NAME: the pack says the same when the files that named the code are gone.
everywhere()
{
	mt-report folded --by count run.mt >here.txt 2>here.err
	mt-report top -n 0 --json run.mt >here.json 2>/dev/null
	mt-report pack -o run.mtp run.mt 2>/dev/null
	rm -f "/tmp/perf-$(pid).map" jit-*.dump
	mt-report folded --by count run.mtp >there.txt 2>there.err
	is "$1: the same from a pack" "$(cmp here.txt there.txt 2>&1)" ''
	is "$1: with the same messages" "$(cmp here.err there.err 2>&1)" ''
	mt-report top -n 0 --json run.mtp >there.json 2>/dev/null
	is "$1: the same lines from a pack" "$(cmp here.json there.json 2>&1)" ''
}

record 'none' "$WORKLOADS/compiles" none
calls 'none: frames through unknown code' ';repeat;//anon\+0x[0-9a-f]+;allocate;' 420
holds 'none: to the first frame' 's["stacks"]["complete"] == s["stacks"]["definitions"]'

record 'dump' "$WORKLOADS/compiles" dump
calls 'dump: what was there first' ';repeat;first;allocate;' 101
calls 'dump: what came to the same place' ';repeat;second;allocate;' 212
calls 'dump: a long name' ';repeat;third\(int, char const\*\) \[with T = int: N = 3\];allocate;' 107
# Each was compiled ten lines after the one before, its call is on its second line.
mt-report top -n 0 run.mt >top.txt 2>top.err
for want in 'first  /src/compiled.js:11' 'second  /src/compiled.js:21' 'third.*  /src/compiled.js:31'; do
	matches "dump: the line of ${want%% *}" top.txt "^ +$want\$"
done
mt-report stat run.mt >stat.txt 2>stat.err
is 'dump: is no module that is refused' "$(grep -c 'refused\|changed' stat.txt stat.err | tr '\n' ' ')" 'stat.txt:0 stat.err:0 '
everywhere dump

record 'map' "$WORKLOADS/compiles" map
calls 'map: what was there last' ';repeat;second;allocate;' 313
calls 'map: a long name' ';repeat;third\(int, char const\*\) \[with T = int: N = 3\];allocate;' 107
mt-report top run.mt >top.txt 2>top.err
matches 'map: shown as compiled' top.txt '  second  \[jit\]$'
everywhere map

record 'both' "$WORKLOADS/compiles" both
calls 'both: times count' ';repeat;first;allocate;' 101
everywhere both

# In a pid namespace of its own, where it is another number: its file is named by that.
record 'map in a namespace' unshare -p -f --mount-proc "$WORKLOADS/compiles" map
is 'map in a namespace: its own number' "$(pid)" 1
calls 'map in a namespace: what was there last' ';repeat;second;allocate;' 313
everywhere 'map in a namespace'
# With a root of its own its /tmp is another one too.
mkdir -p jail/tmp jail/proc
cp "$WORKLOADS/compiles" jail
for lib in $(ldd jail/compiles | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p'); do
	mkdir -p "jail${lib%/*}"
	cp -L "$lib" "jail$lib"
done
record 'map of another /tmp' unshare -p -f chroot jail /compiles map
calls 'map of another /tmp: not found here' ';repeat;second;allocate;' 0
is 'map of another /tmp: found below its root' "$(mt-report folded --by count --sysroot jail run.mt 2>/dev/null |
	awk '/;repeat;second;allocate;/ { n += $NF } END { print n + 0 }')" 313

# Files that somebody else may have put there.
record 'touched' "$WORKLOADS/compiles" map
map=/tmp/perf-$(pid).map
sleep 0.1
echo "0 ffffffffffffffff wrong" >>"$map"
mt-report folded run.mt >folded.txt 2>folded.err
is 'written to afterwards: status' $? 1
matches 'written to afterwards: refused' folded.err 'perf-[0-9]+\.map: refused: written to after the process had ended'
is 'written to afterwards: not used' "$(grep -c wrong folded.txt)" 0
everywhere 'written to afterwards'
record 'linked' "$WORKLOADS/compiles" map
map=/tmp/perf-$(pid).map
mv "$map" map
ln -s "$PWD/map" "$map"
mt-report folded run.mt >folded.txt 2>folded.err
matches 'a link: refused' folded.err 'perf-[0-9]+\.map: refused: a link'
rm -f "$map"
record 'writable' "$WORKLOADS/compiles" map
map=/tmp/perf-$(pid).map
chmod 666 "$map"
mt-report folded run.mt >folded.txt 2>folded.err
matches 'others may write: refused' folded.err 'perf-[0-9]+\.map: refused: others may write'
rm -f "$map"

# A real one.
cat >prog.js <<'JS'
function takesBuffers(n) { const a = []; for (let i = 0; i < n; i++) a.push(Buffer.alloc(20000 + i)); return a.length; }
function callsOften() { let n = 0; for (let i = 0; i < 200; i++) n += takesBuffers(50); return n; }
console.log(process.pid);
console.log(callsOften());
JS
# Many stacks at once, on a machine that may be busy.
RECORD_OPTIONS='--pressure-timeout inf' record node node --perf-basic-prof --interpreted-frames-native-stack prog.js
is 'node: its output' "$(tail -n 1 out.txt)" 10000
mt-report folded run.mt >folded.txt 2>folded.err
matches 'node: its functions' folded.txt 'callsOften[^;]*prog\.js[^;]*;.*takesBuffers[^;]*prog\.js[^;]*;.*Buffer'
share=$(folded bytes 'takesBuffers.*;')
is 'node: they have their memory' "$((share > 150000000))" 1
is 'node: no compiled code without a name among the heaviest' \
	"$(mt-report top -n 20 run.mt 2>/dev/null | grep -c '//anon+')" 0
everywhere node
