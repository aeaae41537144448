mt-report dump --json "$TESTDATA/golden/odd.mt"
mt-report dump "$TESTDATA/golden/odd.mt"
