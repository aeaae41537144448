/*
 * report/cache.h - what was worked out of modules, kept on disk from one run to the next.
 *
 * An entry belongs to one file as it is on this machine: its name is the build-id, the machine
 * and the size, and inside is what stat(2) says of the files it was made from, so that a build-id
 * that lies finds nothing of another file. An entry is one zstd frame with a checksum, written
 * beside its place and moved there. It counts only in a folder and a file that nobody but this
 * user or root can write; what it says is checked by whoever asked for it. Any number of processes
 * and threads may use one folder at once.
 */
#ifndef MT_CACHE_H
#define MT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct mt_cache;
struct mt_module;

/* Raised whenever what an entry holds, or how it is worked out, changes. */
#define MT_CACHE_VERSION 1u

#define MT_CACHE_ENTRY_MAX (256u << 20)		/* of one entry, unpacked */
#define MT_CACHE_BYTES_MAX (1ull << 30)		/* of the folder: the oldest entries go */

enum mt_cache_kind {
	MT_CACHE_CFI,
	MT_CACHE_NAMES,
	MT_CACHE_KINDS
};

struct mt_cache_stats {
	unsigned int used;	/* entries that spared the work */
	unsigned int bad;	/* ignored: damaged, or others could have written them */
	unsigned int stale;	/* ignored: the module's files have changed since */
	unsigned int written;
	unsigned int failed;	/* could not be written */
};

/*
 * Use the folder dir, made if it is missing. NULL: memtrack in $XDG_CACHE_HOME, else in
 * $HOME/.cache, unless those are another user's or not there. 0; -ENOENT: there is no place for
 * it; -EPERM: it is another user's, or others can write to it; -errno; -ENOMEM.
 */
int mt_cache_open(const char *dir, struct mt_cache **ret_cache);
void mt_cache_free(struct mt_cache *cache);
const char *mt_cache_dir(const struct mt_cache *cache);
void mt_cache_stats(struct mt_cache *cache, struct mt_cache_stats *ret_stats);

/*
 * What was put for this module. false: nothing that can be trusted. Modules without a build-id,
 * and those that are not files of their own, have nothing. cache may be NULL.
 */
bool mt_cache_get(struct mt_cache *cache, enum mt_cache_kind kind, struct mt_module *module,
		  struct mt_buf *ret_bytes);
/* Put it in the place of what was there. Whether it could is only counted. */
void mt_cache_put(struct mt_cache *cache, enum mt_cache_kind kind, struct mt_module *module,
		  const void *bytes, size_t len);
/* The same, and nothing is counted: to add to what others have put meanwhile. */
bool mt_cache_peek(struct mt_cache *cache, enum mt_cache_kind kind, struct mt_module *module,
		   struct mt_buf *ret_bytes);
/* What mt_cache_get() gave is, or is not, what it should be. */
void mt_cache_judge(struct mt_cache *cache, bool good);

/*
 * The content of an entry, if it is whole and of this kind and these sources; in place, from
 * *ret_at on. 0, -MT_E_CORRUPT, -MT_E_LIMIT, -ENOMEM; -MT_E_NO_DATA: of other sources or another
 * version.
 */
int mt_cache_unpack(const void *file, size_t size, enum mt_cache_kind kind, const void *sources,
		    size_t n_sources, struct mt_buf *ret_bytes);

#endif
