# Whole, not finished, cut, damaged; and what is no artifact.
cp "$TESTDATA/golden/tree.mt" whole.mt
cp "$TESTDATA/golden/killed.mt" killed.mt
head -c 1500 whole.mt >cut.mt
cp whole.mt damaged.mt
printf X | dd of=damaged.mt bs=1 seek=1200 conv=notrunc 2>/dev/null
: >empty.mt
echo 'not an artifact' >text.mt
echo 'not an artifact' | zstd -q -c >foreign.mt
head -c 100 whole.mt >header.mt
cp "$TESTDATA/golden/newer.mt" newer.mt
mkdir folder.mt
for f in whole killed cut damaged empty text foreign header newer folder missing; do
	mt-report check $f.mt 2>&1
	echo "status $?"
done
