# The folder for a recording whose files are gone: still there, and the report.
cp "$TESTDATA/golden/tree.mt" run.mt
mt-report symbolize run.mt >report.txt
echo "status $?"
mt-report top run.mt 2>/dev/null | cmp - report.txt
ls run.mt.profile
mt-report symbolize --no-report -o other run.mt 2>/dev/null
echo "status $?"
diff -r run.mt.profile other
mt-report symbolize --no-report -o no/such/folder run.mt 2>&1
echo "status $?"
mkdir taken
echo mine >taken/file
mt-report symbolize --no-report -o taken run.mt 2>&1
echo "status $?"
cat taken/file
mt-report symbolize --no-report -o named --integration 'memtrack,1.2,3' run.mt 2>/dev/null
echo "status $?"
grep -o '"integration":[^]]*]' named/memtrack.metadata
mt-report symbolize --integration memtrack run.mt 2>&1
echo "status $?"
