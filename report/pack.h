/*
 * report/pack.h - the modules that a packed artifact carries with it.
 *
 * Images are ELF files, whole or with zeros in place of code and data, that module.c reads as it
 * reads the originals. They are only ever memory: no file is made of them, and their paths
 * are names.
 */
#ifndef MT_PACK_H
#define MT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/artifact.h"
#include "report/session.h"

struct mt_pack;
struct mt_reader;

/* All bytes of all images, beyond which a pack is refused. */
#define MT_PACK_BYTES_MAX (16ull << 30)

/*
 * What the artifact carries; *ret_pack is NULL if that is nothing. Rows that contradict others are
 * left out. 0, -ENOMEM, -MT_E_LIMIT, the reader's errors.
 */
int mt_pack_load(struct mt_reader *reader, struct mt_pack **ret_pack);
void mt_pack_free(struct mt_pack *pack);

/* What stands for its generation in a pack: one that was rewritten is another file since then. */
static inline uint64_t mt_pack_generation(const struct mt_file *file)
{
	return file->since ? file->since : file->generation;
}

/* What is known of a mapped file, NULL if nothing. pack may be NULL. Lives as long as the pack. */
const struct mt_packed *mt_pack_find(const struct mt_pack *pack, const struct mt_file *file);

/*
 * Map an image, privately: libelf writes to what it is given. NULL: there is no such image, or no
 * memory. The caller unmaps it, by munmap(2).
 */
uint8_t *mt_pack_map_image(const struct mt_pack *pack, uint32_t id, size_t *ret_size);

#endif
