# Names that could break lines or drive a terminal.
mt-report top "$TESTDATA/golden/odd.mt"
