/*
 * malloc_10007.c - 10007 calls of malloc from three call paths, part of them freed.
 *
 *	main > path_alpha > take				5003 calls
 *	main > path_beta > beta_middle > take			3001 calls
 *	main > path_gamma > gamma_down (5 times) > take		2003 calls
 *
 * Each path's calls come from one place, so there are exactly three distinct stacks.
 */
#include "expect.h"

#define ALPHA 5003
#define BETA 3001
#define GAMMA 2003

struct block {
	void *addr;
	size_t size;
};

static struct block blocks[ALPHA + BETA + GAMMA];

static NOINLINE void take(struct block *block, size_t size)
{
	block->addr = malloc(size);
	block->size = size;
	must(block->addr != NULL, "malloc failed");
	expect_new(size);
}

static NOINLINE void drop(struct block *block)
{
	expect_free(block->size);
	free(block->addr);
	block->addr = NULL;
}

static NOINLINE void path_alpha(unsigned int i)
{
	take(&blocks[i], 16 + i % 97);
}

static NOINLINE void beta_middle(unsigned int i)
{
	take(&blocks[ALPHA + i], 1000 + i % 13);
}

static NOINLINE void path_beta(unsigned int i)
{
	beta_middle(i);
}

static NOINLINE void gamma_down(unsigned int i, unsigned int depth)
{
	if (depth)
		gamma_down(i, depth - 1);
	else
		take(&blocks[ALPHA + BETA + i], 5000 + i);
}

static NOINLINE void path_gamma(unsigned int i)
{
	gamma_down(i, 4);
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < ALPHA; i++)
		path_alpha(i);
	for (i = 0; i < ALPHA; i += 2)
		drop(&blocks[i]);
	for (i = 0; i < GAMMA; i++)
		path_gamma(i);
	/* The peak is here: what follows frees more than it allocates. */
	for (i = 0; i < GAMMA; i++)
		if (i % 10)
			drop(&blocks[ALPHA + BETA + i]);
	for (i = 0; i < BETA; i++)
		path_beta(i);
	for (i = 0; i < BETA; i += 3)
		drop(&blocks[ALPHA + i]);
	free(NULL);
	expect_print();
	return 0;
}
