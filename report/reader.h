/*
 * report/reader.h - an artifact file as a sequence of decoded blocks.
 *
 * Tolerates a cut or damaged file: everything up to the first bad frame is
 * delivered, and mt_reader_end() says why it stopped and where. Nothing a file
 * says can crash, hang, or allocate beyond the ceilings of common/artifact.h.
 */
#ifndef MT_READER_H
#define MT_READER_H

#include "common/artifact.h"

struct mt_buf;
struct mt_reader;
struct mt_workers;

enum mt_reader_end_kind {
	MT_END_COMPLETE,	/* trailer seen, nothing unreadable before it */
	MT_END_NO_TRAILER,	/* ends between frames, but without a trailer: recorder killed */
	MT_END_CUT,		/* ends inside a frame */
	MT_END_DAMAGED,		/* a frame's checksum or contents are wrong */
};

struct mt_reader_end {
	enum mt_reader_end_kind kind;
	uint64_t offset;	/* file offset of the first byte not used (file size if complete) */
	uint64_t file_size;
	uint32_t frames;	/* whole frames before it, header and trailer included */
	uint32_t unknown_blocks;	/* of unknown kinds or newer versions, passed over */
	bool no_index;		/* there is no sound seek table; whole contents do not need it */
	uint32_t unknown_columns;	/* also keys, and rows of unknown types; passed over */
};

/*
 * Open path ("-" is standard input, spooled to an unlinked temporary file) and
 * read its header: -MT_E_EMPTY, -MT_E_NOT_ARTIFACT, -MT_E_NEWER_FORMAT, -MT_E_CUT (not even
 * the header is whole), -MT_E_CORRUPT (the header is damaged), -errno, -ENOMEM. The reader also
 * finds the end of the readable part and the frame index: from the seek table where it is
 * sound, else by walking frame headers.
 */
int mt_reader_open(const char *path, struct mt_reader **ret_reader);
void mt_reader_free(struct mt_reader *reader);

/* Valid as long as the reader. */
const struct mt_header *mt_reader_header(const struct mt_reader *reader);

/*
 * Largest stamp lag any events in the readable part have (struct mt_trailer.max_lag): from the
 * trailer, else from the last checkpoint and the events behind it. Always exact enough to
 * hold back by.
 */
uint64_t mt_reader_max_lag(const struct mt_reader *reader);

/* The trailer, or NULL if the file has none. Valid as long as the reader. */
const struct mt_trailer *mt_reader_trailer(const struct mt_reader *reader);

/* Told before each frame that is read, by its number of so many. */
typedef void (*mt_reader_told_fn)(void *arg, uint32_t frame, uint32_t frames);

/* Who is told how far a pass is, which may take long. told NULL: nobody. */
void mt_reader_tell(struct mt_reader *reader, mt_reader_told_fn told, void *arg);

/*
 * Have frames read and decoded by these, some ahead of the one that is delivered. They outlive the
 * reader, which is read to the end of a pass, or rewound, before they are used for anything else.
 * 0 or -ENOMEM.
 */
int mt_reader_use(struct mt_reader *reader, struct mt_workers *workers);

/* Start again from the first frame, with only these kinds (or of MT_KIND_BIT) delivered. */
void mt_reader_rewind(struct mt_reader *reader, uint32_t wanted);

/*
 * The same, and each block to be delivered is worked on first by whoever decoded it: worker is
 * below mt_workers_count(), blocks come in no order. What is appended to result is then
 * mt_reader_result(). An error is mt_reader_next()'s.
 */
typedef int (*mt_reader_work_fn)(void *arg, unsigned int worker, const struct mt_block *block,
				 struct mt_buf *result);
void mt_reader_rewind_for(struct mt_reader *reader, uint32_t wanted, mt_reader_work_fn work,
			  void *arg);

/*
 * Next block of a wanted kind: 1 and *ret_block borrowed until the next call, 0 at
 * the end of the readable part, or -ENOMEM, -errno. Frames that hold no
 * wanted kind are skipped without decompression where the index tells. The header is a block
 * like the others. Damage found on the way ends the readable part there, for good.
 */
int mt_reader_next(struct mt_reader *reader, const struct mt_block **ret_block);
/* What the work made of that block; borrowed likewise. */
const struct mt_buf *mt_reader_result(const struct mt_reader *reader);

/* A readable frame as it is in the file, borrowed until the next call of any function. */
struct mt_raw_frame {
	const uint8_t *bytes;
	uint32_t size;
	uint32_t content;	/* bytes of its content */
	uint32_t kinds;		/* or of MT_KIND_BIT; 0: not known, because it was never read */
};

/* The index-th frame, header and trailer included: 1, 0 past the last, or -errno, -ENOMEM. */
int mt_reader_raw_frame(struct mt_reader *reader, uint32_t index, struct mt_raw_frame *ret_frame);

/*
 * Why reading ended. Exact once mt_reader_next() has returned 0 for every kind
 * (mt_reader_rewind(reader, ~0u)); before that, what is known so far.
 */
void mt_reader_end(const struct mt_reader *reader, struct mt_reader_end *ret_end);

#endif
