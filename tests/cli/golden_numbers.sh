# What the comments of tests/golden/make_artifacts.c work out by hand.
number()
{
	# shellcheck disable=SC2086 # options and a file; a list of keys
	(cd "$TESTDATA/golden" && mt-report stat --json $1 2>/dev/null) | /usr/bin/python3 -c '
import json, sys
s = json.load(sys.stdin)
for key in sys.argv[1:]:
    value = s
    for part in key.split("."):
        value = value[part]
    print(key, value)' $2
}

number tree.mt 'processes threads events allocations allocated_bytes frees temporary peak_bytes
	peak_blocks live_bytes live_blocks discarded_bytes discarded_blocks inherited_frees
	unmatched_frees conflicts stacks.definitions stacks.distinct stacks.complete
	stacks.truncated stacks.no_cfi stacks.allocations.complete
	stacks.allocations.truncated stacks.allocations.no_cfi' >got
cat >want <<'END'
processes 3
threads 4
events 19
allocations 11
allocated_bytes 3122
frees 8
temporary 3
peak_bytes 1856
peak_blocks 4
live_bytes 1800
live_blocks 3
discarded_bytes 300
discarded_blocks 1
inherited_frees 2
unmatched_frees 1
conflicts 0
stacks.definitions 6
stacks.distinct 4
stacks.complete 4
stacks.truncated 1
stacks.no_cfi 1
stacks.allocations.complete 8
stacks.allocations.truncated 2
stacks.allocations.no_cfi 1
END
diff want got
number lost.mt 'allocations allocated_bytes lost.events lost.stacks lost.mappings conflicts
	stacks.allocations.no_stack stacks.allocations.lost' >got
cat >want <<'END'
allocations 4
allocated_bytes 150
lost.events 5
lost.stacks 2
lost.mappings 1
conflicts 1
stacks.allocations.no_stack 1
stacks.allocations.lost 1
END
diff want got
number odd.mt 'allocations allocated_bytes frees temporary live_bytes live_blocks peak_bytes
	peak_blocks' >got
cat >want <<'END'
allocations 4
allocated_bytes 79
frees 2
temporary 2
live_bytes 7
live_blocks 2
peak_bytes 48
peak_blocks 2
END
diff want got
number sampled.mt 'sampled sampling.bytes sampling.allocations events allocations allocated_bytes
	frees unmatched_frees temporary live_bytes live_blocks peak_bytes peak_blocks' >got
cat >want <<'END'
sampled True
sampling.bytes 1000
sampling.allocations 4
events 6
allocations 1014
allocated_bytes 102633
frees 11
unmatched_frees 1
temporary 0
live_bytes 100000
live_blocks 1002
peak_bytes 101051
peak_blocks 1012
END
diff want got
number marks.mt 'events allocations allocated_bytes frees unmatched_frees disabled_frees
	disabled_time live_bytes live_blocks peak_bytes peak_blocks conflicts' >got
cat >want <<'END'
events 8
allocations 4
allocated_bytes 1500
frees 3
unmatched_frees 1
disabled_frees 1
disabled_time 2000000
live_bytes 1200
live_blocks 2
peak_bytes 1200
peak_blocks 2
conflicts 0
END
diff want got
number '--between load run marks.mt' 'allocations allocated_bytes frees unmatched_frees
	disabled_frees disabled_time live_bytes live_blocks' >got
cat >want <<'END'
allocations 1
allocated_bytes 200
frees 1
unmatched_frees 1
disabled_frees 0
disabled_time 0
live_bytes 200
live_blocks 1
END
diff want got
number '--between run run marks.mt' 'allocations allocated_bytes frees unmatched_frees
	disabled_frees disabled_time live_bytes live_blocks' >got
cat >want <<'END'
allocations 1
allocated_bytes 400
frees 1
unmatched_frees 1
disabled_frees 2
disabled_time 2000000
live_bytes 400
live_blocks 1
END
diff want got
number killed.mt 'allocations allocated_bytes' >got
cat >want <<'END'
allocations 3
allocated_bytes 3000
END
diff want got
number regions.mt 'allocations allocated_bytes frees mapped.allocations mapped.allocated_bytes
	mapped.frees mapped.unmatched_frees mapped.inherited_frees mapped.peak_bytes
	mapped.peak_blocks mapped.live_bytes mapped.live_blocks mapped.discarded_bytes
	mapped.discarded_blocks' >got
cat >want <<'END'
allocations 1
allocated_bytes 100
frees 0
mapped.allocations 11
mapped.allocated_bytes 151552
mapped.frees 4
mapped.unmatched_frees 1
mapped.inherited_frees 1
mapped.peak_bytes 86016
mapped.peak_blocks 7
mapped.live_bytes 77824
mapped.live_blocks 8
mapped.discarded_bytes 12288
mapped.discarded_blocks 1
END
diff want got
