mt-report top --json "$TESTDATA/golden/lost.mt"
