for by in bytes count peak live; do
	echo "$by"
	mt-report folded --events mmap --by "$by" "$TESTDATA/golden/regions.mt" || true
done
mt-report top --events mmap --json "$TESTDATA/golden/regions.mt" |
	/usr/bin/python3 -c 'import json, sys; s = json.load(sys.stdin); print(s["events"], s["totals"])'
