#!/bin/bash
# Sourced by the live tests.

set -u
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"
trap 'tally_end' EXIT

# is NAME GOT WANT
is()
{
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "got '$2', want '$3'"
	fi
}

# matches NAME FILE EXTENDED-REGEX: some line of the file matches.
matches()
{
	if grep -qE -e "$3" "$2"; then
		ok "$1"
	else
		sed 's/^/    /' "$2" | head -n 20
		not_ok "$1" "no line matches '$3'"
	fi
}

# one_line NAME FILE: an error is said in one line.
one_line()
{
	if [ "$(wc -l <"$2")" = 1 ]; then
		ok "$1"
	else
		sed 's/^/    /' "$2" | head -n 20
		not_ok "$1" "$(wc -l <"$2") lines"
	fi
}

# holds NAME PYTHON-EXPRESSION [FILE.json]: true of "s", what FILE.json (stat.json) holds.
holds()
{
	local said

	if said=$(/usr/bin/python3 "$LIVE/holds.py" "${3-stat.json}" "$2" 2>&1); then
		ok "$1"
	else
		not_ok "$1" "$said"
	fi
}

# record NAME COMMAND...: run.mt and its stat.json, the command's output in out.txt. Both
# programs must be content: everything captured, everything readable.
record()
{
	local name=$1 code=0

	shift
	rm -rf run.mt run.mt.profile
	# shellcheck disable=SC2086 # RECORD_OPTIONS is a list
	mt-record ${RECORD_OPTIONS-} -o run.mt -- "$@" >out.txt 2>err.txt || code=$?
	if [ "$code" != "${WANT_CODE-0}" ]; then
		tail -n 5 err.txt | sed 's/^/    /'
		not_ok "$name: recorded" "exit status $code"
	else
		ok "$name: recorded"
	fi
	code=0
	mt-report stat --json run.mt >stat.json 2>stat.err || code=$?
	if [ "$code" -gt 1 ] || [ ! -s stat.json ]; then
		sed 's/^/    /' stat.err
		not_ok "$name: stat" "exit status $code"
	fi
	holds "$name: nothing lost" 'sum(s["lost"].values()) == 0'
}

# until_true SECONDS COMMAND...: run it until it succeeds, so long at most.
until_true()
{
	local i left=$(($1 * 100))

	shift
	for ((i = 0; i < left; i++)); do
		"$@" 2>/dev/null && return
		sleep 0.01
	done
	return 1
}

# The state letter of a process; proc(5).
state_of()
{
	sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null
}

is_stopped()
{
	[ "$(state_of "$1")" = T ]
}
# stands_still PID: not for the moment of one stop, but whenever it is looked at for a second and a half.
stands_still()
{
	local i

	for ((i = 0; i < 15; i++)); do
		is_stopped "$1" || return
		sleep 0.1
	done
}
has_ended()
{
	case $(state_of "$1") in '' | Z) ;; *) return 1 ;; esac
}
is_running()
{
	! is_stopped "$1"
}

# What a terminal shows, without what differs from run to run: script(1) types an end of input,
# and whether the terminal still echoes by then (^@ or ^D) depends on who is faster.
shown()
{
	tr -d '\r\b' | sed -E 's/\^[@D]//g; s/[0-9]{3,}/N/g'
}

# as_without NAME COMMAND...: it prints the same and ends the same with and without mt-record, and once
# it has ended nothing is missing in the recording. Each time the recorder knows no file.
as_without()
{
	local name=$1 code=0 want=0

	shift
	timeout 60 "$@" </dev/null 2>&1 | shown >want.txt
	want=${PIPESTATUS[0]}
	timeout 120 mt-record -v -o run.mt -- "$@" </dev/null 2>err.txt | shown >got.txt
	code=${PIPESTATUS[0]}
	is "$name: status" "$code" "$want"
	grep -v '^mt-record: ' err.txt | shown >>got.txt
	is "$name: prints the same" "$(diff want.txt got.txt 2>&1)" ''
	matches "$name: nobody was stopped" err.txt '; 0 stops,'
	matches "$name: somebody waited" err.txt ' [1-9][0-9]* waits,'
	mt-report stat --json run.mt >stat.json 2>/dev/null
	holds "$name: nothing lost" 'sum(s["lost"].values()) == 0'
}

# account NAME KEY...: these keys of stat.json are what the workload printed.
account()
{
	local name=$1 key

	shift
	for key; do
		holds "$name: $key" "(s['$key'], want['$key'])"
	done
}

# folded NAME BY REGEX: the sum over the folded lines that match.
folded()
{
	mt-report folded --by "$1" run.mt 2>/dev/null |
		awk -v re="$2" '{ n = $NF; $NF = ""; if ($0 ~ re) sum += n } END { printf "%d\n", sum }'
}

# A folder root with nothing but mt-report and its libraries in it.
make_root()
{
	local file

	rm -rf root
	mkdir -p root/bin
	cp "$(command -v mt-report)" root/bin
	# The program interpreter stands alone in its line, libraries behind an arrow.
	ldd root/bin/mt-report | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' |
		while read -r file; do
			mkdir -p "root/${file%/*}"
			cp -L "$file" "root/$file"
		done
}

# table SCRIPT SOURCE...: the table that a script prints, for the log, then a result for each row
# of it. Sources are files of testdata/allocators.
table()
{
	local script=$LIVE/$1 line

	shift
	while read -r line; do
		case $line in
		'ok '*) ok "${line#ok }" ;;
		'not ok '*)
			line=${line#not ok }
			not_ok "${line%% - *}" "${line#* - }"
			;;
		*) echo "    $line" ;;
		esac
	done < <(PYTHONPATH='' PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$script" \
		"${@/#/$TOP/testdata/allocators/}" 2>&1)
}
