/*
 * report/pack_write.h - an artifact together with what is needed of its modules, as one file.
 *
 * The artifact's frames as they are, then those of the modules, then its trailer: so a pack is an
 * artifact, and readers that know nothing of packs pass the modules over. Same input, same bytes.
 */
#ifndef MT_PACK_WRITE_H
#define MT_PACK_WRITE_H

#include <stdbool.h>
#include <stdint.h>

struct mt_analysis;

struct mt_pack_summary {
	uint32_t files;		/* mapped files that were verified and are in it */
	uint32_t images;	/* distinct ELF files */
	uint64_t image_bytes;	/* of them, before compression */
	uint64_t bytes;		/* of the pack */
};

/*
 * Write path, which is replaced when all has been written. The analysis has its modules. whole:
 * images are not cut down to what reports need. 0, -errno, -ENOMEM, -MT_E_LIMIT.
 */
int mt_pack_write(const char *path, struct mt_analysis *analysis, bool whole,
		  struct mt_pack_summary *ret_summary);

#endif
