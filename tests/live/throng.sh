#!/bin/bash
# Many threads and processes at once, some only for a moment: each call is there once.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# Attached to with its threads and its children: what they allocate from then on is there.
"$WORKLOADS/throng" attached >out.txt 2>&1 &
target=$!
for i in 0 1 2 3; do
	until_true 60 test -e "ready.$i"
done
mt-record -v -o run.mt -p "$target" 2>err.txt &
recorder=$!
# The first thing that is written is written when all probes are there.
until_true 120 test -s run.mt
: >go
for i in 0 1 2 3; do
	until_true 120 test -e "done.$i"
done
kill -INT "$recorder"
code=0
wait "$recorder" || code=$?
is 'attached: status of the recorder' "$code" 0
: >end
wait "$target"
is 'attached: status of the target' $? 0
is 'attached: it is unharmed' "$(cat out.txt)" '0 bytes wrong'
matches 'attached: nobody was stopped' err.txt '; 0 stops,'
mt-report stat --json run.mt >stat.json 2>/dev/null
holds 'attached: nothing lost' 'sum(s["lost"].values()) == 0'
holds 'attached: processes and threads' '([s["processes"], s["threads"]], [4, 234])'
is 'attached: calls' "$(folded count ';throng_take(;| )')" $((230 * 7))
is 'attached: what is left' "$(folded live ';throng_take(;| )')" \
	$((4 * (200 * 1000 + 199 * 100) + 3 * 4 * (10 * 1000 + 45)))
is 'attached: nothing of later' "$(folded count ';later_take(;| )')" 0
holds 'attached: no block twice' '(s["conflicts"], 0)'

# A child by vfork() has its parent's memory.
RECORD_OPTIONS=-v record vfork "$WORKLOADS/throng" vfork
is 'vfork: calls' "$(folded count ';throng_take(;| )')" $((5 * 13))
is 'vfork: calls of the children' "$(folded count ';vfork_child;throng_take(;| )')" $((5 * 12))
is 'vfork: bytes' "$(folded bytes ';throng_take(;| )')" $((5 * 11 * 500 + 5 * 600 + 10 + 5 * 700))
is 'vfork: one block is left' "$(folded live ';throng_take(;| )')" 604
holds 'vfork: processes' '(s["processes"], 6)'
holds 'vfork: each free has its block' '((s["unmatched_frees"], s["inherited_frees"], s["conflicts"]), (0, 0, 0))'
matches 'vfork: nobody was stopped' err.txt '; 0 stops,'

# Children that live for 5 ms.
RECORD_OPTIONS=-v record brief "$WORKLOADS/throng" brief
is 'brief: calls' "$(folded count ';throng_take(;| )')" $((11 * 13))
holds 'brief: processes' '(s["processes"], 12)'
matches 'brief: nobody was stopped' err.txt '; 0 stops,'
