/*
 * record/writer.h - rows into blocks, blocks into frames, frames into the artifact file.
 *
 * Used by one thread. All large memory is allocated when the writer is opened, and given back
 * before the trailer takes as much; the frame index alone grows, up to MT_SEEK_FRAMES_MAX frames.
 * A longer file has neither seek table nor frame kinds. Rows are copied or encoded before a
 * function returns. They reach the file when enough of them have gathered, and at every
 * checkpoint; a row given earlier never stands behind a row of a kind that comes later in this
 * order: lifecycle, stacks, events, mappings, files, coverage, marks, loss. So what defines an
 * index or a stack id stands before its use if it is given to the writer first.
 *
 * Errors stick: after the first one every function returns it and writes nothing. What is in
 * the file then ends with a whole frame, if the file can be truncated.
 * 0, -errno (ENOSPC, EPIPE, ...), -ENOMEM, -MT_E_LIMIT, -MT_E_SHORTENED.
 */
#ifndef MT_WRITER_H
#define MT_WRITER_H

#include "common/artifact.h"

struct mt_writer;

/* Writes the header's frame at fd's position. fd is the writer's once this has succeeded. */
int mt_writer_open(int fd, const struct mt_header *header, struct mt_writer **ret_writer);
/* Closes fd; what has not been written is lost. NULL is fine. */
void mt_writer_free(struct mt_writer *writer);

int mt_writer_lifecycle(struct mt_writer *writer, const struct mt_lifecycle *rows, uint32_t n);
int mt_writer_stacks(struct mt_writer *writer, const struct mt_stack *stacks, uint32_t n);
int mt_writer_events(struct mt_writer *writer, const struct mt_event *events, uint32_t n);
int mt_writer_mappings(struct mt_writer *writer, const struct mt_mapping *rows, uint32_t n);
int mt_writer_files(struct mt_writer *writer, const struct mt_file_note *rows, uint32_t n);
int mt_writer_rewritten(struct mt_writer *writer, const struct mt_file_note *rows, uint32_t n);
int mt_writer_coverage(struct mt_writer *writer, const struct mt_coverage_row *rows, uint32_t n);
int mt_writer_marks(struct mt_writer *writer, const struct mt_mark *rows, uint32_t n);
int mt_writer_loss(struct mt_writer *writer, const struct mt_loss *rows, uint32_t n);

/*
 * Everything given so far, and the checkpoint, goes to the file. The writer fills in events,
 * stacks, max_stamp and max_lag.
 */
int mt_writer_checkpoint(struct mt_writer *writer, const struct mt_checkpoint *checkpoint);

/* The end: what is left, the trailer (likewise filled in) and the seek table. No rows follow. */
int mt_writer_finish(struct mt_writer *writer, const struct mt_trailer *trailer);

/* Bytes in the file, events and stacks taken. */
uint64_t mt_writer_bytes(const struct mt_writer *writer);
uint64_t mt_writer_event_count(const struct mt_writer *writer);
/* Of the events taken, those in whole frames in the file: what readers find after an error. */
uint64_t mt_writer_events_filed(const struct mt_writer *writer);
uint64_t mt_writer_stack_count(const struct mt_writer *writer);

#endif
