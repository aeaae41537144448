# The loss is told, and the profile is written; a report on it begins with the warning.
cp "$TESTDATA/golden/lost.mt" run.mt
mt-report symbolize run.mt >report.txt
echo "status $?"
sed -n 1,6p report.txt
ls run.mt.profile
