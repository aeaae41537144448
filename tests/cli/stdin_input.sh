mt-report folded --by count - <"$TESTDATA/golden/tree.mt" 2>/dev/null
# shellcheck disable=SC2002 # a pipe is the point
cat "$TESTDATA/golden/tree.mt" | mt-report check -
