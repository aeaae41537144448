/*
 * report/intern.h - equal strings stored once, at addresses that stay.
 */
#ifndef MT_INTERN_H
#define MT_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct mt_intern;

int mt_intern_new(struct mt_intern **ret_intern);
void mt_intern_free(struct mt_intern *intern);

/* The one copy of text while intern lives; NULL: out of memory. Equal texts, equal pointers */
const char *mt_intern_text(struct mt_intern *intern, const char *text);

/* FNV-1a, for the tables of those who key by strings. */
uint64_t mt_hash_bytes(uint64_t seed, const void *bytes, size_t len);
#define MT_HASH_SEED 0xcbf29ce484222325ull

#endif
