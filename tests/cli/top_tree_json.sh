mt-report top --json -n 2 --by peak "$TESTDATA/golden/tree.mt"
