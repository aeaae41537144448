#!/bin/bash
# What was mapped must be what is opened: else refused by name and reason, frames stay
# path+0xoffset, and the rest of the report is there.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

fresh()
{
	rm -rf run.mt* prog
	cp "$WORKLOADS/malloc_10007" prog
	mt-record -q -o run.mt -- ./prog >out.txt 2>err.txt
}

fresh
mt-report symbolize run.mt >report.txt 2>report.err
is 'unchanged: status' $? 0
matches 'unchanged: functions are named' report.txt 'path_gamma'
matches 'unchanged: file and line' report.txt 'malloc_10007\.c:[0-9]+'
is 'unchanged: the profile folder' "$(test -s run.mt.profile/memtrack.metadata && echo there)" there
holds 'metadata: version' '(s["version"], 1)' run.mt.profile/memtrack.metadata
holds 'metadata: paths' \
	"[p for p in s['path_key_to_path'].values() if p == '$PWD/prog'] != []" run.mt.profile/memtrack.metadata
holds 'metadata: every module that is placed has its files' \
	'all(__import__("os").path.getsize(f"run.mt.profile/{k}.unwind_data") > 0 for k in s["path_key_to_path"] if "vdso" not in k)' \
	run.mt.profile/memtrack.metadata
matches 'symbols: the program'\''s functions' "$(find run.mt.profile -name '*__prog.symbols.map')" \
	'^[0-9a-f]+ [0-9a-f]+ path_alpha$'
is 'symbols: as the file has them' \
	"$(grep -E ' (path_alpha|path_beta|path_gamma|main)$' "$(find run.mt.profile -name '*__prog.symbols.map')" |
		awk '{ print $1, $3 }')" \
	"$(nm prog | grep -E ' (path_alpha|path_beta|path_gamma|main)$' | sed 's/^0*//' | awk '{ print $1, $3 }' | sort)"

# gone_or_changed NAME REASON-REGEX
gone_or_changed()
{
	local code=0

	rm -rf run.mt.profile
	mt-report symbolize run.mt >report.txt 2>report.err || code=$?
	is "$1: status" "$code" 1
	matches "$1: refused by name" report.err "prog.*($2)"
	matches "$1: frames keep path and offset" report.txt 'prog\+0x[0-9a-f]+'
	matches "$1: other modules are named" report.txt 'libc|__libc_start'
	mt-report folded --by count run.mt >folded.txt 2>/dev/null
	matches "$1: folded too" folded.txt 'prog\+0x[0-9a-f]+'
	is "$1: counts are untouched" \
		"$(awk '/[\/;]prog\+0x/ { n += $NF } END { print n }' folded.txt)" 10007
	mt-report stat --json run.mt >stat.json 2>/dev/null
	is "$1: status of stat" $? 1
	holds "$1: stat names it" "[m['status'] for m in s['modules'] if m['path'].endswith('/prog')] != ['ok']"
}

rm prog
gone_or_changed 'deleted' 'gone|No such file'
fresh
cp prog other
mv other prog
gone_or_changed 'replaced by an equal copy' 'changed|not the one|inode'
fresh
mv prog kept
cp /bin/true prog
gone_or_changed 'replaced by another program' 'changed|not the one|inode'
fresh
rm prog
mkdir prog
gone_or_changed 'replaced by a folder' 'changed|not|gone'

# Written over in place: the same inode, another program.
fresh
ino=$(stat -c %i prog)
sleep 0.1
cp /bin/true prog
is 'overwritten in place: the inode is kept' "$(stat -c %i prog)" "$ino"
gone_or_changed 'overwritten in place' 'changed.: (no build-id|build-id [0-9a-f]+) here'
# Dated back: its change time tells nothing by itself, see CAVEATS of the manual.
fresh
sleep 0.1
chmod 700 prog
touch -d '2020-01-01' prog
mt-report folded --by count run.mt >folded.txt 2>report.err
is 'other permissions: status' $? 0
matches 'other permissions: functions are named' folded.txt 'path_gamma'
# Dated forward before it was mapped: nothing was written since.
rm -rf run.mt* prog
cp "$WORKLOADS/malloc_10007" prog
touch -d '2100-01-01' prog
mt-record -q -o run.mt -- ./prog >out.txt 2>err.txt
mt-report folded --by count run.mt >folded.txt 2>report.err
is 'dated in the future: status' $? 0
matches 'dated in the future: functions are named' folded.txt 'path_gamma'
# Written and mapped in one recording.
rm -rf run.mt* prog
mt-record -q -o run.mt -- sh -c "cp '$WORKLOADS/malloc_10007' prog && ./prog" >out.txt 2>err.txt
mt-report folded --by count run.mt >folded.txt 2>report.err
is 'written in the same recording: status' $? 0
matches 'written in the same recording: functions are named' folded.txt 'path_gamma'
# A library without a build-id, mapped by a program that stays as it is.
rm -rf run.mt* prog d
mkdir d
echo 'void *malloc(unsigned long); void *alpha(void) { void *p = malloc(24); return p ? p : 0; }' >alpha.c
echo 'void *malloc(unsigned long); void *beta(void) { return malloc(9); }
void *alpha(void) { void *p = beta(); return p ? p : 0; }' >other.c
echo 'void *alpha(void); int main(void) { return !alpha(); }' >main.c
cc -g -shared -fPIC -Wl,--build-id=none -o d/libl.so alpha.c
cc -g -shared -fPIC -Wl,--build-id=none -o other.so other.c
cc -g -o prog main.c d/libl.so -Wl,-rpath,"$PWD/d"
mt-record -q -o run.mt -- ./prog >out.txt 2>err.txt
mt-report folded run.mt >folded.txt 2>report.err
matches 'library: named' folded.txt 'alpha'
sleep 0.1
cp other.so d/libl.so
mt-report folded run.mt >folded.txt 2>report.err
is 'library overwritten in place: status' $? 1
matches 'library overwritten in place: refused' report.err \
	'/d/libl\.so: refused \(changed\): written to since it was recorded'
matches 'library overwritten in place: path and offset' folded.txt 'd/libl\.so\+0x[0-9a-f]+'
is 'library overwritten in place: no wrong name' "$(grep -cE 'alpha|beta' folded.txt)" 0

# Deleted while it ran.
rm -rf prog run.mt*
cp "$WORKLOADS/malloc_10007" prog
mt-record -q -o run.mt -- sh -c './prog; rm prog' >out.txt 2>err.txt
gone_or_changed 'deleted during the run' 'gone|No such file'


# The build-id proves a copy, when asked to look elsewhere: here, in the same place.
fresh
mt-report folded run.mt >here.txt 2>here.err
is 'before it was copied: status' $? 0
cp prog other
mv other prog
mt-report folded --sysroot / run.mt >there.txt 2>there.err
is 'an equal copy below the sysroot: status' $? 0
is 'an equal copy below the sysroot: the same' "$(cmp here.txt there.txt 2>&1)" ''
cp /bin/true prog
mt-report folded --sysroot / run.mt >/dev/null 2>there.err
is 'another program below the sysroot: status' $? 1
matches 'another program below the sysroot: what would fit' there.err \
	"prog: refused \(changed\): build-id [0-9a-f]+ here; build-id $(
		readelf -n "$WORKLOADS/malloc_10007" | sed -n 's/.*Build ID: //p') would fit"
# Written over: the inode stays.
fresh
cat /bin/true >prog
gone_or_changed 'written over in place' 'build-id [0-9a-f]+ here'
