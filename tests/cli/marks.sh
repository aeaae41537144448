# A recording with marks: all of it, and what lies between two.
marks=$TESTDATA/golden/marks.mt
mt-report dump "$marks"
mt-report dump --json --between run run "$marks"
mt-report stat "$marks"
mt-report stat --json "$marks"
mt-report top --between load run "$marks"
mt-report top --json --between load run "$marks" | grep -A 18 '"between"'
mt-report folded --by live --between run run "$marks"
for by in count peak; do
	mt-report folded --by "$by" --between=run#1 "$(printf 'caf\351 au\033lait')" "$marks"
done
fail()
{
	mt-report "$@"
	echo "status $?"
}
fail top --between load nowhere "$marks"
fail dump --between run load "$marks"
fail stat --between run#3 load "$marks"
fail stat --between run "$marks"
fail stat --between run
fail stat --between run -- "$marks"
fail folded --between a b "$TESTDATA/golden/tree.mt"
