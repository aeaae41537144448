/*
 * deep.c - one malloc each below 1, 2, 4, ... DEPTH calls of descend(), 100 bytes of frame
 * and more each.
 *
 *	deep DEPTH
 */
#include "expect.h"

static NOINLINE unsigned int descend(unsigned int depth, size_t size)
{
	volatile char frame[100];

	frame[depth % sizeof(frame)] = 1;
	if (depth > 1)
		return descend(depth - 1, size) + frame[depth % sizeof(frame)];
	must(malloc(size) != NULL, "malloc failed");
	return frame[1];
}

int main(int argc, char **argv)
{
	unsigned int max = argc > 1 ? strtoul(argv[1], NULL, 10) : 64, depth;

	for (depth = 1; depth <= max; depth *= 2) {
		must(descend(depth, 1000 + depth) == depth, "the frames are wrong");
		expect_new(1000 + depth);
	}
	expect_print();
	return 0;
}
