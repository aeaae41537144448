#!/bin/bash
# Every stack is named in the address space of its own moment, and every place of every file is
# in the profile folder, with its time.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

cp "$WORKLOADS"/{placements,libplug.so,libother.so} .

# placed NAME PLACEMENTS WAY...: what the program says of its mappings is in the folder.
placed()
{
	local name=$1 n=$2

	shift 2
	record "$name" "$@"
	holds "$name: to the first frame" 's["stacks"]["complete"] == s["stacks"]["definitions"]'
	rm -rf run.mt.profile
	mt-report symbolize --no-report run.mt >/dev/null 2>report.err
	is "$name: every placement is listed" \
		"$(/usr/bin/python3 -I "$LIVE/placements.py" out.txt run.mt.profile 2>&1)" "$n placements"
	is "$name: every stack is in a mapping" "$(folded count 'no mapping|//anon')" 0
}

# calls NAME PLUG OTHER [WAY]: by whom use() had them made.
calls()
{
	is "$1: calls to the one" "$(folded count ";${4-[a-z_]*};use;plug_take;")" "$2"
	is "$1: calls to the other" "$(folded count ";${4-[a-z_]*};use;other_take;")" "$3"
}

args=("$PWD/libplug.so" "$PWD/libother.so")
placed again 3 "$PWD/placements" again "${args[@]}"
calls again $((101 + 103 + 107)) 0 by_again
placed swap 6 "$PWD/placements" swap "${args[@]}"
calls swap $((101 + 103 + 105)) $((102 + 104 + 106)) by_swap
placed fork 5 "$PWD/placements" fork "${args[@]}"
calls fork $((101 + 103)) 107 by_fork
calls 'fork, child' 109 $((113 + 137)) child
calls 'fork, grandchild' 0 131 grandchild
placed 'shared memory' 4 "$PWD/placements" vfork "${args[@]}"
calls 'shared memory' 101 107 by_vfork
calls 'shared memory, child' 109 113 borrow
placed exec 8 "$PWD/placements" exec "${args[@]}" 3
calls exec $((100 + 101 + 102 + 103)) 0 by_exec
# The same addresses each time: only the times tell them apart.
placed 'exec at the same place' 8 setarch -R "$PWD/placements" exec "${args[@]}" 3
calls 'exec at the same place' $((100 + 101 + 102 + 103)) 0 by_exec
is 'exec at the same place: it was' "$(grep '/placements"' out.txt |
	sed 's/.*"start": \([0-9]*\).*/\1/' | sort -u | wc -l)" 1
