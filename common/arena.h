/*
 * common/arena.h - memory for things that die together.
 *
 * Allocations are only ever released all at once. mt_arena_reset() keeps the memory,
 * so that a decoder that meets blocks of similar size stops allocating.
 */
#ifndef MT_ARENA_H
#define MT_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct mt_arena;

/* 0 or -ENOMEM. */
int mt_arena_new(struct mt_arena **ret_arena);
void mt_arena_free(struct mt_arena *arena);

/* Forget everything allocated; pointers into the arena die. */
void mt_arena_reset(struct mt_arena *arena);

/* n elements of size bytes, aligned for any type, not cleared. NULL: out of memory. */
void *mt_arena_alloc(struct mt_arena *arena, size_t n, size_t size);
/* The same, zeroed. */
void *mt_arena_zalloc(struct mt_arena *arena, size_t n, size_t size);
/* bytes[0..len) and a NUL behind them. */
char *mt_arena_string(struct mt_arena *arena, const void *bytes, size_t len);

#endif
