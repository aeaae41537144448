# In the order of stamps, not of the file.
mt-report dump "$TESTDATA/golden/tree.mt"
