#!/bin/bash
# However new code is noticed, the recording is the same.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

for i in a b c d; do
	cp "$WORKLOADS/librawcode.so" "$i.so"
done

# facts: what of stat.json does not depend on time, addresses or the way of watching.
facts()
{
	/usr/bin/python3 - <<-'PY'
		import json
		s = json.load(open("stat.json"))
		for k in ("events", "allocations", "allocated_bytes", "frees", "live_blocks", "live_bytes",
		          "peak_blocks", "peak_bytes", "processes", "threads", "unmatched_frees", "lost"):
		    print(k, s[k])
		print("complete", s["stacks"]["complete"] == s["stacks"]["definitions"])
		print(sorted((m["path"], m["status"]) for m in s["modules"]))
	PY
}

# watch_by HOW: record with it, keep what is to be compared in HOW.txt.
watch_by()
{
	RECORD_OPTIONS="-v --watch $1" record "$1: every way to map" "$WORKLOADS/rawcode" \
		mmap a.so mprotect b.so fixed c.so span d.so mmap a.so mprotect a.so span c.so
	holds "$1: account" '({k: s[k] for k in want}, dict(want))'
	holds "$1: the header says so" "(s['watch'], '$1')"
	matches "$1: -v says so" err.txt "watch $1,"
	matches "$1: one stop for each new file" err.txt '; 4 stops,'
	{
		facts
		mt-report folded --by count run.mt
	} >"$1.txt" 2>&1

	RECORD_OPTIONS="--watch $1" record "$1: children, threads, dlopen" sh -c "
		$WORKLOADS/forkexec >/dev/null; $WORKLOADS/dlopen $WORKLOADS/libplug.so >/dev/null; ls /"
	{
		facts
		mt-report folded --by bytes run.mt
	} >>"$1.txt" 2>&1
}

watch_by tracepoint
if mt-record -q --watch fentry -o run.mt -- true 2>err.txt; then
	watch_by fentry
	is 'both give the same' "$(diff tracepoint.txt fentry.txt 2>&1)" ''
	mt-record -v -o run.mt -- true 2>err.txt
	matches 'auto takes fentry' err.txt 'watch fentry,'
else
	is 'fentry refused: status' $? 125
	one_line 'fentry refused: one line' err.txt
	matches 'fentry refused: says what to do' err.txt '^mt-record: --watch fentry .*--watch auto'
	mt-record -q -o run.mt -- true 2>err.txt
	is 'auto: status' $? 0
	is 'auto: falls back silently' "$(cat err.txt)" ''
	mt-record -v -o run.mt -- true 2>err.txt
	matches 'auto takes tracepoints' err.txt 'watch tracepoint,'
fi

# A deleted file's inode number goes to the next one: still another file.
# shellcheck disable=SC2016
record 'an inode number used again' sh -c 'for i in 1 2 3; do
		cp "$0/libplug.so" again.so
		ls -i again.so >>inodes
		"$0/rawcode" mmap again.so 2>/dev/null
		rm again.so
		cp "$0/librawcode.so" again.so
		ls -i again.so >>inodes
		"$0/rawcode" mmap again.so
		rm again.so
	done' "$WORKLOADS"
echo "note $(sort -u inodes | wc -l) inode numbers for $(wc -l <inodes) files"
is 'an inode number used again: calls' "$(folded count ';use;[^;]*[ ;]')" $((3 * 499))
