# Loss is told at the top, on standard error, and by the exit status.
mt-report stat "$TESTDATA/golden/lost.mt"
