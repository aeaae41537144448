#!/bin/bash
# What could not be probed is said: in the recording, and in one line at its end.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

stripped='static and stripped: its allocator cannot be found'
source=$TOP/testdata/workloads/malloc_10007.c
gcc -static -O1 -fno-builtin -o glibc "$source" && strip glibc
gcc -static-pie -s -O1 -fno-builtin -o pie "$source"
musl-gcc -static -O1 -fno-builtin -o musl "$source" && strip musl
cat >nothing.c <<'END'
void _start(void)
{
	__asm__("mov $60, %eax; xor %edi, %edi; syscall");
}
END
gcc -static -nostdlib -o nothing nothing.c

for program in glibc pie musl; do
	record "$program" "./$program"
	holds "$program: no event" '(s["allocations"], 0)'
	holds "$program: a gap" "([g['reason'] for g in s['coverage_gaps']], ['$stripped'])"
	holds "$program: names the file" "s['coverage_gaps'][0]['path'].endswith('/$program')"
	is "$program: said in one line" "$(grep -c "^mt-record: not covered: .*/$program: $stripped\$" err.txt)" 1
done
mt-report stat run.mt >stat.txt
matches 'the report says so' stat.txt "^  not covered  .*/musl: $stripped\$"

# A program in Go has the table of its functions in a section, which strip leaves.
cat >go.c <<'END'
__asm__(".section .gopclntab, \"a\"; .long 0xfffffff1; .text");
#include "malloc_10007.c"
END
go_heap='Go: what it allocates from its own heap is not seen'
gcc -O1 -fno-builtin -I "${source%/*}" -o go go.c && strip go
record go ./go
holds 'go: what its C code allocates' '(s["allocations"], 10007)'
holds 'go: a gap' "([g['reason'] for g in s['coverage_gaps']], ['$go_heap'])"
is 'go: said in one line' "$(grep -c "^mt-record: not covered: .*/go: $go_heap\$" err.txt)" 1

# Each file once, and what is around it is counted.
# shellcheck disable=SC2016 # that shell expands it
record 'in a shell' sh -c './glibc >/dev/null; ./glibc >/dev/null; ./musl >/dev/null; "$0"' \
	"$WORKLOADS/malloc_10007"
holds 'in a shell: two gaps' \
	'(sorted(g["path"].split("/")[-1] for g in s["coverage_gaps"]), ["glibc", "musl"])'
is 'in a shell: the program that can be probed' "$(folded count ';path_(alpha|beta|gamma);')" 10007

# With symbols, and nothing to probe.
record nothing ./nothing
holds 'nothing: a gap about no file' \
	'([(g["path"], g["reason"]) for g in s["coverage_gaps"]], [("", "no file that was mapped has an allocator")])'
is 'nothing: said in one line' \
	"$(grep -c '^mt-record: not covered: no file that was mapped has an allocator$' err.txt)" 1
record 'an allocator that is not called' /bin/true
holds 'an allocator that is not called: no gap' '(s["coverage_gaps"], [])'
