#!/bin/bash
# Code whose file is not where its name says: in a memfd, in anonymous memory, in the kernel.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

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

# A memfd has no file to look at: it is named, and what is in it stays path+0xoffset.
record 'memfd' ./remap memfd ./libcall.so call
mt-report folded --by count run.mt >folded.txt 2>folded.err
is 'memfd: status' $? 1
matches 'memfd: refused by name' folded.err '/memfd:plug \(deleted\): refused \(gone\)'
is 'memfd: counted' "$(folded count ';/memfd:plug \(deleted\)\+0x[0-9a-f]+;')" 401
matches 'memfd: told as incomplete' folded.err 'stacks are incomplete: .*no unwind information \(memfd:plug'
is 'memfd: the rest is named' "$(folded count '^_start;.*;main;repeat;allocate;')" 301
# Its build-id was noted: a copy of the library proves itself.
mkdir sys
cp --parents "$PWD/remap" sys
for lib in $(ldd ./remap | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p'); do
	mkdir -p "sys${lib%/*}" "sys$(dirname "$(readlink -f "$lib")")"
	cp -L "$lib" "sys$(readlink -f "$lib")"
done
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
