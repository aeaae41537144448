#!/bin/bash
# The functions of mimalloc and its kind that are in no table, as they call one that is: each call counts.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

cat >calls.c <<'EOF'
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
unsigned char *mi_mbsdup(const unsigned char *s);
unsigned short *mi_wcsdup(const unsigned short *s);
int mi_dupenv_s(char **buf, size_t *size, const char *name);
void *_aligned_malloc(size_t a, size_t b);
int __posix_memalign(void **p, size_t align, size_t size);
void vfree(void *p);
void *mi_heap_new(void);
void *mi_heap_malloc(void *heap, size_t size);
void mi_heap_delete(void *heap);
void mi_heap_destroy(void *heap);
static const unsigned short wide[] = { 'a', 'b', 0 };
int main(int argc, char **argv)
{
	const char *what = argv[argc - 1];
	void *heap = mi_heap_new(), *p;
	char *text;
	size_t size;
	int i;

	for (i = 0; i < 101; i++) {
		if (!strcmp(what, "mi_mbsdup"))
			mi_mbsdup((const unsigned char *)"abc");
		else if (!strcmp(what, "mi_wcsdup"))
			mi_wcsdup(wide);
		else if (!strcmp(what, "mi_dupenv_s"))
			mi_dupenv_s(&text, &size, "PATH");
		else if (!strcmp(what, "_aligned_malloc"))
			_aligned_malloc(64, 128);
		else if (!strcmp(what, "__posix_memalign"))
			__posix_memalign(&p, 64, 128);
		else if (!strcmp(what, "vfree"))
			vfree(malloc(40));
		else
			mi_heap_malloc(heap, 40);
	}
	if (!strcmp(what, "mi_heap_delete"))
		mi_heap_delete(heap);
	if (!strcmp(what, "mi_heap_destroy"))
		mi_heap_destroy(heap);
	return 0;
}
EOF
gcc -O1 -o calls calls.c -lmimalloc
# The heap itself is one block more, where it is seen: the same in each.
record 'a heap' ./calls mi_heap_malloc
heap=$(mt-report stat --json run.mt 2>/dev/null | jq '.allocations - 101')
for what in mi_mbsdup mi_wcsdup mi_dupenv_s _aligned_malloc __posix_memalign vfree mi_heap_delete mi_heap_destroy; do
	record "$what" ./calls $what
	holds "$what: each call once" "(s['allocations'], 101 + $heap)"
done
# What the man page says of it.
holds 'mi_heap_destroy: its blocks count as allocated' "(s['live_blocks'] >= 101, True)"
