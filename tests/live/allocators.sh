#!/bin/bash
# Every allocator, linked and started in every way: each of its functions' calls once.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

table allocators.py every_call.c standin.c
is 'the table has all its rows' "$tally_passed" 39
