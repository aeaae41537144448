# However many threads work on it: the same report, byte for byte.
for file in "$TESTDATA"/golden/*; do
	cp "$file" run.mt
	for n in 1 2 5; do
		mkdir "$n"
		for command in top stat folded dump check; do
			mt-report "$command" --threads "$n" run.mt >"$n/$command.out" 2>"$n/$command.err"
			echo "$?" >"$n/$command.code"
		done
		mt-report symbolize --threads "$n" -o folder run.mt >"$n/symbolize.out" 2>"$n/symbolize.err"
		mt-report export --threads "$n" --to memtrack run.mt stream 2>"$n/export.err"
		mt-report pack --threads "$n" -o pack run.mt 2>"$n/pack.err"
		mv folder stream pack "$n" 2>/dev/null
	done
	diff -r 1 2 && diff -r 1 5 && echo "${file##*/}: the same"
	rm -rf 1 2 5
done
mt-report top --threads 0 run.mt
echo "status $?"
mt-report stat --threads 65 run.mt
