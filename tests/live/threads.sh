#!/bin/bash
# However many threads work on a recording: the same report, byte for byte.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# reports NAME COMMAND...
reports()
{
	local n command

	record "$1" "${@:2}"
	for n in 1 2 7; do
		mkdir "$n"
		for command in 'top -n 0' 'top --by live -n 0' 'stat' 'folded' 'dump'; do
			# shellcheck disable=SC2086 # a command and its options
			mt-report $command --no-cache --threads "$n" run.mt >>"$n/out" 2>>"$n/err"
		done
		mt-report symbolize --no-cache --threads "$n" -o folder run.mt >>"$n/out" 2>>"$n/err"
		mt-report export --threads "$n" --to memtrack run.mt stream 2>>"$n/err"
		mt-report pack --no-cache --threads "$n" -o pack run.mt 2>>"$n/err"
		mv folder stream pack "$n"
	done
	is "$1: two threads" "$(diff -r 1 2 2>&1)" ''
	is "$1: seven threads" "$(diff -r 1 7 2>&1)" ''
	matches "$1: there is something to compare" 1/out '^ *#?1'
	rm -rf 1 2 7
}

reports python3 /usr/bin/python3 -c 'import json, re; re.findall("a+", json.dumps(["a"] * 20000))'
reports 'C++' "$WORKLOADS/cpp_nofp"
reports 'a tree' sh -c '/usr/bin/python3 -c "import json" & ls -R /usr/share/doc >/dev/null; wait'
