#!/bin/bash
# Files on overlays, whose device and inode are not those of what is mapped.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

if [ -z "${OVERLAY_MOUNTS-}" ]; then
	if unshare -m true 2>/dev/null; then
		trap - EXIT
		OVERLAY_MOUNTS=1 exec unshare -m bash "$0"
	fi
	skip overlay 'no mount namespaces here'
	exit
fi

mkdir layers
mount -t tmpfs none layers
mkdir layers/lower layers/one layers/two layers/up-one layers/up-two layers/work-one layers/work-two
cp "$WORKLOADS/librawcode.so" "$WORKLOADS/malloc_10007" layers/lower
for i in one two; do
	if ! mount -t overlay -o "lowerdir=layers/lower,upperdir=layers/up-$i,workdir=layers/work-$i" \
		none "layers/$i" 2>mount.err; then
		skip overlay "$(head -n 1 mount.err)"
		exit
	fi
done

for how in fentry tracepoint; do
	if ! mt-record -q --watch "$how" -o run.mt -- true 2>/dev/null; then
		continue
	fi
	RECORD_OPTIONS="-v --watch $how" record "$how: one file through two overlays" "$WORKLOADS/rawcode" \
		mmap layers/one/librawcode.so mmap layers/two/librawcode.so mprotect layers/one/librawcode.so \
		span layers/lower/librawcode.so
	holds "$how: account" '({k: s[k] for k in want}, dict(want))'
	matches "$how: is attached to once" err.txt '; 1 stops,'
	holds "$how: the file is recognised by every path" \
		'([m["status"] for m in s["modules"] if m["path"].endswith("/librawcode.so")], ["verified"] * 3)'
done

record 'a program on an overlay' layers/one/malloc_10007
holds 'a program on an overlay: account' '({k: s[k] for k in want}, dict(want))'
is 'a program on an overlay: names' "$(folded count ';main;path_(alpha|beta|gamma);')" 10007
holds 'a program on an overlay: verified' \
	'([m["status"] for m in s["modules"] if m["path"].endswith("/malloc_10007")], ["verified"])'

# Written to, the overlay's file keeps its inode and is another file below.
# shellcheck disable=SC2016
record 'a file copied up' sh -c '"$0" mmap "$1"; chmod u+x,g-x "$1"; "$0" mmap "$1"; "$0" mprotect "$1"' \
	"$WORKLOADS/rawcode" layers/one/librawcode.so
is 'a file copied up: calls' "$(folded count ';use;[^;]*[ ;]')" $((3 * 499))
