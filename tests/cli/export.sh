# The event stream, checked and printed by a reader of its own, beside what dump says.
for name in tree odd none; do
	mt-report export --to memtrack "$TESTDATA/golden/$name.mt" "$name" 2>/dev/null
	echo "$name: status $?"
	python3 "$TOP/tests/oracle/read_memtrack.py" "$name/100.MemtrackArtifact.msgpack" >"$name.json"
	sed 's/.*"type": "\([A-Za-z]*\)".*/\1/' "$name.json" | sort | uniq -c
done
grep -v '"Stack"' tree.json
mt-report dump --json "$TESTDATA/golden/tree.mt" 2>/dev/null |
	grep -cE '"type": ?"(malloc|calloc|realloc|aligned|free)"'
mt-report export --to memtrack "$TESTDATA/golden/tree.mt" no/such/folder 2>&1
echo "status $?"
mt-report export --to memtrack "$TESTDATA/golden/tree.mt" 2>&1
mt-report export "$TESTDATA/golden/tree.mt" there 2>&1
mt-report export --to perf "$TESTDATA/golden/tree.mt" there 2>&1
ls
