# Every command says the same one line, prints nothing else, and exits with 2.
: >empty.mt
echo 'not an artifact' >text.mt
echo 'not an artifact' | zstd -q -c >foreign.mt
head -c 100 "$TESTDATA/golden/tree.mt" >header.mt
cp "$TESTDATA/golden/newer.mt" newer.mt
for f in empty text foreign header newer missing; do
	for command in stat top folded dump check symbolize; do
		mt-report $command $f.mt
		echo "$command status $?"
	done
done 2>&1
ls
