mt-report stat --json "$TESTDATA/golden/lost.mt"
