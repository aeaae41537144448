# A pack of a recording whose files are gone: the same report, the same refusals.
cp "$TESTDATA/golden/tree.mt" run.mt
mt-report pack run.mt 2>&1
echo "status $?"
ls
mt-report check run.mtp
zstd -tq run.mtp && echo 'zstd is content'
for command in top stat folded dump; do
	mt-report "$command" run.mt >here.out 2>here.err
	mt-report "$command" run.mtp >there.out 2>there.err
	cmp here.out there.out && cmp here.err there.err && echo "$command: the same"
done
mt-report pack -o again run.mtp 2>/dev/null
cmp run.mtp again
# Cut, and not finished: what there is of it.
head -c 1500 run.mt >cut.mt
mt-report pack cut.mt 2>&1
mt-report stat cut.mt 2>/dev/null | grep Allocated
mt-report stat cut.mtp 2>/dev/null | grep Allocated
mt-report pack -o no/such/folder run.mt 2>&1
echo "status $?"
mt-report pack - <run.mt 2>&1
echo "status $?"
mt-report pack -o from-stdin - <run.mt 2>/dev/null
cmp from-stdin run.mtp
mkdir folder
mt-report pack -o folder run.mt 2>&1
ls -A folder
ls -A
