mt-report dump --json "$TESTDATA/golden/tree.mt"
