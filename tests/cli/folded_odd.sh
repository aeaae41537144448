mt-report folded --by count "$TESTDATA/golden/odd.mt"
