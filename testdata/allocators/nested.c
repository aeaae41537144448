/*
 * nested.c - allocators on top of the C library's, and calls that never come to their end; the
 * account is that of the outermost calls. The arena's functions are those of mt-record(1).
 *
 *	nested arena | lost | threads
 *
 * lost: leaves malloc by longjmp, from a libwrap.so that is preloaded and does not return.
 * threads: three end inside malloc, by pthread_exit, pthread_cancel and exit(2) of the thread.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>

#include "../workloads/expect.h"

/* libwrap.so calls this inside malloc and free, once it is set. */
void (*inside_malloc)(size_t size);

struct chunk {
	struct chunk *next;
	char bytes[4000];
};

struct arena {
	struct chunk *chunks;
	size_t used;
	char pad[48];
};

NOINLINE struct arena *arena_new(void)
{
	return calloc(1, sizeof(struct arena));
}

NOINLINE void *arena_alloc(struct arena *arena, size_t size)
{
	struct chunk *chunk = arena->chunks;

	if (!chunk || arena->used + size > sizeof(chunk->bytes)) {
		chunk = malloc(sizeof(*chunk));
		if (!chunk)
			return NULL;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
		arena->used = 0;
	}
	arena->used += size;
	return chunk->bytes + arena->used - size;
}

NOINLINE void arena_free(struct arena *arena, void *block)
{
	(void)arena;
	memset(block, 0, 1);
}

NOINLINE void arena_delete(struct arena *arena)
{
	struct chunk *chunk;

	while ((chunk = arena->chunks)) {
		arena->chunks = chunk->next;
		free(chunk);
	}
	free(arena);
}

static NOINLINE void use_arena(void)
{
	struct arena *arena = arena_new();
	void *blocks[1009], *block;
	int i;

	expect_new(sizeof(*arena));
	for (i = 0; i < 1009; i++) {
		blocks[i] = arena_alloc(arena, 16 + 16 * (size_t)(i % 7));
		must(blocks[i] != NULL, "arena_alloc failed");
		expect_new(16 + 16 * (size_t)(i % 7));
		/* What is outside the arena counts for itself. */
		block = malloc(100);
		expect_new(100);
		free(block);
		expect_free(100);
	}
	for (i = 0; i < 1009; i++) {
		arena_free(arena, blocks[i]);
		expect_free(16 + 16 * (size_t)(i % 7));
	}
	arena_delete(arena);
	expect_free(sizeof(*arena));
}

static NOINLINE void take(int n, size_t size)
{
	void *block;
	int i;

	for (i = 0; i < n; i++) {
		block = malloc(size);
		must(block != NULL, "malloc failed");
		memset(block, 1, size);
		expect_new(size);
		if (i % 2) {
			free(block);
			expect_free(size);
		}
	}
}

static jmp_buf back;

static void jump_out(size_t size)
{
	if (size == 4242)
		longjmp(back, 1);
}

/* Deeper on the stack than what comes after, and less deep. */
static NOINLINE void lose(int depth)
{
	volatile char pad[256];

	pad[0] = pad[255] = (char)depth;
	if (depth)
		lose(depth - 1);
	else
		free(malloc(4242));
	must(pad[0] == pad[255], "the stack changed");
}

static NOINLINE void lose_calls(void)
{
	volatile int i;

	inside_malloc = jump_out;
	for (i = 0; i < 31; i++) {
		if (!setjmp(back)) {
			lose(i % 5);
			must(0, "malloc came back");
		}
		take(3, 64 + (size_t)i);
	}
	inside_malloc = NULL;
}

static void end_thread(size_t size)
{
	if (size == 4243)
		pthread_exit(NULL);
	if (size == 4244) {
		pthread_cancel(pthread_self());
		pthread_testcancel();
	}
	if (size == 4245)
		syscall(SYS_exit, 0);
}

static void *die_inside(void *arg)
{
	free(malloc((size_t)(uintptr_t)arg));
	must(0, "malloc came back");
	return NULL;
}

/* The blocks of the threads themselves are the C library's, and are counted by their sizes. */
static NOINLINE void lose_threads(void)
{
	pthread_t thread;
	size_t size;
	int i;

	inside_malloc = end_thread;
	for (i = 0; i < 6; i++) {
		size = 4243 + (size_t)i % 3;
		must(!pthread_create(&thread, NULL, die_inside, (void *)(uintptr_t)size),
		     "no thread");
		if (size == 4245)
			usleep(50000);
		else
			pthread_join(thread, NULL);
		take(5, 333);
	}
	inside_malloc = NULL;
}

int main(int argc, char **argv)
{
	must(argc == 2, "arena, lost or threads");
	if (!strcmp(argv[1], "arena"))
		use_arena();
	else if (!strcmp(argv[1], "lost"))
		lose_calls();
	else
		lose_threads();
	expect_print();
	return 0;
}
