# Its first frame alone, which is what the recorder had written before its first checkpoint.
head -c 310 "$TESTDATA/golden/killed.mt" | mt-report top -
