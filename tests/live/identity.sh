#!/bin/bash
# Code whose file is not where its name says: in a memfd, in anonymous memory, in the kernel.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# make_sys PROGRAM: a folder sys with a copy of it and of its libraries.
make_sys()
{
	local lib

	rm -rf sys
	mkdir sys
	cp --parents "$PWD/$1" sys
	for lib in $(ldd "./$1" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p'); do
		mkdir -p "sys${lib%/*}" "sys$(dirname "$(readlink -f "$lib")")"
		cp -L "$lib" "sys$(readlink -f "$lib")"
	done
}

cp "$WORKLOADS/remap" "$WORKLOADS/libplug.so" .
cat >call.c <<'C'
#include <stdlib.h>
void call(void) { for (int i = 0; i < 401; i++) { void *volatile p = malloc(77); free(p); } }
C
gcc -g -O1 -fno-builtin -shared -fPIC -Wl,--build-id call.c -o libcall.so

# Text that was moved onto anonymous memory in its place is still what the file says.
record 'text moved' ./remap anonymous
is 'text moved: named before and after' "$(folded count '^_start;.*;main;repeat;allocate;')" 903
holds 'text moved: to the first frame' 's["stacks"]["complete"] == s["stacks"]["definitions"]'

# So is text that anonymous memory replaced in one step.
record 'text copied' ./remap copied ./libcall.so call
is 'text copied: named before and after' "$(folded count '^_start;.*;main;run_copied;repeat;call;')" 1203
is 'text copied: the program is named' "$(folded count '^_start;.*;main;run_copied;repeat;allocate;')" 301
holds 'text copied: to the first frame' 's["stacks"]["complete"] == s["stacks"]["definitions"]'
holds 'text copied: said' '[m["path"][-11:] for m in s["modules"] if m.get("copied")] == ["/libcall.so"]'
mt-report stat run.mt >stat.txt
matches 'text copied: said to people' stat.txt '/libcall\.so .*its code was copied to anonymous memory'

# Memory that is made executable later could be anything: it is told as what it is, and not by the
# names of what was there before.
record 'text replaced' ./remap later ./libcall.so call
mt-report folded --by count run.mt >folded.txt 2>folded.err
is 'text replaced: status' $? 1
is 'text replaced: named before' "$(folded count '^_start;.*;main;run_copied;repeat;call;')" 401
is 'text replaced: told as what it is after' \
	"$(folded count '^\[no unwind info: anon\];//anon\+0x[0-9a-f]+;malloc ')" 802
matches 'text replaced: told as incomplete' folded.err 'stacks are incomplete: .*no unwind information \(anon\)'
# A real program that moves its text onto huge pages, if it finds some.
record 'node on large pages' /usr/bin/node --use-largepages=on -e \
	'const a = []; for (let i = 0; i < 3000; i++) a.push(Buffer.alloc(20000)); console.log(a.length)'
is 'node on large pages: output' "$(cat out.txt)" 3000
holds 'node on large pages: 99 % of the stacks are complete' \
	's["stacks"]["complete"] * 100 >= 99 * (s["stacks"]["definitions"] - s["stacks"]["truncated"])'
is 'node on large pages: named' "$(folded count '^_start;.*;node::Start\(int, char\*\*\);' |
	awk '{ print ($1 > 3000) }')" 1

# An upgrade in the middle of a recording: each process keeps what it mapped.
cat >old.c <<'C'
#include <stdlib.h>
static void *in_old(void) { void *p = malloc(24); return p ? p : 0; }
void *work(void) { void *p = in_old(); return p ? p : 0; }
C
cat >new.c <<'C'
#include <stdlib.h>
void *work(void) { void *p = malloc(24); return p ? p : 0; }
static void *in_new(void) { void *p = malloc(25); return p ? p : 0; }
void *more(void) { return in_new(); }
C
echo 'void *work(void); int main(void) { for (int i = 0; i < 317; i++) work(); return 0; }' >main.c
for v in old new; do
	gcc -g -O1 -fno-builtin -fno-optimize-sibling-calls -fno-inline -shared -fPIC -o $v.so $v.c
done
cp old.so libwork.so
gcc -g -o prog main.c ./libwork.so -Wl,-rpath,"$PWD"
old=$(readelf -n old.so | sed -n 's/.*Build ID: //p')
new=$(readelf -n new.so | sed -n 's/.*Build ID: //p')
record 'upgraded by another file' sh -c './prog; cp new.so next.so; mv next.so libwork.so; ./prog'
mt-report folded --by count run.mt >folded.txt 2>folded.err
is 'upgraded by another file: status' $? 1
matches 'upgraded by another file: the old one is refused' folded.err \
	"libwork\.so: refused \(changed\): inode [0-9]+, recorded [0-9]+; build-id $old would fit"
is 'upgraded by another file: the new one is named' "$(folded count ';main;work;malloc ')" 317
is 'upgraded by another file: the old one is not' "$(folded count ';[^;]*/libwork\.so\+0x[0-9a-f]+;malloc ')" 317
is 'upgraded by another file: no wrong name' "$(grep -c 'in_old\|in_new\|more' folded.txt)" 0
make_sys prog
cp old.so "sys$PWD/libwork.so"
mt-report folded --by count --sysroot sys run.mt >folded.txt 2>folded.err
is 'upgraded by another file: the old one from a copy' \
	"$(awk '/;work;in_old;malloc / { n += $NF } END { print n + 0 }' folded.txt)" 317
cp old.so libwork.so
record 'upgraded in place' sh -c './prog; sleep 0.1; cat new.so >libwork.so; ./prog'
mt-report folded --by count run.mt >folded.txt 2>folded.err
is 'upgraded in place: status' $? 1
matches 'upgraded in place: refused' folded.err \
	"libwork\.so: refused \(changed\): build-id $new here; build-id $old would fit"
is 'upgraded in place: the old one is not named by it' \
	"$(folded count ';[^;]*/libwork\.so\+0x[0-9a-f]+;malloc ')" 317
is 'upgraded in place: the new one is' "$(folded count ';main;work;malloc ')" 317
is 'upgraded in place: no wrong name' "$(grep -c 'in_old\|in_new\|more' folded.txt)" 0
mt-report pack -o run.mtp run.mt 2>/dev/null
mt-report folded --by count run.mtp >packed.txt 2>packed.err
is 'upgraded in place: the same from a pack' "$(cmp folded.txt packed.txt 2>&1; cmp folded.err packed.err 2>&1)" ''
# With the old one at hand the new one is refused in turn, and put back it proves nothing more.
cp old.so "sys$PWD/libwork.so"
mt-report folded --by count --sysroot sys run.mt >folded.txt 2>folded.err
matches 'upgraded in place: the new one is refused' folded.err \
	"libwork\.so: refused \(changed\): build-id $old here; build-id $new would fit"
is 'upgraded in place: the old one from a copy' \
	"$(awk '/;work;in_old;malloc / { n += $NF } END { print n + 0 }' folded.txt)" 317
is 'upgraded in place: nothing else is named by the copy' "$(grep -c 'in_new\|more' folded.txt)" 0
cat old.so >libwork.so
mt-report folded --by count run.mt >folded.txt 2>folded.err
is 'upgraded in place, and put back' "$(folded count ';work;in_old;malloc ')" 317
matches 'upgraded in place, and put back: the new one is refused' folded.err \
	"libwork\.so: refused \(changed\): build-id $old here; build-id $new would fit"

# Deleted while it is mapped, by a process whose child maps another of the name.
cp "$WORKLOADS/births" births
record 'deleted while it runs' sh -c "./births wait & sleep 0.3; rm births; : >go; wait \$!"
mt-report folded --by count run.mt >folded.txt 2>folded.err
is 'deleted while it runs: status' $? 1
matches 'deleted while it runs: refused by name' folded.err '/births: refused \(gone\): no such file'
is 'deleted while it runs: counted' "$(folded count '/births\+0x[0-9a-f]+;malloc ')" 241

# A memfd has no file to look at: it is named, and what is in it stays path+0xoffset.
record 'memfd' ./remap memfd ./libcall.so call
mt-report folded --by count run.mt >folded.txt 2>folded.err
is 'memfd: status' $? 1
matches 'memfd: refused by name' folded.err '/memfd:plug \(deleted\): refused \(gone\)'
is 'memfd: counted' "$(folded count ';/memfd:plug \(deleted\)\+0x[0-9a-f]+;')" 401
matches 'memfd: told as incomplete' folded.err 'stacks are incomplete: .*no unwind information \(memfd:plug'
is 'memfd: the rest is named' "$(folded count '^_start;.*;main;repeat;allocate;')" 301
# Its build-id was noted: a copy of the library proves itself.
make_sys remap
cp libcall.so sys/memfd:plug
mt-report folded --by count --sysroot sys run.mt >folded.txt 2>folded.err
is 'memfd: from a copy' "$(awk '/;main;call;/ { n += $NF } END { print n + 0 }' folded.txt)" 401
# Another library of that name is refused, and what would fit is told.
id=$(readelf -n libcall.so | sed -n 's/.*Build ID: //p')
cp libplug.so sys/memfd:plug
mt-report folded --by count --sysroot sys run.mt >folded.txt 2>folded.err
matches 'memfd: another one of its name' folded.err "memfd:plug.*refused \(changed\): .*build-id $id would fit"
is 'memfd: not named by it' "$(grep -c 'plug_take' folded.txt)" 0

# The kernel's own.
mt-report stat --json run.mt >stat.json 2>/dev/null
holds 'vdso: verified' '[m["status"] for m in s["modules"] if m["path"] == "[vdso]"] == ["verified"]'
