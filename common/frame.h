/*
 * common/frame.h - the zstd frames of a .mt file.
 *
 * Every data frame carries a content checksum and its content's size, and depends on no
 * dictionary. Frames of any other make, or with more than MT_FRAME_CONTENT_MAX bytes, are
 * not ours. Skippable frames are passed over, wherever they are.
 */
#ifndef MT_FRAME_H
#define MT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_buf;
struct mt_packer;
struct mt_unpacker;

/* Largest frame accepted: incompressible content and zstd's framing. */
#define MT_FRAME_SIZE_MAX (17u << 20)
/* What mt_frame_peek() reads at the most. */
#define MT_FRAME_HEAD_MAX 18u

struct mt_frame_span {
	uint64_t offset;
	uint64_t size;
	uint32_t content;
	bool skippable;
};

/*
 * A way to compress: at this zstd level, contents of at most max bytes, in parts or not. hash_log
 * is the size of zstd's table of earlier positions, 0 for the level's own: bytes that are mostly
 * noise are better searched with a small one.
 */
struct mt_packing {
	int level;
	int hash_log;
	size_t max;
	bool in_parts;
};

#define MT_PACKINGS_MAX 4

/*
 * Compressor in these ways, MT_PACKINGS_MAX at most, which take their memory in turns: it is as
 * much as the largest needs, all allocated here. The first way is in use.
 */
int mt_packer_new_for(const struct mt_packing *ways, uint32_t n, struct mt_packer **ret_packer);
/* In one way, in one go. */
int mt_packer_new(int level, size_t max, struct mt_packer **ret_packer);
/* Use this of the ways from now on. 0, -ENOMEM. */
int mt_packer_use(struct mt_packer *packer, uint32_t way);
void mt_packer_free(struct mt_packer *packer);
/*
 * The frame of content: borrowed until the next call. At the cuts, rising offsets in content,
 * the kind of the bytes changes: statistics gathered before one are not used behind it. What is
 * packed in one go pays no heed to them. 0, -ENOMEM, -MT_E_LIMIT.
 */
int mt_packer_pack(struct mt_packer *packer, const void *content, size_t len, const size_t *cuts,
		   uint32_t n_cuts, const uint8_t **ret_frame, size_t *ret_size);

int mt_unpacker_new(struct mt_unpacker **ret_unpacker);
void mt_unpacker_free(struct mt_unpacker *unpacker);
/*
 * Content of exactly one frame, of the stated size, into buf (replacing what it held).
 * -MT_E_CORRUPT, -MT_E_LIMIT, -ENOMEM.
 */
int mt_unpacker_unpack(struct mt_unpacker *unpacker, const void *frame, size_t size,
		       size_t content, struct mt_buf *buf);

/*
 * The frame that begins at offset of a file that ends at end: 0, -MT_E_CUT (it runs over the end),
 * -MT_E_CORRUPT (not a frame of ours), -MT_E_LIMIT, -errno. Nothing is decompressed.
 */
int mt_frame_walk(int fd, uint64_t offset, uint64_t end, struct mt_frame_span *ret_span);

/* The same from the frame's header alone: size is that of the header, unless skippable. */
int mt_frame_peek(int fd, uint64_t offset, uint64_t end, struct mt_frame_span *ret_span);

/* pread(2) of exactly len bytes: 0, -MT_E_CUT at end of file, -errno. */
int mt_read_at(int fd, uint64_t offset, void *bytes, size_t len);

#endif
