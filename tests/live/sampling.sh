#!/bin/bash
# Sampled recordings: estimates are what an exact recording has, within what chance allows; frees
# of blocks that were passed over are no events; what finds no room is lost and said.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

all_folded()
{
	local by

	for by in bytes count live; do
		mt-report folded --by "$by" run.mt 2>folded.err | sed "s/^/$by /"
	done
}

record exact "$WORKLOADS/sampled"
holds 'exact: not sampled' '(s["sampled"], s["sampling"]) == (False, None)'
holds 'exact: the format stays' '(s["format_version"], 1)'
exact_events=$(/usr/bin/python3 -c 'import json; print(json.load(open("stat.json"))["events"])')
exact_peak=$(/usr/bin/python3 -c 'import json; print(json.load(open("stat.json"))["peak_bytes"])')
all_folded >exact.folded

# Distances far above all small sizes and below all large ones, and above all sizes.
for n in 8192 2097152; do
	files=
	for turn in 1 2 3 4 5 6; do
		RECORD_OPTIONS="--sample-bytes $n"
		record "N=$n, $turn" "$WORKLOADS/sampled" >log.txt
		grep '^not ok' log.txt || ok "N=$n, $turn: recorded"
		all_folded >"$n.$turn.folded"
		files="$files $n.$turn.folded"
		holds "N=$n, $turn: is said" "(s['sampled'], s['sampling']['bytes']) == (True, $n)"
		holds "N=$n, $turn: every free had its block" \
			'(s["unmatched_frees"], s["conflicts"], s["inherited_frees"]) == (0, 0, 0)'
		holds "N=$n, $turn: few events" "s['events'] * 3 < $exact_events"
		holds "N=$n, $turn: the peak" \
			"abs(s['peak_bytes'] / $exact_peak - 1) < 5 * ($n / $exact_peak) ** .5"
	done
	# shellcheck disable=SC2086 # a list
	if /usr/bin/python3 "$LIVE/sampling.py" "$n" $files >sampling.txt; then
		ok "N=$n: estimates"
	else
		not_ok "N=$n: estimates"
	fi
	cat sampling.txt
done
is 'folded says so' "$(cat folded.err)" \
	'mt-report: the recording is sampled: all numbers are estimates'
mt-report stat run.mt >stat.txt 2>/dev/null
matches 'stat says so' stat.txt '^Sampled +one allocation in 2.0 MiB: [0-9,]+ allocations recorded'
mt-report top run.mt >top.txt 2>/dev/null
matches 'top says so' top.txt '^Allocated +about '

# Every block is taken: what is the same as without sampling must be.
RECORD_OPTIONS='--sample-bytes 1'
record all "$WORKLOADS/malloc_10007"
account all allocations allocated_bytes frees live_blocks live_bytes peak_blocks peak_bytes
holds 'all: events' '(s["events"], s["sampling"]["allocations"] + s["frees"])'
RECORD_OPTIONS='--sample-bytes 1 --attach perf'
record 'all, perf' "$WORKLOADS/malloc_10007"
account 'all, perf' allocations allocated_bytes frees live_blocks live_bytes

# A size that the call does not say counts as well: of 4096 bytes 98 % are taken, of none 1 in 1024.
cat >pool.c <<'PY'
#include <stdlib.h>
__attribute__((noinline)) void *pool_get(void) { return malloc(4096); }
int main(void) { for (int i = 0; i < 4000; i++) free(pool_get()); return 0; }
PY
cc -O1 -o pool pool.c
RECORD_OPTIONS='--sample-bytes 1024 --allocator pool_get=malloc(#4096)'
record 'fixed size' ./pool
holds 'fixed size: counts' '3800 < s["sampling"]["allocations"] < 4000'
holds 'fixed size: estimate' 'abs(s["allocations"] - 4000) < 100'

# What is allocated while recording is disabled is not there, nor is its free.
# shellcheck disable=SC2016 # for the shell that is recorded
RECORD_OPTIONS='--sample-bytes 1 --control fifo:ctl,ack --start-disabled'
record paused bash -c "exec 3>ctl 4<ack; '$WORKLOADS/malloc_10007' >/dev/null; echo enable >&3
	read -r answer <&4; exec '$WORKLOADS/malloc_10007'"
# The shell's own between its line and its exec are there, too.
holds 'paused: what came later' 'want["allocations"] <= s["allocations"] < want["allocations"] + 1000'
holds 'paused: no frees of what is not known' '(s["unmatched_frees"], s["disabled_frees"]) == (0, 0)'

# Blocks of processes that are gone make room. Of 10 million blocks of 16 bytes one is not taken.
RECORD_OPTIONS='--sample-bytes 1 --stack-size 0 --ring-size 256M'
record 'leaks of many processes' "$WORKLOADS/sampled" leak 300000 6
holds 'leaks of many processes: they are there' 's["live_blocks"] >= 1799950'
# More than can be remembered: lost and counted.
mt-record --sample-bytes 1 --stack-size 0 --ring-size 256M -o run.mt -- \
	"$WORKLOADS/sampled" leak 1100000 1 >out.txt 2>err.txt
is 'no room: status' "$?" 125
mt-report stat --json run.mt >stat.json 2>/dev/null
holds 'no room: as loss' '[l["cause"] for l in s["losses"]] == ["map_full"]'
holds 'no room: every block is recorded or lost' \
	's["live_blocks"] + s["lost"]["events"] >= 1099950'
