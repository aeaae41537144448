mt-report dump "$TESTDATA/golden/regions.mt"
mt-report dump --json "$TESTDATA/golden/regions.mt"
