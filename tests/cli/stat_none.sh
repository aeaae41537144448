mt-report stat "$TESTDATA/golden/none.mt"
