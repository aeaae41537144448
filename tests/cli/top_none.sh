mt-report top "$TESTDATA/golden/none.mt"
