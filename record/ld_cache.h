/*
 * record/ld_cache.h - /etc/ld.so.cache: library names to paths (glibc's elf/cache.c format 1.1).
 */
#ifndef MT_LD_CACHE_H
#define MT_LD_CACHE_H

#include <stddef.h>

struct mt_ld_cache;

/* 0, -EINVAL (another format or damaged), -ENOMEM, -errno. */
int mt_ld_cache_open(const char *path, struct mt_ld_cache **ret_cache);
void mt_ld_cache_free(struct mt_ld_cache *cache);

/*
 * The index-th path of a library of this name, NULL after the last. There are several where
 * variants for other processors or word sizes are installed.
 */
const char *mt_ld_cache_find(const struct mt_ld_cache *cache, const char *name, size_t index);

#endif
