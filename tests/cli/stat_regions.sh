# The heap's totals, and those of mapped memory beside them.
mt-report stat "$TESTDATA/golden/regions.mt"
