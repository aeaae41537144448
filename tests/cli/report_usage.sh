# Wrong command lines: one line each that says what was meant; status 64.
for args in '' 'stta run.mt' 'run.mt' 'frobnicate' 'top' 'top a b' 'top --josn a' \
	'top --by size a' 'top -n x a' 'folded --json a' 'stat --json=1 a' 'symbolize -o' \
	'symbolize -' '--json' 'dump -json a'; do
	echo "mt-report $args" >&2
	# shellcheck disable=SC2086 # words
	mt-report $args || echo "status $?" >&2
done
