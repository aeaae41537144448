/*
 * common/artifact.h - blocks of a .mt file: encode and decode side by side.
 *
 * man/mt-artifact.5 is the specification. A file is a sequence of zstd frames;
 * a frame's content is whole blocks; a block is a MessagePack array
 * [kind, version, body]. These functions know blocks, not frames
 * (common/frame.h) and not files (record/writer.h, report/reader.h).
 *
 * Encoders append one block to buf: 0, or -ENOMEM, or -MT_E_LIMIT if a ceiling below does
 * not allow it, with buf unchanged. n may be 0.
 * Decoders treat bytes as hostile: every length meets a ceiling before it is
 * used, unknown kinds, columns and keys are skipped and counted, and errors are
 * -MT_E_CORRUPT, -MT_E_LIMIT or -ENOMEM. Strings and byte ranges in decoded
 * structs borrow from the decoder's arena and the given bytes: valid until the
 * next decode with the same block, or mt_block_release().
 */
#ifndef MT_ARTIFACT_H
#define MT_ARTIFACT_H

#include "common/event.h"

struct mt_buf;

#define MT_FORMAT_VERSION 1
#define MT_FORMAT_VERSION_SAMPLED 2		/* of a file with sample_bytes */
#define MT_READER_VERSION 2			/* the highest that is known */
#define MT_SAMPLE_BYTES_MAX (1ull << 32)
#define MT_FRAME_CONTENT_MAX (16u << 20)	/* a frame's uncompressed bytes */
#define MT_BLOCK_EVENTS_MAX (1u << 18)		/* rows of one block */
#define MT_BLOCK_ROWS_MAX (1u << 16)		/* lifecycle, mappings, loss, files, coverage */
#define MT_BLOCK_STACKS_MAX (1u << 12)
#define MT_STRING_MAX (1u << 16)
#define MT_ARG_MAX (2u << 20)			/* one argument; the kernel allows 32 pages */
#define MT_ARGS_MAX (1u << 20)
#define MT_FUNCTIONS_MAX 4096u			/* names in a row of coverage */
#define MT_MARK_NAME_MAX 128u			/* bytes */
#define MT_MARKS_MAX (1u << 20)			/* rows of marks in a file */
#define MT_IMAGE_PART_MAX (1u << 20)		/* bytes in a row of image */
#define MT_IMAGE_MAX (16ull << 30)		/* bytes of an image */
#define MT_IMAGES_MAX (1u << 20)
#define MT_FRAMES_MAX (1u << 26)
#define MT_SEEK_FRAMES_MAX (1u << 20)		/* beyond, a recording has no seek table */
#define MT_TRAILER_FRAMES_MAX (1u << 22)	/* beyond, a trailer has no frame_kinds */

enum mt_block_kind {
	MT_BLOCK_UNKNOWN,	/* skipped; counted by the reader */
	MT_BLOCK_HEADER,
	MT_BLOCK_LIFECYCLE,
	MT_BLOCK_STACKS,
	MT_BLOCK_EVENTS,
	MT_BLOCK_MAPPINGS,
	MT_BLOCK_LOSS,
	MT_BLOCK_CHECKPOINT,
	MT_BLOCK_TRAILER,
	MT_BLOCK_FILES,
	MT_BLOCK_COVERAGE,
	MT_BLOCK_PACKED,	/* of a pack: which mapped file has which images */
	MT_BLOCK_IMAGE,		/* of a pack: their bytes */
	MT_BLOCK_MARKS,
	MT_BLOCK_REWRITTEN,	/* files that became others where they were */
	/* Numbers are part of the format: new ones come last. */
	MT_BLOCK_KINDS
};
#define MT_KIND_BIT(kind) (1u << (kind))

struct mt_header {
	uint32_t format_version;
	uint32_t min_reader_version;
	const char *producer;		/* "mt-record 0.1.0" */
	const char *arch;		/* "x86_64" or "aarch64" */
	const char *byte_order;		/* "little" */
	const char *kernel;		/* uname -r */
	const char *hostname;
	const char *clock;		/* "monotonic" */
	uint64_t start_time;		/* CLOCK_MONOTONIC, ns */
	uint64_t start_realtime;	/* CLOCK_REALTIME at the same moment, ns */
	uint32_t page_size;
	uint64_t code_mask;		/* and-mask: strips pointer authentication; ~0 if none */
	uint64_t trampoline;		/* user address of the uprobes trampoline, 0 if unknown */
	uint32_t stack_size;		/* --stack-size */
	uint64_t ring_size;
	uint64_t stack_ring_size;
	uint64_t sample_bytes;		/* --sample-bytes; 0: every allocation is there */
	const char *watch;		/* "tracepoint", "fentry" */
	const char *attach;		/* "multi", "perf", "session" */
	const char *mapping_source;	/* "perf", "proc" */
	uint64_t attached_pid;		/* of a process that ran before; 0: a command was started */
	const char *cwd;
	uint32_t n_args;
	const char **args;		/* the command line */
};

/* What was dropped: one row per (source, cause) that is not zero. */
struct mt_loss {
	const char *source;	/* "events", "stacks", "requests", "mappings", "threads", ... */
	const char *cause;	/* "ring_full", "map_full", "fault", "kernel", ... */
	uint64_t count;
	uint64_t first;		/* time of the first and the last, ns; 0 if unknown */
	uint64_t last;
};

enum mt_coverage_type {
	MT_COVERAGE_SOURCE = 1,	/* an allocator in a file, probed */
	MT_COVERAGE_EVENTS = 2,	/* how many events came from it so far; the last row counts */
	MT_COVERAGE_GAP = 3,	/* something that could not be probed */
	MT_COVERAGE_TYPES
};

/* Where events can come from, and where they cannot. */
struct mt_coverage_row {
	uint32_t type;		/* enum mt_coverage_type */
	uint32_t id;		/* source, events: from 1, without gaps */
	const char *kind;	/* source: "glibc", "musl", "jemalloc", ..., "user", "other" */
	const char *path;	/* source, gap: the file; "" if it is about none */
	uint32_t dev_major;	/* source, gap: of the file, as stat(2) sees it; 0 if about none */
	uint32_t dev_minor;
	uint64_t ino;
	uint32_t n_functions;
	const char **functions;	/* source: the functions probed */
	const char *function;	/* gap: the function; "": all of the file */
	const char *reason;	/* gap: why, for people */
	uint64_t events;	/* events */
};

enum mt_mark_type {
	MT_MARK_NAME = 1,	/* a moment that somebody gave a name */
	MT_MARK_ENABLE = 2,	/* allocator calls that begin from here on are recorded again */
	MT_MARK_DISABLE = 3,	/* of those that begin from here on, only what they free is */
	MT_MARK_TYPES
};

struct mt_mark {
	uint64_t time;
	uint32_t type;		/* enum mt_mark_type */
	const char *name;	/* name: at most MT_MARK_NAME_MAX bytes; else "" */
};

/*
 * All written before it is a consistent prefix of the run. The writer fills in events,
 * stacks, max_stamp and max_lag from what it was given.
 */
struct mt_checkpoint {
	uint64_t time;
	uint64_t events;	/* events written so far in the file */
	uint64_t stacks;	/* stack definitions written so far */
	uint64_t max_stamp;	/* the highest stamp of those events, 0 if there are none */
	uint64_t max_lag;	/* see trailer */
	uint64_t lost;		/* sum over all loss rows so far */
};

/* The writer fills in events, stacks, max_lag, n_frames and frame_kinds. */
struct mt_trailer {
	uint64_t end_time;
	uint64_t events;
	uint64_t stacks;
	uint64_t lost;
	/*
	 * Events stand in the file in the order of their submission, which can differ
	 * from that of their stamps (realloc carries an older one). For every event e,
	 * and every event before it in the file, stamp(e) >= stamp(before) - max_lag,
	 * counting both stamps of a realloc. A reader that holds back max_lag ns
	 * delivers in exact stamp order.
	 */
	uint64_t max_lag;
	bool status_known;
	int32_t status;		/* of the command, as wait(2) reports it */
	const char *end_reason;	/* "exited", "interrupted", "output_error", ... */
	uint32_t n_frames;	/* frames before the trailer's; 0: not told */
	uint64_t seek_digest;	/* mt_seek_digest() of the frames before, 0 if not known */
	const uint32_t *frame_kinds;	/* per frame: or of MT_KIND_BIT, or 0 for unknown */
};

enum mt_packed_type {
	MT_PACKED_IMAGE = 1,	/* an ELF file, of which the parts follow in image blocks */
	MT_PACKED_FILE = 2,	/* a mapped file, as it was found when the pack was made */
	MT_PACKED_TYPES
};

/* Texts are never NULL, whatever the type. */
struct mt_packed {
	uint32_t type;		/* enum mt_packed_type */
	uint32_t id;		/* image: from 1 to MT_IMAGES_MAX, without gaps */
	uint64_t size;		/* image: bytes; what no part has is zero */
	uint32_t dev_major;	/* file: these five as its mappings have them */
	uint32_t dev_minor;
	uint64_t ino;
	uint64_t generation;
	const char *path;
	const char *status;	/* file: "verified", or why there is nothing: "gone", ... */
	const char *reason;	/* file: "" if verified */
	uint32_t own;		/* file: images of itself, 0 if there is none, */
	uint32_t debug;		/* of its separate debug file, */
	uint32_t alt;		/* and of the file that has what dwz took out of those */
	const char *debug_path;	/* file: where the debug file was; "" if there is none */
	const char *package;	/* file: that it was installed from; "" if unknown */
};

struct mt_image_part {
	uint32_t image;
	uint64_t offset;
	const uint8_t *bytes;
	uint32_t n_bytes;	/* <= MT_IMAGE_PART_MAX */
};

/* A decoded block. */
struct mt_block {
	enum mt_block_kind kind;
	uint32_t n;			/* rows, for the array kinds; 1 for the others */
	uint32_t dropped;		/* rows of types this program does not know, left out */
	union {
		struct mt_header *header;
		struct mt_lifecycle *lifecycle;
		struct mt_stack *stacks;
		struct mt_event *events;
		struct mt_mapping *mappings;
		struct mt_loss *loss;
		struct mt_coverage_row *coverage;
		struct mt_checkpoint *checkpoint;
		struct mt_trailer *trailer;
		struct mt_file_note *files;	/* and of rewritten */
		struct mt_packed *packed;
		struct mt_image_part *images;
		struct mt_mark *marks;
	};
	uint32_t skipped;		/* unknown columns and keys met, and dropped rows */
	struct mt_arena *arena;		/* owns all of the above */
};

int mt_encode_header(struct mt_buf *buf, const struct mt_header *header);
int mt_encode_lifecycle(struct mt_buf *buf, const struct mt_lifecycle *rows, uint32_t n);
int mt_encode_stacks(struct mt_buf *buf, const struct mt_stack *stacks, uint32_t n);
int mt_encode_events(struct mt_buf *buf, const struct mt_event *events, uint32_t n);
int mt_encode_mappings(struct mt_buf *buf, const struct mt_mapping *rows, uint32_t n);
int mt_encode_loss(struct mt_buf *buf, const struct mt_loss *rows, uint32_t n);
int mt_encode_coverage(struct mt_buf *buf, const struct mt_coverage_row *rows, uint32_t n);
int mt_encode_checkpoint(struct mt_buf *buf, const struct mt_checkpoint *checkpoint);
int mt_encode_trailer(struct mt_buf *buf, const struct mt_trailer *trailer);
int mt_encode_files(struct mt_buf *buf, const struct mt_file_note *rows, uint32_t n);
int mt_encode_rewritten(struct mt_buf *buf, const struct mt_file_note *rows, uint32_t n);
int mt_encode_packed(struct mt_buf *buf, const struct mt_packed *rows, uint32_t n);
int mt_encode_images(struct mt_buf *buf, const struct mt_image_part *rows, uint32_t n);
int mt_encode_marks(struct mt_buf *buf, const struct mt_mark *rows, uint32_t n);

void mt_block_init(struct mt_block *block);
void mt_block_release(struct mt_block *block);

/*
 * Decode the first block of bytes[0..len). *ret_used is its length, also for an
 * unknown kind or a version above the known one (kind MT_BLOCK_UNKNOWN). A block whose kind
 * is not in wanted (or of MT_KIND_BIT) is skipped without decoding: kind is set, n is 0.
 * After an error the block is as after mt_block_init() but keeps its memory.
 */
int mt_block_decode(struct mt_block *block, const uint8_t *bytes, size_t len, uint32_t wanted,
		    size_t *ret_used);

#endif
