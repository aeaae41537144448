/*
 * report/address_names.h - the names of addresses in one mapped file, each worked out once.
 *
 * What the cache knows needs neither the symbols nor the debug information; those are loaded for
 * the first address that it does not know. One thread at a time.
 */
#ifndef MT_ADDRESS_NAMES_H
#define MT_ADDRESS_NAMES_H

#include "report/symbolize.h"

struct mt_address_names;
struct mt_cache;

/* module NULL: it may not be used, or there is none; path: what it is called, NULL: nothing. */
int mt_address_names_new(struct mt_module *module, const char *path, struct mt_cache *cache,
			 struct mt_address_names **ret_names);
void mt_address_names_free(struct mt_address_names *names);

/* Its symbols, its line tables: NULL if it has none. */
const struct mt_symbols *mt_address_names_symbols(struct mt_address_names *names);
struct mt_lines *mt_address_names_lines(struct mt_address_names *names);
/* The same questions, which the cache can answer too. */
bool mt_address_names_has_symbols(struct mt_address_names *names);
bool mt_address_names_has_lines(struct mt_address_names *names);

/*
 * As mt_symbolize(), at an address: pc is a svma if named, else what there is instead. Locations
 * live as long as the names.
 */
int mt_address_names_find(struct mt_address_names *names, uint64_t pc, bool exact, bool named,
			  const struct mt_location **ret_locations, size_t *ret_n);

/* A text for people, made of a mangled name, kept; name itself if it is not mangled. */
const char *mt_address_names_readable(struct mt_address_names *names, const char *name);
/* One empty location. NULL: out of memory. */
struct mt_location *mt_address_names_blank(struct mt_address_names *names);

/* Put what was worked out into the cache, beside what others have put there meanwhile. */
void mt_address_names_save(struct mt_address_names *names);

#endif
