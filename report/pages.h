/*
 * report/pages.h - memory of large tables: cleared, at cache lines, in huge pages if there are any.
 *
 * A table that is read all over costs more by the pages that have to be found than by what is read.
 */
#ifndef MT_PAGES_H
#define MT_PAGES_H

#include <stddef.h>

#define MT_CACHE_LINE 64u

/* n elements of size bytes, all zero. NULL: out of memory. */
void *mt_pages_alloc(size_t n, size_t size);
/* The same n and size; memory may be NULL. */
void mt_pages_free(void *memory, size_t n, size_t size);

#endif
