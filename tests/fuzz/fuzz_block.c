/* Blocks of any bytes: what decodes must encode and decode again to the same. */
#include "common/artifact.h"
#include "common/buf.h"
#include "common/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static int encode(struct mt_buf *buf, const struct mt_block *block)
{
	switch (block->kind) {
	case MT_BLOCK_HEADER:
		return mt_encode_header(buf, block->header);
	case MT_BLOCK_LIFECYCLE:
		return mt_encode_lifecycle(buf, block->lifecycle, block->n);
	case MT_BLOCK_STACKS:
		return mt_encode_stacks(buf, block->stacks, block->n);
	case MT_BLOCK_EVENTS:
		return mt_encode_events(buf, block->events, block->n);
	case MT_BLOCK_MAPPINGS:
		return mt_encode_mappings(buf, block->mappings, block->n);
	case MT_BLOCK_COVERAGE:
		return mt_encode_coverage(buf, block->coverage, block->n);
	case MT_BLOCK_LOSS:
		return mt_encode_loss(buf, block->loss, block->n);
	case MT_BLOCK_CHECKPOINT:
		return mt_encode_checkpoint(buf, block->checkpoint);
	case MT_BLOCK_FILES:
		return mt_encode_files(buf, block->files, block->n);
	case MT_BLOCK_REWRITTEN:
		return mt_encode_rewritten(buf, block->files, block->n);
	case MT_BLOCK_PACKED:
		return mt_encode_packed(buf, block->packed, block->n);
	case MT_BLOCK_IMAGE:
		return mt_encode_images(buf, block->images, block->n);
	case MT_BLOCK_MARKS:
		return mt_encode_marks(buf, block->marks, block->n);
	case MT_BLOCK_TRAILER:
		return mt_encode_trailer(buf, block->trailer);
	default:
		return 0;
	}
}

/* Encoded twice, with a decoding between, the bytes must be the same. */
static void check_again(const struct mt_block *block)
{
	struct mt_buf first, second;
	struct mt_block again;
	size_t used;

	mt_buf_init(&first);
	mt_buf_init(&second);
	mt_block_init(&again);
	check(!encode(&first, block));
	if (first.len) {
		check(!mt_block_decode(&again, first.data, first.len, ~0u, &used));
		check(used == first.len && again.kind == block->kind && again.n == block->n);
		check(!again.skipped);
		check(!encode(&second, &again));
		check(second.len == first.len && !memcmp(second.data, first.data, first.len));
	}
	mt_block_release(&again);
	mt_buf_release(&first);
	mt_buf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_block block, skipped;
	size_t pos = 0, used, skipped_used;
	int err;

	mt_block_init(&block);
	mt_block_init(&skipped);
	while (pos < size) {
		err = mt_block_decode(&block, data + pos, size - pos, ~0u, &used);
		check(!err || err == -MT_E_CORRUPT || err == -MT_E_LIMIT);
		if (err)
			break;
		check(used && used <= size - pos);
		/* Skipped, it is as long. */
		check(!mt_block_decode(&skipped, data + pos, size - pos, 0, &skipped_used));
		check(skipped_used == used && skipped.kind == block.kind && !skipped.n);
		check_again(&block);
		pos += used;
	}
	mt_block_release(&block);
	mt_block_release(&skipped);
	return 0;
}
