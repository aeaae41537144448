#include "common/artifact_schema.h"

#define TYPE(t) (1u << (t))
#define FIELD(row, kind_, member, types_) \
	{ .name = #member, .kind = MT_FIELD_##kind_, .offset = offsetof(struct row, member), \
	  .max = MT_STRING_MAX, .types = types_ }
#define COUNTED(row, kind_, member, count_, max_) \
	{ .name = #member, .kind = MT_FIELD_##kind_, .offset = offsetof(struct row, member), \
	  .count = offsetof(struct row, count_), .max = max_ }

static const struct mt_field header_fields[] = {
#define F(kind, member) FIELD(mt_header, kind, member, 0)
	F(U32, format_version),
	F(U32, min_reader_version),
	F(STR, producer),
	F(STR, arch),
	F(STR, byte_order),
	F(STR, kernel),
	F(STR, hostname),
	F(STR, clock),
	F(U64, start_time),
	F(U64, start_realtime),
	F(U32, page_size),
	F(U64, code_mask),
	F(U64, trampoline),
	F(U32, stack_size),
	F(U64, ring_size),
	F(U64, stack_ring_size),
	F(MAYBE_U64, sample_bytes),
	F(STR, watch),
	F(STR, attach),
	F(STR, mapping_source),
	F(MAYBE_U64, attached_pid),
	F(STR, cwd),
	COUNTED(mt_header, STRS, args, n_args, MT_ARGS_MAX),
#undef F
};

#define LC_PROCESS (TYPE(MT_LC_START) | TYPE(MT_LC_FORK))
#define LC_THREAD (TYPE(MT_LC_THREAD) | TYPE(MT_LC_THREAD_EXIT) | TYPE(MT_LC_NAME))
#define LC_NAMED (TYPE(MT_LC_START) | TYPE(MT_LC_EXEC) | TYPE(MT_LC_THREAD) | TYPE(MT_LC_NAME))

static const struct mt_field lifecycle_fields[] = {
#define F(kind, member, types) FIELD(mt_lifecycle, kind, member, types)
	F(U32, type, 0),
	F(DELTA, time, 0),
	F(U32, process, 0),
	F(U32, parent, TYPE(MT_LC_FORK)),
	F(U32, pid, LC_PROCESS),
	F(U32, own_pid, TYPE(MT_LC_OWN_PID)),
	F(U32, thread, LC_THREAD),
	F(U32, tid, TYPE(MT_LC_THREAD)),
	F(BOOL, shares_memory, TYPE(MT_LC_FORK)),
	F(I32, status, TYPE(MT_LC_EXIT)),
	F(STR, name, LC_NAMED),
	F(STR, path, TYPE(MT_LC_EXEC)),
#undef F
};

static const struct mt_field stack_fields[] = {
#define F(kind, member) FIELD(mt_stack, kind, member, 0)
	F(U32, id),
	F(U32, process),
	F(U32, thread),
	F(DELTA, time),
	F(U64, identity),
	F(U32, flags),
	F(U64, above),
	COUNTED(mt_stack, LIST64, regs, n_regs, MT_REGS_MAX),
	COUNTED(mt_stack, BYTES, bytes, n_bytes, MT_STACK_BYTES_MAX),
	COUNTED(mt_stack, LIST64, fp, n_fp, MT_FP_CHAIN_MAX),
#undef F
};

#define MAP_RANGE (TYPE(MT_MAP_MAP) | TYPE(MT_MAP_UNMAP))

static const struct mt_field mapping_fields[] = {
#define F(kind, member, types) FIELD(mt_mapping, kind, member, types)
	F(U32, type, 0),
	F(DELTA, time, 0),
	F(U32, process, 0),
	F(U64, start, MAP_RANGE),
	F(U64, end, MAP_RANGE),
	F(U64, offset, TYPE(MT_MAP_MAP)),
	F(U32, dev_major, TYPE(MT_MAP_MAP)),
	F(U32, dev_minor, TYPE(MT_MAP_MAP)),
	F(U64, ino, TYPE(MT_MAP_MAP)),
	F(U64, generation, TYPE(MT_MAP_MAP)),
	F(STR, path, TYPE(MT_MAP_MAP)),
#undef F
};

static const struct mt_field loss_fields[] = {
#define F(kind, member) FIELD(mt_loss, kind, member, 0)
	F(STR, source),
	F(STR, cause),
	F(U64, count),
	F(U64, first),
	F(U64, last),
#undef F
};

#define COVERED (TYPE(MT_COVERAGE_SOURCE) | TYPE(MT_COVERAGE_EVENTS))
#define COVERAGE_FILE (TYPE(MT_COVERAGE_SOURCE) | TYPE(MT_COVERAGE_GAP))

static const struct mt_field coverage_fields[] = {
#define F(kind, member, types) FIELD(mt_coverage_row, kind, member, types)
	F(U32, type, 0),
	F(U32, id, COVERED),
	F(STR, kind, TYPE(MT_COVERAGE_SOURCE)),
	F(STR, path, COVERAGE_FILE),
	F(U32, dev_major, COVERAGE_FILE),
	F(U32, dev_minor, COVERAGE_FILE),
	F(U64, ino, COVERAGE_FILE),
	{ .name = "functions", .kind = MT_FIELD_STRS,
	  .offset = offsetof(struct mt_coverage_row, functions),
	  .count = offsetof(struct mt_coverage_row, n_functions), .max = MT_FUNCTIONS_MAX,
	  .types = TYPE(MT_COVERAGE_SOURCE) },
	F(STR, function, TYPE(MT_COVERAGE_GAP)),
	F(STR, reason, TYPE(MT_COVERAGE_GAP)),
	F(U64, events, TYPE(MT_COVERAGE_EVENTS)),
#undef F
};

static const struct mt_field checkpoint_fields[] = {
#define F(kind, member) FIELD(mt_checkpoint, kind, member, 0)
	F(U64, time),
	F(U64, events),
	F(U64, stacks),
	F(U64, max_stamp),
	F(U64, max_lag),
	F(U64, lost),
#undef F
};

static const struct mt_field trailer_fields[] = {
#define F(kind, member) FIELD(mt_trailer, kind, member, 0)
	F(U64, end_time),
	F(U64, events),
	F(U64, stacks),
	F(U64, lost),
	F(U64, max_lag),
	COUNTED(mt_trailer, OPT_I32, status, status_known, 0),
	F(STR, end_reason),
	F(MAYBE_U64, seek_digest),
	COUNTED(mt_trailer, LIST32, frame_kinds, n_frames, MT_TRAILER_FRAMES_MAX),
#undef F
};

/* Of files; rewritten has one more in front. */
static const struct mt_field file_fields[] = {
#define F(kind, member) FIELD(mt_file_note, kind, member, 0)
	F(U64, since),
	F(U32, dev_major),
	F(U32, dev_minor),
	F(U64, ino),
	F(U64, generation),
	F(U64, size),
	F(U64, mtime),
	COUNTED(mt_file_note, BYTES, build_id, n_build_id, MT_BUILD_ID_MAX),
	F(STR, path),
#undef F
};

#define PACKED_IMAGE TYPE(MT_PACKED_IMAGE)
#define PACKED_FILE TYPE(MT_PACKED_FILE)

static const struct mt_field packed_fields[] = {
#define F(kind, member, types) FIELD(mt_packed, kind, member, types)
	F(U32, type, 0),
	F(U32, id, PACKED_IMAGE),
	F(U64, size, PACKED_IMAGE),
	F(U32, dev_major, PACKED_FILE),
	F(U32, dev_minor, PACKED_FILE),
	F(U64, ino, PACKED_FILE),
	F(U64, generation, PACKED_FILE),
	F(STR, path, PACKED_FILE),
	F(STR, status, PACKED_FILE),
	F(STR, reason, PACKED_FILE),
	F(U32, own, PACKED_FILE),
	F(U32, debug, PACKED_FILE),
	F(U32, alt, PACKED_FILE),
	F(STR, debug_path, PACKED_FILE),
	F(STR, package, PACKED_FILE),
#undef F
};

static const struct mt_field image_fields[] = {
#define F(kind, member) FIELD(mt_image_part, kind, member, 0)
	F(U32, image),
	F(U64, offset),
	COUNTED(mt_image_part, BYTES, bytes, n_bytes, MT_IMAGE_PART_MAX),
#undef F
};

static const struct mt_field mark_fields[] = {
	FIELD(mt_mark, U32, type, 0),
	FIELD(mt_mark, DELTA, time, 0),
	{ .name = "name", .kind = MT_FIELD_STR, .offset = offsetof(struct mt_mark, name),
	  .max = MT_MARK_NAME_MAX, .types = TYPE(MT_MARK_NAME) },
};

#define FIELDS(array) .fields = array, .n_fields = MT_ARRAY_SIZE(array)
#define ONE(row) .version = 1, .row_size = sizeof(struct row), .type = MT_TYPE_NONE, .max_rows = 1
#define ROWS(row, max) .version = 1, .rows = true, .row_size = sizeof(struct row), .max_rows = max
#define FIELDS_BEHIND(array) .fields = array + 1, .n_fields = MT_ARRAY_SIZE(array) - 1
#define TYPED(row, known) .type = offsetof(struct row, type), .types = (TYPE(known) - 1) & ~1u

static const struct mt_table tables[MT_BLOCK_KINDS] = {
	[MT_BLOCK_HEADER] = { "header", ONE(mt_header), FIELDS(header_fields) },
	[MT_BLOCK_LIFECYCLE] = { "lifecycle", ROWS(mt_lifecycle, MT_BLOCK_ROWS_MAX),
				 TYPED(mt_lifecycle, MT_LC_TYPES), FIELDS(lifecycle_fields) },
	[MT_BLOCK_STACKS] = { "stacks", ROWS(mt_stack, MT_BLOCK_STACKS_MAX),
			      .type = MT_TYPE_NONE, FIELDS(stack_fields) },
	[MT_BLOCK_EVENTS] = { "events", ROWS(mt_event, MT_BLOCK_EVENTS_MAX),
			      TYPED(mt_event, MT_EV_TYPES) },
	[MT_BLOCK_MAPPINGS] = { "mappings", ROWS(mt_mapping, MT_BLOCK_ROWS_MAX),
				TYPED(mt_mapping, MT_MAP_UNMAP + 1), FIELDS(mapping_fields) },
	[MT_BLOCK_LOSS] = { "loss", ROWS(mt_loss, MT_BLOCK_ROWS_MAX),
			    .type = MT_TYPE_NONE, FIELDS(loss_fields) },
	[MT_BLOCK_CHECKPOINT] = { "checkpoint", ONE(mt_checkpoint), FIELDS(checkpoint_fields) },
	[MT_BLOCK_TRAILER] = { "trailer", ONE(mt_trailer), FIELDS(trailer_fields) },
	[MT_BLOCK_FILES] = { "files", ROWS(mt_file_note, MT_BLOCK_ROWS_MAX),
			     .type = MT_TYPE_NONE, FIELDS_BEHIND(file_fields) },
	[MT_BLOCK_REWRITTEN] = { "rewritten", ROWS(mt_file_note, MT_BLOCK_ROWS_MAX),
				 .type = MT_TYPE_NONE, FIELDS(file_fields) },
	[MT_BLOCK_COVERAGE] = { "coverage", ROWS(mt_coverage_row, MT_BLOCK_ROWS_MAX),
				TYPED(mt_coverage_row, MT_COVERAGE_TYPES),
				FIELDS(coverage_fields) },
	[MT_BLOCK_PACKED] = { "packed", ROWS(mt_packed, MT_BLOCK_ROWS_MAX),
			      TYPED(mt_packed, MT_PACKED_TYPES), FIELDS(packed_fields) },
	[MT_BLOCK_IMAGE] = { "image", ROWS(mt_image_part, MT_BLOCK_STACKS_MAX),
			     .type = MT_TYPE_NONE, FIELDS(image_fields) },
	[MT_BLOCK_MARKS] = { "marks", ROWS(mt_mark, MT_BLOCK_ROWS_MAX),
			     TYPED(mt_mark, MT_MARK_TYPES), FIELDS(mark_fields) },
};

const struct mt_table *mt_table(enum mt_block_kind kind)
{
	if (kind <= MT_BLOCK_UNKNOWN || kind >= MT_BLOCK_KINDS)
		return NULL;
	return &tables[kind];
}
