#include "common/frame.h"
#include "common/artifact.h"
#include "common/buf.h"
#include "common/error.h"

#include <errno.h>
#include <unistd.h>
#define ZSTD_STATIC_LINKING_ONLY	/* contexts in memory of ours */
#include <zstd.h>

#define BLOCK_MAX (128u << 10)
#define PART_MIN 2048u	/* less is not worth zstd tables of its own */

#define CONTEXT_SIZES_TRIED 3

struct mt_packer {
	ZSTD_CCtx *ctx;		/* in context */
	void *context;
	struct mt_packing ways[MT_PACKINGS_MAX];
	uint32_t n_ways;
	uint32_t way;
	size_t cap;
	uint8_t *out;
};

struct mt_unpacker {
	ZSTD_DCtx *ctx;
};

static uint64_t load_le(const uint8_t *p, unsigned int bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static bool set(struct mt_packer *packer, ZSTD_cParameter parameter, int value)
{
	return !ZSTD_isError(ZSTD_CCtx_setParameter(packer->ctx, parameter, value));
}

int mt_packer_use(struct mt_packer *packer, uint32_t way)
{
	const struct mt_packing *packing = &packer->ways[way];

	packer->way = way;
	if (ZSTD_isError(ZSTD_CCtx_reset(packer->ctx, ZSTD_reset_session_only)) ||
	    !set(packer, ZSTD_c_compressionLevel, packing->level) ||
	    !set(packer, ZSTD_c_checksumFlag, 1) || !set(packer, ZSTD_c_contentSizeFlag, 1) ||
	    !set(packer, ZSTD_c_hashLog, packing->hash_log))
		return -ENOMEM;
	return 0;
}

/*
 * zstd sizes its tables by the frame: the largest one fits all others. Were the memory its own, it
 * would give back most of it after 128 frames of less, and allocate anew for the next large one.
 */
static int make_context(struct mt_packer *packer, size_t size)
{
	const uint8_t *frame;
	uint8_t *warm_up;
	uint32_t i;
	int err;

	free(packer->context);
	packer->context = malloc(size);
	packer->ctx = packer->context ? ZSTD_initStaticCCtx(packer->context, size) : NULL;
	err = packer->ctx ? 0 : -ENOMEM;
	for (i = packer->n_ways; i-- > 0 && !err;) {
		size_t max = packer->ways[i].max;

		warm_up = calloc(1, max + !max);
		err = warm_up ? mt_packer_use(packer, i) : -ENOMEM;
		if (!err)
			err = mt_packer_pack(packer, warm_up, max, &max, 1, &frame, &size);
		free(warm_up);
	}
	return err;
}

/*
 * What is compressed in one go needs no copy of its input. The sizes are estimates. zstd has other
 * parameters for contents of up to 16, 128 and 256 KiB, which may need more.
 */
static size_t context_size(const struct mt_packing *packing)
{
	static const size_t classes[] = { 16 << 10, 128 << 10, 256 << 10, SIZE_MAX };
	size_t most = 0, size, i;

	for (i = 0; i < MT_ARRAY_SIZE(classes); i++) {
		const ZSTD_compressionParameters p = ZSTD_getCParams(
			packing->level, packing->max < classes[i] ? packing->max : classes[i], 0);

		size = packing->in_parts ? ZSTD_estimateCStreamSize_usingCParams(p) :
					   ZSTD_estimateCCtxSize_usingCParams(p);
		most = size > most ? size : most;
	}
	return most;
}

int mt_packer_new_for(const struct mt_packing *ways, uint32_t n, struct mt_packer **ret_packer)
{
	struct mt_packer *packer = calloc(1, sizeof(*packer));
	size_t size = 0, cap;
	int err = -ENOMEM, i;
	uint32_t way;

	if (!packer)
		return -ENOMEM;
	packer->n_ways = n;
	for (way = 0; way < n; way++) {
		packer->ways[way] = ways[way];
		/* Each part between two cuts may be stored as it is, with a head of its own. */
		cap = ZSTD_compressBound(ways[way].max) + ways[way].max / PART_MIN * 3;
		packer->cap = cap > packer->cap ? cap : packer->cap;
		cap = context_size(&ways[way]);
		size = cap > size ? cap : size;
	}
	packer->out = malloc(packer->cap);
	for (i = 0; err && packer->out && i < CONTEXT_SIZES_TRIED; i++)
		err = make_context(packer, size << i);
	if (err) {
		mt_packer_free(packer);
		return err;
	}
	memset(packer->out, 0, packer->cap);
	*ret_packer = packer;
	return 0;
}

int mt_packer_new(int level, size_t max, struct mt_packer **ret_packer)
{
	const struct mt_packing packing = { .level = level, .max = max };

	return mt_packer_new_for(&packing, 1, ret_packer);
}

void mt_packer_free(struct mt_packer *packer)
{
	if (!packer)
		return;
	free(packer->context);
	free(packer->out);
	free(packer);
}

/* Compress up to the offset end, and close zstd's block or the frame there. */
static int pack_part(struct mt_packer *packer, ZSTD_outBuffer *out, ZSTD_inBuffer *in, size_t end,
		     ZSTD_EndDirective directive)
{
	size_t left;

	in->size = end;
	left = ZSTD_compressStream2(packer->ctx, out, in, directive);
	/* The output has room for all of it, so nothing is ever left for a second call. */
	return ZSTD_isError(left) || left || in->pos != end ? -ENOMEM : 0;
}

static int pack_parts(struct mt_packer *packer, const void *content, size_t len,
		      const size_t *cuts, uint32_t n_cuts, size_t *ret_size)
{
	ZSTD_outBuffer out = { packer->out, packer->cap, 0 };
	ZSTD_inBuffer in = { content, 0, 0 };
	uint32_t i;
	int err = 0;

	if (ZSTD_isError(ZSTD_CCtx_reset(packer->ctx, ZSTD_reset_session_only)) ||
	    ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(packer->ctx, len)))
		return -ENOMEM;
	for (i = 0; i < n_cuts && !err; i++) {
		if (cuts[i] - in.pos >= PART_MIN && len - cuts[i] >= PART_MIN)
			err = pack_part(packer, &out, &in, cuts[i], ZSTD_e_flush);
	}
	if (!err)
		err = pack_part(packer, &out, &in, len, ZSTD_e_end);
	if (!err)
		*ret_size = out.pos;
	return err;
}

int mt_packer_pack(struct mt_packer *packer, const void *content, size_t len, const size_t *cuts,
		   uint32_t n_cuts, const uint8_t **ret_frame, size_t *ret_size)
{
	const struct mt_packing *packing = &packer->ways[packer->way];
	size_t size = 0;
	int err = 0;

	if (len > packing->max)
		return -MT_E_LIMIT;
	if (packing->in_parts) {
		err = pack_parts(packer, content, len, cuts, n_cuts, &size);
	} else {
		size = ZSTD_compress2(packer->ctx, packer->out, packer->cap, content, len);
		err = ZSTD_isError(size) ? -ENOMEM : 0;
	}
	if (err)
		return err;
	*ret_frame = packer->out;
	*ret_size = size;
	return 0;
}

int mt_unpacker_new(struct mt_unpacker **ret_unpacker)
{
	struct mt_unpacker *unpacker = calloc(1, sizeof(*unpacker));

	if (!unpacker)
		return -ENOMEM;
	unpacker->ctx = ZSTD_createDCtx();
	if (!unpacker->ctx) {
		free(unpacker);
		return -ENOMEM;
	}
	*ret_unpacker = unpacker;
	return 0;
}

void mt_unpacker_free(struct mt_unpacker *unpacker)
{
	if (!unpacker)
		return;
	ZSTD_freeDCtx(unpacker->ctx);
	free(unpacker);
}

int mt_unpacker_unpack(struct mt_unpacker *unpacker, const void *frame, size_t size,
		       size_t content, struct mt_buf *buf)
{
	size_t n;
	int err;

	if (size > MT_FRAME_SIZE_MAX || content > MT_FRAME_CONTENT_MAX)
		return -MT_E_LIMIT;
	/* zstd would go on with a second frame behind the first. */
	if (ZSTD_findFrameCompressedSize(frame, size) != size)
		return -MT_E_CORRUPT;
	mt_buf_reset(buf);
	err = mt_buf_reserve(buf, content ? content : 1);
	if (err)
		return err;
	n = ZSTD_decompressDCtx(unpacker->ctx, buf->data, content, frame, size);
	if (ZSTD_isError(n) || n != content)
		return -MT_E_CORRUPT;
	buf->len = n;
	return 0;
}

int mt_read_at(int fd, uint64_t offset, void *bytes, size_t len)
{
	uint8_t *at = bytes;
	ssize_t n;

	if (offset > INT64_MAX - len)
		return -MT_E_CUT;
	while (len) {
		n = pread(fd, at, len, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -MT_E_CUT;
		at += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static int parse_data_head(const uint8_t *bytes, size_t len, struct mt_frame_span *ret_span)
{
	unsigned int content_flag, single, content_bytes;
	uint64_t content;
	uint8_t descriptor;
	size_t size;

	if (len < 5)
		return -MT_E_CUT;
	descriptor = bytes[4];
	content_flag = descriptor >> 6;
	single = descriptor >> 5 & 1;
	/* Reserved bit clear, checksum, no dictionary, content size there. */
	if ((descriptor & 0x0f) != 0x04 || (!content_flag && !single))
		return -MT_E_CORRUPT;
	content_bytes = 1u << content_flag;
	size = 5 + !single + content_bytes;
	if (len < size)
		return -MT_E_CUT;
	content = load_le(bytes + size - content_bytes, content_bytes) +
		  (content_bytes == 2 ? 256 : 0);
	if (content > MT_FRAME_CONTENT_MAX)
		return -MT_E_LIMIT;
	ret_span->size = size;
	ret_span->content = (uint32_t)content;
	ret_span->skippable = false;
	return 0;
}

int mt_frame_peek(int fd, uint64_t offset, uint64_t end, struct mt_frame_span *ret_span)
{
	uint64_t left = offset < end ? end - offset : 0;
	uint8_t bytes[MT_FRAME_HEAD_MAX];
	static const uint8_t magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };
	size_t len = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
	static const uint8_t skippable[3] = { 0x2a, 0x4d, 0x18 };
	size_t some = len < 4 ? len : 4;
	int err;

	if (!len)
		return -MT_E_CUT;
	err = mt_read_at(fd, offset, bytes, len);
	if (err)
		return err;
	ret_span->offset = offset;
	if (!memcmp(bytes, magic, some))
		return some < 4 ? -MT_E_CUT : parse_data_head(bytes, len, ret_span);
	if ((bytes[0] & 0xf0) != 0x50 || memcmp(bytes + 1, skippable, some - 1))
		return -MT_E_CORRUPT;
	if (len < 8)
		return -MT_E_CUT;
	ret_span->size = 8 + load_le(bytes + 4, 4);
	ret_span->content = 0;
	ret_span->skippable = true;
	return 0;
}

/* From the first block's header to behind the checksum. */
static int walk_blocks(int fd, uint64_t offset, uint64_t end, uint64_t *ret_offset)
{
	uint64_t start = offset;
	uint8_t bytes[3];
	uint32_t block, size;
	int err;

	do {
		if (end - offset < sizeof(bytes))
			return -MT_E_CUT;
		err = mt_read_at(fd, offset, bytes, sizeof(bytes));
		if (err)
			return err;
		offset += sizeof(bytes);
		block = (uint32_t)load_le(bytes, 3);
		size = block >> 3;
		if ((block >> 1 & 3) == 3 || size > BLOCK_MAX)
			return -MT_E_CORRUPT;
		if ((block >> 1 & 3) == 1)
			size = 1;	/* one byte, repeated */
		if (end - offset < size)
			return -MT_E_CUT;
		offset += size;
		if (offset - start > MT_FRAME_SIZE_MAX - 64)
			return -MT_E_LIMIT;
	} while (!(block & 1));

	if (end - offset < 4)
		return -MT_E_CUT;
	*ret_offset = offset + 4;
	return 0;
}

int mt_frame_walk(int fd, uint64_t offset, uint64_t end, struct mt_frame_span *ret_span)
{
	struct mt_frame_span span;
	uint64_t after;
	int err;

	err = mt_frame_peek(fd, offset, end, &span);
	if (err)
		return err;
	if (span.size > end - offset)
		return -MT_E_CUT;
	after = offset + span.size;
	if (!span.skippable) {
		err = walk_blocks(fd, after, end, &after);
		if (err)
			return err;
	}
	span.size = after - offset;
	*ret_span = span;
	return 0;
}
