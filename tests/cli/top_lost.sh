# The figures of a file that lost something come after a warning.
mt-report top "$TESTDATA/golden/lost.mt"
