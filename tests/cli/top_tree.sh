mt-report top "$TESTDATA/golden/tree.mt"
