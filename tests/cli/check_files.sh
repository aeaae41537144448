# Whole, not finished, cut, damaged; the seek table damaged, or cut off; and what is no artifact.
cp "$TESTDATA/golden/tree.mt" whole.mt
cp "$TESTDATA/golden/killed.mt" killed.mt
head -c 1500 whole.mt >cut.mt
cp whole.mt damaged.mt
printf X | dd of=damaged.mt bs=1 seek=1200 conv=notrunc 2>/dev/null
cp whole.mt index.mt
size=$(wc -c <whole.mt)
printf '\377' | dd of=index.mt bs=1 seek=$((size - 30)) conv=notrunc 2>/dev/null
cp whole.mt magic.mt
printf '\377' | dd of=magic.mt bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
# 8 bytes of head, 8 for each of the 14 frames, 9 of footer.
head -c $((size - 8 - 14 * 8 - 9)) whole.mt >unindexed.mt
: >empty.mt
echo 'not an artifact' >text.mt
echo 'not an artifact' | zstd -q -c >foreign.mt
head -c 100 whole.mt >header.mt
cp "$TESTDATA/golden/newer.mt" newer.mt
mkdir folder.mt
for f in whole killed cut damaged index magic unindexed empty text foreign header newer folder missing; do
	mt-report check $f.mt 2>&1
	echo "status $?"
done
