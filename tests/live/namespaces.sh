#!/bin/bash
# Pid, mount and user namespaces, chroots, numbers that are used again, programs of other users.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

execd='(^|;)main;execd;takes;take(;| )'

# files_verified NAME: of every mapping, also where it has another path than here.
files_verified()
{
	holds "$1: every file is verified" \
		'{m["status"] for m in s["modules"] if m["path"].startswith("/")} == {"verified"}'
}

# A set-user-ID program: the kernel ends the caller's perf events, so mappings come another way.
cp "$WORKLOADS/births" suid
chown root suid
chmod 4755 suid
cp "$WORKLOADS/births" unreadable
chmod 711 unreadable
for program in suid unreadable; do
	record "$program" setpriv --reuid=65534 --regid=65534 --clear-groups "./$program" execd 239
	is "$program: calls" "$(folded count "$execd")" 239
	files_verified "$program"
	is "$program: every stack ends in a file" "$(folded count 'no mapping')" 0
	# Whom it starts, whom they start, and what they open later.
	record "$program, children" setpriv --reuid=65534 --regid=65534 --clear-groups \
		"./$program" brief "$WORKLOADS/libplug.so"
	is "$program, children: calls" "$(folded count ';brief_child;plug_take(;| )')" 221
	is "$program, children: every stack ends in a file" "$(folded count 'no mapping')" 0
	record "$program, spawn" setpriv --reuid=65534 --regid=65534 --clear-groups "./$program" spawn
	is "$program, spawn: calls" "$(folded count "$execd")" 227
done
# More of them than there are descriptors for: those of the dead are given back.
# shellcheck disable=SC2016
(ulimit -n 128 && RECORD_OPTIONS='' record 'suid, many' setpriv --reuid=65534 --regid=65534 \
	--clear-groups sh -c 'i=0; while [ $i -lt 151 ]; do ./suid execd 3; i=$((i + 1)); done'
mt-report folded --by count run.mt >folded.txt 2>/dev/null
is 'suid, many: calls' "$(folded count "$execd")" 453)

# The recorder in a pid namespace, alone and with the command in one more.
in_pidns()
{
	unshare -p -f --mount-proc --kill-child "$@"
}
for inner in '' 'unshare -p -f --mount-proc'; do
	name="recorder in a namespace${inner:+, command in one more}"
	# shellcheck disable=SC2086 # a list
	in_pidns mt-record -q -o run.mt -- $inner "$WORKLOADS/forkexec" >out.txt 2>err.txt
	is "$name: status" $? 0
	mt-report stat --json run.mt >stat.json 2>/dev/null
	holds "$name: nothing lost" 'sum(s["lost"].values()) == 0'
	holds "$name: processes" "(s['processes'], $([ -n "$inner" ] && echo 8 || echo 7))"
	is "$name: calls" "$(folded count ';(parent|child|execd)_take(;| )')" 400
	in_pidns mt-record -q -o run.mt -- "$WORKLOADS/births" thread-exec >out.txt 2>err.txt
	mt-report stat --json run.mt >stat.json 2>/dev/null
	is "$name, thread-exec: calls" "$(folded count "$execd")" 233
	holds "$name, thread-exec: threads" '(s["threads"], 3)'
done
# Others of the machine have the same numbers, and call the same malloc.
(while [ ! -e stop-others ]; do "$WORKLOADS/births" execd 1000; done) &
in_pidns mt-record -q -o run.mt -- "$WORKLOADS/births" spawn >out.txt 2>err.txt
: >stop-others
wait $!
mt-report stat --json run.mt >stat.json 2>/dev/null
holds 'others of the machine are left out' "(s['allocations'], 227)"
# Attached to by the number it has there.
# shellcheck disable=SC2016
in_pidns sh -c '"$0/births" wait &
	mt-record -v -o run.mt -p $! 2>err.txt & recorder=$!
	for i in $(seq 1200); do grep -q "functions probed" err.txt && break; sleep 0.05; done
	: >go; wait $recorder' "$WORKLOADS"
is 'attached in a namespace: status' $? 0
is 'attached in a namespace: calls' "$(folded count ';wait_for_file;takes;take(;| )')" 241
unshare -p -f mt-record -q -o run.mt -- true >out.txt 2>err.txt
is 'no /proc of the namespace: status' $? 125
one_line 'no /proc of the namespace: one line' err.txt
matches 'no /proc of the namespace: says what to do' err.txt '^mt-record: /proc .*mount -t proc'

# A user namespace for the command; the recorder in one is refused.
if unshare -Ur true 2>/dev/null; then
	record 'a user namespace' unshare -Ur "$WORKLOADS/births" execd 241
	is 'a user namespace: calls' "$(folded count "$execd")" 241
	unshare -Ur mt-record -q -o other.mt -- true >out.txt 2>err.txt
	is 'recorder in a user namespace: status' $? 125
	one_line 'recorder in a user namespace: one line' err.txt
else
	skip 'user namespaces' 'none here'
fi

# Numbers used again. Since Linux 6.14 a namespace has its own highest number.
# shellcheck disable=SC2016
reuse='echo 301 >/proc/sys/kernel/pid_max; cd "$1"; mt-record -q -o run.mt -- sh -c "i=0
	while [ \$i -lt 500 ]; do
		$0/births execd 3; $0/malloc_10007 >/dev/null & wait \$!; i=\$((i + 50)); j=0
		while [ \$j -lt 50 ]; do $0/births execd 5; j=\$((j + 1)); done
	done"'
pid_max=$(cat /proc/sys/kernel/pid_max)
if in_pidns sh -c 'echo 301 >/proc/sys/kernel/pid_max' 2>/dev/null &&
	[ "$(cat /proc/sys/kernel/pid_max)" = "$pid_max" ]; then
	in_pidns sh -c "$reuse" "$WORKLOADS" "$PWD" 2>err.txt
	is 'numbers used again: status' $? 0
	mt-report stat --json run.mt >stat.json 2>/dev/null
	holds 'numbers used again: nothing lost' 'sum(s["lost"].values()) == 0'
	holds 'numbers used again: processes' '(s["processes"], 521)'
	is 'numbers used again: calls of one program' "$(folded count "$execd")" $((10 * 3 + 500 * 5))
	is 'numbers used again: calls of another' "$(folded count ';main;path_(alpha|beta|gamma);')" 100070
	is 'numbers used again: no program is mistaken' "$(folded count 'no mapping')" 0
else
	echo "$pid_max" >/proc/sys/kernel/pid_max
	echo 'note numbers used again: no highest number of a namespace here'
fi

# A chroot with a libc of its own: other inodes, paths that are others here.
mkdir -p jail/lib64 jail/bin
# The program interpreter stands alone in its line, libraries behind an arrow.
ldd "$WORKLOADS/births" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' |
	while read -r file; do
		mkdir -p "jail/${file%/*}"
		cp -L "$file" "jail/$file"
	done
cp "$WORKLOADS/births" jail/bin
mkdir jail/proc
mount --bind /proc jail/proc 2>/dev/null
record 'a chroot' chroot jail /bin/births spawn
umount jail/proc 2>/dev/null
is 'a chroot: calls' "$(folded count "$execd")" 227
files_verified 'a chroot'
holds 'a chroot: its libc is another allocator' \
	'(len([a for a in s["allocators"] if a["path"].endswith("/libc.so.6")]), 2)'
