# Sums of each weight are the totals of stat.
for by in bytes count peak live; do
	echo "--- $by"
	mt-report folded --by "$by" "$TESTDATA/golden/tree.mt" 2>/dev/null
	mt-report folded --by "$by" "$TESTDATA/golden/tree.mt" 2>/dev/null |
		awk '{ sum += $NF } END { print "sum", sum }'
done
