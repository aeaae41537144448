#include "report/intern.h"

#include <errno.h>

#define CHUNK_SIZE 65536

struct mt_chunk {
	struct mt_chunk *next;
	size_t len, cap;
	char text[];
};

struct mt_intern {
	struct mt_chunk *chunks;
	const char **slots;
	size_t cap, n;
};

uint64_t mt_hash_bytes(uint64_t seed, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len--)
		seed = (seed ^ *p++) * 0x100000001b3ull;
	return seed;
}

int mt_intern_new(struct mt_intern **ret_intern)
{
	struct mt_intern *intern = calloc(1, sizeof(*intern));

	if (!intern)
		return -ENOMEM;
	*ret_intern = intern;
	return 0;
}

void mt_intern_free(struct mt_intern *intern)
{
	struct mt_chunk *chunk, *next;

	if (!intern)
		return;
	for (chunk = intern->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(intern->slots);
	free(intern);
}

static size_t find_slot(const char **slots, size_t cap, const char *text, size_t len)
{
	size_t i = mt_hash_bytes(MT_HASH_SEED, text, len) & (cap - 1);

	while (slots[i] && strcmp(slots[i], text))
		i = (i + 1) & (cap - 1);
	return i;
}

static int grow(struct mt_intern *intern)
{
	size_t cap = intern->cap ? intern->cap * 2 : 64, i;
	const char **slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = 0; i < intern->cap; i++)
		if (intern->slots[i])
			slots[find_slot(slots, cap, intern->slots[i], strlen(intern->slots[i]))] =
				intern->slots[i];
	free(intern->slots);
	intern->slots = slots;
	intern->cap = cap;
	return 0;
}

static const char *store(struct mt_intern *intern, const char *text, size_t size)
{
	struct mt_chunk *chunk = intern->chunks;
	size_t cap = size > CHUNK_SIZE ? size : CHUNK_SIZE;
	char *copy;

	if (!chunk || size > chunk->cap - chunk->len) {
		chunk = malloc(sizeof(*chunk) + cap);
		if (!chunk)
			return NULL;
		chunk->len = 0;
		chunk->cap = cap;
		chunk->next = intern->chunks;
		intern->chunks = chunk;
	}
	copy = chunk->text + chunk->len;
	memcpy(copy, text, size);
	chunk->len += size;
	return copy;
}

const char *mt_intern_text(struct mt_intern *intern, const char *text)
{
	size_t len = strlen(text), slot;

	if (intern->n >= intern->cap / 2 && grow(intern))
		return NULL;
	slot = find_slot(intern->slots, intern->cap, text, len);
	if (!intern->slots[slot]) {
		intern->slots[slot] = store(intern, text, len + 1);
		intern->n += intern->slots[slot] != NULL;
	}
	return intern->slots[slot];
}
