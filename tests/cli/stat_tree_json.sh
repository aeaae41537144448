mt-report stat --json "$TESTDATA/golden/tree.mt"
