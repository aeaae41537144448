/*
 * longjmp.c - leave realloc by siglongjmp, then allocate: later calls must count.
 *
 * realloc copies a block that has an unreadable page in it; the handler jumps out of the
 * copy. The new block is allocated by then and nobody's; the heap is sound and the old
 * block untouched. The call did not return: it is no event, nor is the malloc within it.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "expect.h"

#define JUMPS 20
#define OLD_SIZE 60000	/* below the threshold for mmap, some pages */
#define AFTER 500

static sigjmp_buf out;
static char *volatile locked;

static void on_fault(int signal)
{
	(void)signal;
	mprotect(locked, 4096, PROT_READ | PROT_WRITE);
	siglongjmp(out, 1);
}

static NOINLINE void jump_out_of_realloc(void *block)
{
	locked = (char *)(((uintptr_t)block + 8192) & ~(uintptr_t)4095);
	if (sigsetjmp(out, 1))
		return;
	mprotect(locked, 4096, PROT_NONE);
	must(realloc(block, 2 * OLD_SIZE) == NULL, "realloc did not read its block");
}

static NOINLINE void *after_jump(size_t size)
{
	void *p = malloc(size);

	must(p != NULL, "malloc failed");
	expect_new(size);
	return p;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_fault };
	void *block, *wall, *p;
	int i, j;

	sigaction(SIGSEGV, &action, NULL);
	block = after_jump(OLD_SIZE);
	/* In the way, so that the block cannot grow where it is. */
	wall = after_jump(64);
	must(wall > block, "the wall is not behind the block");
	for (i = 0; i < JUMPS; i++) {
		jump_out_of_realloc(block);
		for (j = 0; j < AFTER / JUMPS; j++) {
			p = after_jump(10 + j);
			if (j % 2) {
				expect_free(10 + j);
				free(p);
			}
		}
	}
	expect_print();
	return 0;
}
