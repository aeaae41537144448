/* libplug.c - a library that allocates; dlopen.c loads it twice. */
#include <stdlib.h>

void *plug_take(size_t size);

__attribute__((noinline)) void *plug_take(size_t size)
{
	void *p = malloc(size);

	/* Not a tail call: this function stays on the stack. */
	__asm__ volatile("" : "+r"(p));
	return p;
}
