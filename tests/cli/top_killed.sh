# No end: what was written before the last checkpoint counts.
mt-report top "$TESTDATA/golden/killed.mt"
