# Each weight, cut to one row.
for by in count peak live; do
	mt-report top -n 1 --by "$by" "$TESTDATA/golden/tree.mt" 2>/dev/null |
		sed -n '/^Call stacks/,/^Processes/p'
done
