/* Blocks as wholes: kind, version, body. */
#include "common/artifact.h"
#include "common/arena.h"
#include "common/artifact_schema.h"
#include "common/error.h"
#include "common/msgpack_read.h"

int mt_encode_header(struct mt_buf *buf, const struct mt_header *header)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_HEADER), header, 1);
}

int mt_encode_lifecycle(struct mt_buf *buf, const struct mt_lifecycle *rows, uint32_t n)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_LIFECYCLE), rows, n);
}

int mt_encode_stacks(struct mt_buf *buf, const struct mt_stack *stacks, uint32_t n)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_STACKS), stacks, n);
}

int mt_encode_mappings(struct mt_buf *buf, const struct mt_mapping *rows, uint32_t n)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_MAPPINGS), rows, n);
}

int mt_encode_loss(struct mt_buf *buf, const struct mt_loss *rows, uint32_t n)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_LOSS), rows, n);
}

int mt_encode_files(struct mt_buf *buf, const struct mt_file_note *rows, uint32_t n)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_FILES), rows, n);
}

int mt_encode_rewritten(struct mt_buf *buf, const struct mt_file_note *rows, uint32_t n)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_REWRITTEN), rows, n);
}

int mt_encode_coverage(struct mt_buf *buf, const struct mt_coverage_row *rows, uint32_t n)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_COVERAGE), rows, n);
}

int mt_encode_packed(struct mt_buf *buf, const struct mt_packed *rows, uint32_t n)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_PACKED), rows, n);
}

int mt_encode_images(struct mt_buf *buf, const struct mt_image_part *rows, uint32_t n)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_IMAGE), rows, n);
}

int mt_encode_marks(struct mt_buf *buf, const struct mt_mark *rows, uint32_t n)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_MARKS), rows, n);
}

int mt_encode_checkpoint(struct mt_buf *buf, const struct mt_checkpoint *checkpoint)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_CHECKPOINT), checkpoint, 1);
}

int mt_encode_trailer(struct mt_buf *buf, const struct mt_trailer *trailer)
{
	return mt_table_encode(buf, mt_table(MT_BLOCK_TRAILER), trailer, 1);
}

void mt_block_init(struct mt_block *block)
{
	memset(block, 0, sizeof(*block));
}

void mt_block_release(struct mt_block *block)
{
	mt_arena_free(block->arena);
	mt_block_init(block);
}

static enum mt_block_kind kind_of(const uint8_t *name, uint32_t len, uint64_t version)
{
	const struct mt_table *table;
	unsigned int kind;

	for (kind = MT_BLOCK_UNKNOWN + 1; kind < MT_BLOCK_KINDS; kind++) {
		table = mt_table(kind);
		if (strlen(table->name) == len && !memcmp(table->name, name, len))
			return version <= table->version ? kind : MT_BLOCK_UNKNOWN;
	}
	return MT_BLOCK_UNKNOWN;
}

static int decode(struct mt_block *block, struct mt_mp_cursor *cur, uint32_t wanted)
{
	const uint8_t *name;
	uint32_t elements, len;
	uint64_t version;
	int err;

	if (mt_mp_read_array(cur, &elements) || elements != 3 ||
	    mt_mp_read_bytes(cur, &name, &len) || mt_mp_read_uint(cur, &version) || !version)
		return -MT_E_CORRUPT;
	block->kind = kind_of(name, len, version);
	if (block->kind == MT_BLOCK_UNKNOWN || !(wanted & MT_KIND_BIT(block->kind)))
		return mt_mp_skip(cur);
	if (!block->arena) {
		err = mt_arena_new(&block->arena);
		if (err)
			return err;
	}
	if (block->kind == MT_BLOCK_EVENTS)
		return mt_events_decode(block, cur);
	return mt_table_decode(block, mt_table(block->kind), cur);
}

int mt_block_decode(struct mt_block *block, const uint8_t *bytes, size_t len, uint32_t wanted,
		    size_t *ret_used)
{
	struct mt_mp_cursor cur = { bytes, bytes + len };
	struct mt_arena *arena = block->arena;
	int err;

	mt_block_init(block);
	block->arena = arena;
	if (arena)
		mt_arena_reset(arena);
	err = decode(block, &cur, wanted);
	if (err) {
		arena = block->arena;
		mt_block_init(block);
		block->arena = arena;
		return err;
	}
	*ret_used = (size_t)(cur.pos - bytes);
	return 0;
}
