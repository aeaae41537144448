# A report that cannot be written is no report.
for command in top stat folded dump check --help; do
	mt-report $command "$TESTDATA/golden/none.mt" >/dev/full
	echo "$command status $?"
done 2>&1
mt-report dump "$TESTDATA/golden/tree.mt" >/dev/full 2>err
echo "dump status $?"
cat err
