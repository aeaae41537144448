#!/bin/bash
# Every allocator, linked and started in every way: each of its functions' calls once.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# The table, for the log, then a line for each row of it.
while read -r line; do
	case $line in
	'ok '*) ok "${line#ok }" ;;
	'not ok '*)
		line=${line#not ok }
		not_ok "${line%% - *}" "${line#* - }"
		;;
	*) echo "    $line" ;;
	esac
done < <(PYTHONPATH='' /usr/bin/python3 "$LIVE/allocators.py" "$TOP/testdata/allocators/every_call.c" \
	"$TOP/testdata/allocators/standin.c" 2>&1)
is 'the table has all its rows' "$tally_passed" 39
