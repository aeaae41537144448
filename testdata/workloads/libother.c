/* libother.c - libplug.c under another name: its function is at the same place. */
#include <stdlib.h>

void *other_take(size_t size);

__attribute__((noinline)) void *other_take(size_t size)
{
	void *p = malloc(size);

	/* Not a tail call: this function stays on the stack. */
	__asm__ volatile("" : "+r"(p));
	return p;
}
