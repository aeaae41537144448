#!/bin/bash
# Seven threads of C++ over every allocator: each of their calls once, deleted wherever.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

table cxx_allocators.py cxx_threads.cc cxx_over.cc find_object.c standin.c
is 'the table has all its rows' "$tally_passed" 26
