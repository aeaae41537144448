# What tests/golden/make_artifacts.c writes today is what is in testdata/golden. Decompressed: zstd
# may compress in other ways one day.
mkdir made
make-artifacts made || echo "status $?"
for file in made/*; do
	zstd -dcq "$file" >is
	zstd -dcq "$TESTDATA/golden/${file#made/}" >was
	cmp is was && echo "${file#made/}"
done
