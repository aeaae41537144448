mt-report stat "$TESTDATA/golden/tree.mt"
