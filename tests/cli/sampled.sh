# A sampled recording: figures are estimates, and every command that prints some says so.
sampled=$TESTDATA/golden/sampled.mt
mt-report stat "$sampled"
mt-report stat --json "$sampled" | grep -A 40 '"marks"'
mt-report top "$sampled"
mt-report top --json "$sampled" | grep -A 40 '"between"'
mt-report folded --by count "$sampled"
mt-report folded --events mmap "$sampled"
mt-report dump "$sampled"
(cd "$TESTDATA/golden" && mt-report check sampled.mt)
mt-report export --to memtrack "$sampled" events
