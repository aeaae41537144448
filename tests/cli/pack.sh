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
# It holds stack memory: nobody else's business. A link is followed; a pipe or device stays one.
stat -c '%a %n' run.mtp
mt-report pack -o - run.mt 2>piped.err | cmp - run.mtp
cat piped.err
: >target
ln -s target link
mt-report pack -o link run.mt 2>/dev/null
cmp target run.mtp && readlink link
mkfifo pipe
cmp pipe run.mtp &
mt-report pack -o pipe run.mt 2>/dev/null
wait $! && test -p pipe && echo 'through a pipe'
mt-report pack -o /dev/full run.mt 2>&1
echo "status $?"
# Folders that are not there are no folders without what fits.
for option in sysroot debug-dir profile; do
	mt-report stat --$option no/such/folder run.mt 2>&1
	echo "status $?"
	mt-report stat --$option run.mt run.mt 2>&1
	echo "status $?"
done
