/*
 * report/export_stream.h - the recording as the event stream that memtrack's readers take.
 *
 * First every stack, then events in the order in which they happened, then executable mappings:
 * such a reader needs a stack before the event that refers to it, and ends at the first record of
 * a kind it does not know, which mappings are to older ones.
 */
#ifndef MT_EXPORT_STREAM_H
#define MT_EXPORT_STREAM_H

struct mt_analysis;

/*
 * Write DIR/PID.MemtrackArtifact.msgpack, of the command's pid; dir is made if it is missing.
 * *ret_path is its name, to be freed. 0, -errno, -ENOMEM, the reader's errors.
 */
int mt_export_memtrack(const char *dir, struct mt_analysis *analysis, char **ret_path);

#endif
