#include "common/arena.h"

#include <errno.h>
#include <stdalign.h>

#define CHUNK_MIN ((size_t)64 << 10)

struct chunk {
	struct chunk *next;
	size_t cap;
	alignas(max_align_t) uint8_t data[];
};

struct mt_arena {
	struct chunk *chunks;	/* the first one is being filled */
	size_t used;		/* bytes of it */
	size_t total;		/* sum of all chunks' cap */
};

int mt_arena_new(struct mt_arena **ret_arena)
{
	struct mt_arena *arena = calloc(1, sizeof(*arena));

	if (!arena)
		return -ENOMEM;
	*ret_arena = arena;
	return 0;
}

static void free_chunks(struct chunk *chunk)
{
	struct chunk *next;

	for (; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
}

void mt_arena_free(struct mt_arena *arena)
{
	if (!arena)
		return;
	free_chunks(arena->chunks);
	free(arena);
}

static int add_chunk(struct mt_arena *arena, size_t need)
{
	struct chunk *chunk;
	size_t cap = CHUNK_MIN;

	if (need > SIZE_MAX / 4)
		return -ENOMEM;
	while (cap < need)
		cap *= 2;
	chunk = malloc(sizeof(*chunk) + cap);
	if (!chunk)
		return -ENOMEM;

	chunk->cap = cap;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->used = 0;
	arena->total += cap;
	return 0;
}

void mt_arena_reset(struct mt_arena *arena)
{
	size_t total = arena->total;

	arena->used = 0;
	if (!arena->chunks || !arena->chunks->next)
		return;

	/* One chunk as large as all of them serves the next round without a search. */
	free_chunks(arena->chunks);
	arena->chunks = NULL;
	arena->total = 0;
	(void)add_chunk(arena, total);	/* if it fails, the next allocation tries again */
}

void *mt_arena_alloc(struct mt_arena *arena, size_t n, size_t size)
{
	const size_t align = alignof(max_align_t);
	size_t bytes;
	void *ptr;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 8)
		return NULL;
	bytes = (bytes + align - 1) & ~(align - 1);
	if (!bytes)
		bytes = align;
	if (!arena->chunks || bytes > arena->chunks->cap - arena->used) {
		if (add_chunk(arena, bytes))
			return NULL;
	}
	ptr = arena->chunks->data + arena->used;
	arena->used += bytes;
	return ptr;
}

void *mt_arena_zalloc(struct mt_arena *arena, size_t n, size_t size)
{
	void *ptr = mt_arena_alloc(arena, n, size);

	if (ptr)
		memset(ptr, 0, n * size);
	return ptr;
}

char *mt_arena_string(struct mt_arena *arena, const void *bytes, size_t len)
{
	char *string;

	if (len == SIZE_MAX)
		return NULL;
	string = mt_arena_alloc(arena, len + 1, 1);
	if (!string)
		return NULL;
	if (len)
		memcpy(string, bytes, len);
	string[len] = '\0';
	return string;
}
