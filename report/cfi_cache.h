/*
 * report/cfi_cache.h - a compiled unwind table as bytes, and back.
 */
#ifndef MT_CFI_CACHE_H
#define MT_CFI_CACHE_H

#include "common/buf.h"
#include "report/cfi.h"

struct mt_cache;

/* As mt_cfi_compile(), through the cache; cache may be NULL. */
int mt_cfi_load(struct mt_module *module, struct mt_cache *cache, struct mt_cfi **ret_cfi);

/* 0 or -ENOMEM. */
int mt_cfi_write(const struct mt_cfi *cfi, struct mt_buf *buf);
/*
 * Every row, rule and index is checked: whatever the bytes are, the table is one that may be used
 * like a compiled one. 0, -MT_E_CORRUPT, -MT_E_LIMIT, -ENOMEM.
 */
int mt_cfi_read(const void *bytes, size_t len, struct mt_cfi **ret_cfi);

#endif
