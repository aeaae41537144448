mt-report folded "$TESTDATA/golden/lost.mt"
